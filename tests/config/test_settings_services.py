"""The address book: which services there are, and where."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from foliot.cli.root import app
from foliot.config.parse import SettingsError, unused
from foliot.config.settings import Settings
from foliot.core.egress import service_name


def complaints(environ: dict[str, str]) -> list[str]:
    try:
        Settings.load(environ)
    except SettingsError as wrong:
        return str(wrong).splitlines()
    return []


def urls(environ: dict[str, str]) -> dict[str, str]:
    return {name: entry.url for name, entry in Settings.load(environ).services.entries.items()}


@pytest.mark.parametrize(
    ("environ", "book"),
    [
        ({}, {}),
        ({"SCRAPER_SERVICE_URL": "scraper-service:50053", "PRICING_SERVICE_URL": "pricing-service:50052"},
         {"scraper-service": "grpc://scraper-service:50053", "pricing-service": "grpc://pricing-service:50052"}),
        ({"SCRAPER_SERVICE_URL": "grpcs://scraper:443/"}, {"scraper-service": "grpcs://scraper:443"}),
        ({"FOLIOT_SERVICES": "inventory = [::1]:9000 , Shop=https://shop.internal/api,"},
         {"inventory": "grpc://[::1]:9000", "shop": "https://shop.internal:443/api"}),
        ({"BILLING_SERVICE_URL": "http://billing"}, {"billing-service": "http://billing:80"}),
        ({"FOLIOT_SERVICES": "ScraperService=a:1", "SCRAPER_SERVICE_URL": "grpc://a:1"}, {"scraper-service": "grpc://a:1"}),
        ({"CACHE_SERVICE_URL": "redis://cache", "SCRAPER_SERVICE_URL": "  "}, {}),
        ({"DATABASE_URL": "sqlite:////tmp/x.db", "SERVICE_URL": "a:1", "_SERVICE_URL": "a:1"}, {}),
    ],
)  # fmt: skip
def test_the_address_book_is_read_from_a_list_and_from_variables(environ: dict[str, str], book: dict[str, str]) -> None:
    assert urls(environ) == book
    assert unused(environ) == []


@pytest.mark.parametrize("name", ["scraper-service", "scraper_service", "ScraperService", "SCRAPER_SERVICE"])
def test_one_service_answers_to_every_spelling_of_its_name(name: str) -> None:
    book = Settings.load({"SCRAPER_SERVICE_URL": "scraper:50053"}).services

    found = book.address_of(name)

    assert found is not None
    assert (found.name, found.host, found.port) == ("scraper-service", "scraper", 50053)


def test_an_entry_names_who_may_call_what() -> None:
    said = "billing=host:9000;tenants=acme,beta;methods=Charge,Refund, own=host:1,open=http://host/x;tenants=all"
    variable = {"SCRAPER_SERVICE_URL": "scraper:50053; tenants = acme ; methods = shop.v1.Scraper/Scrape"}
    book = Settings.load({"FOLIOT_SERVICES": said, **variable}).services

    assert {tenant: sorted(book.seen_by(tenant).entries) for tenant in ("default", "acme", "beta", "other")} == {
        "default": ["open", "own"],
        "acme": ["billing", "open", "scraper-service"],
        "beta": ["billing", "open"],
        "other": ["open"],
    }
    billing, scraper = book.entries["billing"], book.entries["scraper-service"]
    assert (billing.url, billing.methods) == ("grpc://host:9000", frozenset({"Charge", "Refund"}))
    assert [
        path for path in ("/b.v1.B/Charge", "/B/Refund", "/b.v1.B/Drop", "/b/ChargeAll") if billing.allows(path)
    ] == [
        "/b.v1.B/Charge",
        "/B/Refund",
    ]
    assert scraper.allows("/shop.v1.Scraper/Scrape")
    assert not scraper.allows("/evil.v1.Scraper/Scrape")
    assert book.entries["own"].allows("/any.Service/Method")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("HTTPProbeService", "http-probe-service"),
        ("prices2", "prices2"),
        ("a", "a"),
        ("127.0.0.1:80", None),
        ("scraper.internal", None),
        ("-a", None),
        ("a--b", None),
        ("ü", None),
        ("", None),
        ("a" * 101, None),
    ],
)
def test_a_name_has_one_spelling_and_an_address_is_none(text: str, name: str | None) -> None:
    assert service_name(text) == name


@pytest.mark.parametrize(
    ("environ", "key", "words"),
    [
        ({"SCRAPER_SERVICE_URL": "scraper"}, "SCRAPER_SERVICE_URL", "must be the address of a service"),
        ({"SCRAPER_SERVICE_URL": "scraper:0"}, "SCRAPER_SERVICE_URL", "must be the address of a service"),
        ({"SCRAPER_SERVICE_URL": "scraper:70000"}, "SCRAPER_SERVICE_URL", "must be the address of a service"),
        ({"SCRAPER_SERVICE_URL": "ftp://scraper:21"}, "SCRAPER_SERVICE_URL", "must be the address of a service"),
        ({"SCRAPER_SERVICE_URL": "unix:/run/x.sock"}, "SCRAPER_SERVICE_URL", "must be the address of a service"),
        ({"SCRAPER_SERVICE_URL": "grpc://scraper:1/path"}, "SCRAPER_SERVICE_URL", "must be the address of a service"),
        ({"SCRAPER_SERVICE_URL": "http://scraper/?q=1"}, "SCRAPER_SERVICE_URL", "without user, password or query"),
        ({"SCRAPER_SERVICE_URL": "a:1,b:2"}, "SCRAPER_SERVICE_URL", "must be the address of a service"),
        ({"FOLIOT_SERVICES": "scraper:50053"}, "FOLIOT_SERVICES", "list of name=address"),
        ({"FOLIOT_SERVICES": "scraper.x=a:1"}, "FOLIOT_SERVICES", "list of name=address"),
        ({"FOLIOT_SERVICES": "a=b:1;tenants="}, "FOLIOT_SERVICES", "nothing but the tenants and the methods"),
        ({"FOLIOT_SERVICES": "a=b:1;tenants=x;tenants=y"}, "FOLIOT_SERVICES", "nothing but the tenants"),
        ({"FOLIOT_SERVICES": "a=b:1;tenant=x"}, "FOLIOT_SERVICES", "nothing but the tenants"),
        ({"FOLIOT_SERVICES": "a=b:1;methods=No Method"}, "FOLIOT_SERVICES", "nothing but the tenants"),
        ({"FOLIOT_SERVICES": "a=b:1, c"}, "FOLIOT_SERVICES", "must be the address of a service"),
        ({"FOLIOT_SERVICES": "scraper-service=a:1", "SCRAPER_SERVICE_URL": "a:1;tenants=all"}, "SCRAPER_SERVICE_URL",
         "must not differ from FOLIOT_SERVICES"),
        ({"FOLIOT_SERVICES": "a=b:1,A=b:2"}, "FOLIOT_SERVICES", "must name each service once"),
        ({"FOLIOT_SERVICES": "scraper-service=b:2", "SCRAPER_SERVICE_URL": "a:1"}, "SCRAPER_SERVICE_URL",
         "must not differ from FOLIOT_SERVICES"),
        ({"FOLIOT_SERVICES": "x-service=b:2", "X_SERVICE_URL": "a:1"}, "X_SERVICE_URL", "must not differ"),
        ({"FOLIOT_SERVICES_CA": "/does/not/exist.pem"}, "FOLIOT_SERVICES_CA", "must be a file"),
        ({"FOLIOT_SERVICE": "a=b:1"}, "FOLIOT_SERVICE", "did you mean FOLIOT_SERVICES?"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_address_is_said_by_its_key(environ: dict[str, str], key: str, words: str) -> None:
    (complaint,) = complaints(environ)

    assert complaint.startswith(f"{key}: ")
    assert words in complaint


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    (complaint,) = complaints({"SCRAPER_SERVICE_URL": "grpc://me:hunter2@scraper:1"})

    assert complaint.startswith("SCRAPER_SERVICE_URL: ")
    assert "hunter2" not in complaint


def test_check_names_the_services_and_what_looks_like_one_and_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "sqlite:///:memory:")
    monkeypatch.setenv("SCRAPER_SERVICE_URL", "127.0.0.1:1")
    monkeypatch.setenv("CACHE_SERVICE_URL", "redis://:hunter2@cache")

    answer = CliRunner().invoke(app, ["check", "--json"])

    found = {each["key"]: each for each in json.loads(answer.stdout)["findings"]}
    assert found["scraper-service"]["level"] == "warning"
    assert "127.0.0.1:1" in found["scraper-service"]["message"]
    assert found["CACHE_SERVICE_URL"]["level"] == "warning"
    assert "hunter2" not in answer.stdout
