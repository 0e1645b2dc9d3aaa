"""Who may come in: what must be set, what excludes what, and what is too weak to be a key."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import pytest

from foliot.app import build
from foliot.config.access import default_credentials, weakness
from foliot.config.parse import SettingsError
from foliot.config.settings import Settings
from foliot.core.errors import Invalid
from foliot.engine.model.node import NodeRole
from tests.tokens import jwk, pem, private

KEY = "uq3nK9s_Zf0-vT7xYb2mWc8eRd5gHj1LpA6oQi4Sk"
SOURCES = {"FOLIOT_JWT_SECRET": KEY, "FOLIOT_JWKS_URL": "https://id.example/jwks", "FOLIOT_JWT_KEY_FILE": __file__}
EVERYWHERE = ["0.0.0.0", "::", "10.0.0.1", "example.com", "localhost.example.com"]


def complaints(environ: dict[str, str], **flags: object) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        Settings.load(environ, **flags)
    return [str(complaint) for complaint in caught.value.complaints]


@pytest.mark.parametrize("host", EVERYWHERE)
def test_without_a_key_other_addresses_than_loopback_are_refused_in_one_line(host: str) -> None:
    [said] = complaints({"FOLIOT_HOST": host})

    assert said.startswith("FOLIOT_HOST: ")
    assert all(source in said for source in SOURCES)
    assert host in said
    assert "\n" not in said


def test_a_flag_that_asks_for_more_is_named_as_the_flag() -> None:
    [said] = complaints({}, host="0.0.0.0")

    assert said.startswith("--host: ")


@pytest.mark.parametrize("host", EVERYWHERE)
@pytest.mark.parametrize("source", SOURCES)
def test_with_a_key_any_address_may_be_listened_on(host: str, source: str) -> None:
    settings = Settings.load({"FOLIOT_HOST": host, source: SOURCES[source]})

    assert settings.host == host
    assert not settings.local


@pytest.mark.parametrize("host", ["http://x", "a b", "-x", "x/y", "a" * 300])
def test_what_is_no_address_is_refused(host: str) -> None:
    assert complaints({"FOLIOT_HOST": host, "FOLIOT_JWT_SECRET": KEY})[0].startswith("FOLIOT_HOST: ")


def test_nothing_set_is_local_mode() -> None:
    settings = Settings.load({})

    assert settings.local
    assert settings.jwt_audience == "foliot"
    assert settings.jwt_max_hours == 24 * 31


@pytest.mark.parametrize(
    "pair",
    [
        ("FOLIOT_JWT_SECRET", "FOLIOT_JWKS_URL"),
        ("FOLIOT_JWT_SECRET", "FOLIOT_JWT_KEY_FILE"),
        ("FOLIOT_JWKS_URL", "FOLIOT_JWT_KEY_FILE"),
    ],
)
def test_two_sources_of_keys_are_refused_naming_both(pair: tuple[str, str]) -> None:
    [said] = complaints({key: SOURCES[key] for key in pair})

    assert all(key in said for key in pair)
    assert KEY not in said


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_key_does_not_open_the_door(source: str, empty: str) -> None:
    [said] = complaints({source: empty})

    assert said.startswith(f"{source}: must not be empty")


@pytest.mark.parametrize(
    "key", ["FOLIOT_JWT_ISSUER", "FOLIOT_JWT_AUDIENCE", "FOLIOT_JWT_MAX_HOURS", "FOLIOT_METRICS_TOKEN"]
)
def test_whoever_expects_tokens_to_be_asked_for_is_not_silently_ignored(key: str) -> None:
    [said] = complaints({key: "24" if "HOURS" in key else KEY})

    assert said.startswith(f"{key}: has no effect")
    assert KEY not in said


WEAK = [
    "secret",
    "changeme",
    "password123",
    "a" * 64,
    "secret" * 8,
    "changeme" * 4,
    "0123456789abcdef" * 2,
    "12345678901234567890123456789012",
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "zyxwvutsrqponmlkjihgfedcba9876543210",
    "abababababababababababababababababab",
    "your-256-bit-secret",
    "your-256-bit-secret-your-256-bit-secret",
    "a-string-secret-at-least-256-bits-long",
    "your-super-secret-jwt-key-change-this-in-production",
    "change-me-to-a-long-random-string-please!!",
    "supersecretjwtsigningkeyforproduction123",
    "CHANGE_ME_CHANGE_ME_PLEASE_CHANGE_ME_NOW",
    "django-insecure-secret-key-do-not-use-in-production",
]


@pytest.mark.parametrize("weak", WEAK)
@pytest.mark.parametrize("key", ["FOLIOT_JWT_SECRET", "FOLIOT_SECRET_KEY"])
def test_a_key_that_anybody_could_guess_is_refused_and_not_shown(key: str, weak: str) -> None:
    [said] = complaints({key: weak})

    assert said.startswith(f"{key}: must")
    assert "make one with" in said
    assert said.endswith("got 'a secret that is not shown'")


@pytest.mark.parametrize(
    "document",
    [
        pem(private("RS256")).decode(),
        json.dumps(jwk(private("RS256"))),
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH3kq8Zt0vQ2 ada@example",
    ],
)
def test_a_public_key_is_no_secret(document: str) -> None:
    [said] = complaints({"FOLIOT_JWT_SECRET": document})

    assert "FOLIOT_JWT_KEY_FILE" in said


def test_keys_made_at_random_are_never_called_weak() -> None:
    made = (
        make
        for _ in range(3000)
        for make in (secrets.token_urlsafe(18), secrets.token_hex(16), secrets.token_hex(32), secrets.token_urlsafe(32))
    )

    assert [key for key in made if weakness(key)] == []


def test_a_key_counts_in_bytes() -> None:
    assert complaints({"FOLIOT_JWT_SECRET": KEY[:31]}) != []
    assert Settings.load({"FOLIOT_JWT_SECRET": KEY[:32]}).jwt_secret is not None


def test_master_keys_are_a_list_and_each_must_hold() -> None:
    other = KEY[::-1]

    keys = Settings.load({"FOLIOT_SECRET_KEY": f"{KEY}, {other}"}).secret_key

    assert [key.reveal() for key in keys] == [KEY, other]
    assert complaints({"FOLIOT_SECRET_KEY": f"{KEY},short"})[0].startswith("FOLIOT_SECRET_KEY: must have at least 32")


def test_keys_are_never_seen_by_accident() -> None:
    settings = Settings.load({"FOLIOT_JWT_SECRET": KEY, "FOLIOT_SECRET_KEY": KEY, "FOLIOT_METRICS_TOKEN": KEY})

    assert KEY not in f"{settings} {settings!r} {settings.jwt_secret} {settings.secret_key} {settings.metrics_token!r}"


@pytest.mark.parametrize(
    ("url", "fine"),
    [
        ("https://id.example/jwks", True),
        ("https://10.0.0.1:8443/jwks", True),
        ("http://127.0.0.1:9000/jwks", True),
        ("http://localhost/jwks", True),
        ("http://[::1]:9/jwks", True),
        ("http://id.example/jwks", False),
        ("http://10.0.0.1/jwks", False),
        ("https://user:hunter2@id.example/jwks", False),
        ("file:///etc/keys", False),
        ("https:///jwks", False),
        ("https://id.example:port/", False),
        ("id.example/jwks", False),
    ],
)
def test_keys_come_over_https_or_from_this_machine(url: str, fine: bool) -> None:
    if fine:
        assert Settings.load({"FOLIOT_JWKS_URL": url}).jwks_url == url
    else:
        [said] = complaints({"FOLIOT_JWKS_URL": url})
        assert said.startswith("FOLIOT_JWKS_URL: must be an https URL")
        assert "hunter2" not in said


def test_a_key_file_must_be_there(tmp_path: Path) -> None:
    [said] = complaints({"FOLIOT_JWT_KEY_FILE": str(tmp_path / "none.pem")})
    assert "must be a file that this user can read" in said
    assert complaints({"FOLIOT_JWT_KEY_FILE": str(tmp_path)}) != []


DEFAULTS = [
    ("CELERY_BROKER_URL", "amqp://guest:guest@broker//"),
    ("RABBITMQ_URL", "amqp://admin:password123@10.0.0.5:5672//"),
    ("CELERY_BROKER_URL", "amqp://broker"),
    ("CELERY_BROKER_URL", "amqp://own:0f3kd82k@one;amqp://guest:guest@two"),
    ("DATABASE_URL", "mysql://root@db/foliot"),
    ("DATABASE_URL", "mysql://root:@db/foliot"),
    ("DATABASE_URL", "mysql://root:root@db/foliot"),
    ("DATABASE_URL", "postgresql://postgres:postgres@db/foliot"),
    ("DATABASE_URL", "postgresql://foliot:PASSWORD@db/foliot"),
    ("DATABASE_URL", "postgresql://foliot:foliot@db/foliot"),
    ("DATABASE_URL", "postgresql://acme:Acme@db/foliot"),
    ("DATABASE_URL", "postgresql://foliot:p%61ssword@db/foliot"),
    ("DATABASE_URL", "postgresql:///foliot?host=db&user=admin&password=admin"),
    ("DATABASE_URL", "postgresql://foliot:secret@127.0.0.1,db/foliot?host=127.0.0.1,db"),
    ("MONGO_URI", "mongodb://admin:admin@mongo/x"),
    ("REDIS_URL", "redis://:redis@cache/0"),
    ("FOLIOT_REDIS_URL", "rediss://default:password@cache:6380/0"),
]


@pytest.mark.parametrize(("key", "url"), DEFAULTS)
def test_credentials_that_everybody_knows_are_refused_elsewhere_once_tokens_are_asked_for(key: str, url: str) -> None:
    said = complaints({"FOLIOT_JWT_SECRET": KEY, key: url})

    assert any(line.startswith(f"{key}: must not contain") for line in said), said
    assert not any("password123" in line or ":postgres@" in line for line in said)


@pytest.mark.parametrize(
    "url",
    [
        "amqp://guest:guest@localhost//",
        "amqp://guest:guest@127.0.0.1:5672",
        "mysql://root@127.0.0.1/x",
        "postgresql://postgres:postgres@[::1]/x",
        "postgresql://postgres:postgres@/x?host=/run/postgresql",
        "postgresql:///x",
        "postgresql://foliot@db/x",
        "postgresql://foliot:hR72kqLs9@db/x",
        "sqlite:////var/lib/foliot.db",
        "",
    ],
)
def test_credentials_of_this_machine_and_ones_own_are_fine(url: str) -> None:
    assert default_credentials(url) is None


@pytest.mark.parametrize(("key", "url"), [case for case in DEFAULTS if case[0] != "DATABASE_URL"])
def test_local_mode_does_not_ask_about_credentials(key: str, url: str) -> None:
    Settings.load({key: url})


# --- processes that check no tokens -----------------------------------------------------------------------------------


def test_a_process_that_checks_no_tokens_starts_without_their_key_and_not_in_local_mode(tmp_path: Path) -> None:
    settings = Settings.load({"FOLIOT_LOCAL": "0", "FOLIOT_SECRET_KEY": KEY, "FOLIOT_HOME": str(tmp_path)})
    app = build.build(settings, http=False, engine=True, role=NodeRole.WORKER)

    assert not settings.local
    with pytest.raises(Invalid):
        app.egress.check("http://127.0.0.1/")
    with pytest.raises(Invalid, match="FOLIOT_LOCAL: must not be off where nothing checks tokens"):
        build.build(settings, http=True, engine=False)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"FOLIOT_LOCAL": "0"}, "FOLIOT_SECRET_KEY"),
        ({"FOLIOT_LOCAL": "0", "FOLIOT_SECRET_KEY": KEY, "FOLIOT_METRICS_TOKEN": KEY}, "FOLIOT_METRICS_TOKEN"),
        ({"FOLIOT_LOCAL": "0", "FOLIOT_SECRET_KEY": KEY, "FOLIOT_WEBHOOK_SECRET": "whsec_" + "QUJD" * 8}, "WEBHOOK"),
        ({"FOLIOT_LOCAL": "1", "FOLIOT_JWT_SECRET": KEY}, "FOLIOT_LOCAL"),
        ({"FOLIOT_LOCAL": "maybe"}, "FOLIOT_LOCAL"),
    ],
)
def test_what_does_not_go_with_it_stops_the_start(given: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        Settings.load(given)
