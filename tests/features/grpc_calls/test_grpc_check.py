"""What is said about the configuration of a gRPC call without asking anybody."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.config.address_book import addresses
from foliot.core.egress import AddressBook
from foliot.core.errors import Invalid, InvalidMany
from foliot.features.grpc_calls.config import MethodName, read_config

BOOK = addresses("scraper-service=scraper:50053, web=http://shop")
GOOD: dict[str, Any] = {"target_service": "scraper-service", "target_method": "ScrapePrices"}


def test_the_stored_form_has_one_spelling_of_the_service_and_always_parameters() -> None:
    assert read_config({**GOOD, "target_service": " ScraperService "}, BOOK) == {**GOOD, "parameters": {}}
    assert read_config({**GOOD, "parameters": {"a": [1]}}, BOOK) == {**GOOD, "parameters": {"a": [1]}}


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"target_service": None}, "target_service", "is required"),
        ({"target_service": 5}, "target_service", "must be the name of a service"),
        ({"target_service": "scrapper"}, "target_service", "did you mean scraper-service? Known are scraper-service"),
        ({"target_service": "x" * 10_000}, "target_service", "must be the name of a service in the address book"),
        ({"target_service": "web"}, "target_service", "must be a gRPC service; web speaks http"),
        ({"target_method": None}, "target_method", "is required"),
        ({"target_method": ["x"]}, "target_method", "must be the name of a method"),
        ({"target_method": ""}, "target_method", "must be a method such as"),
        ({"target_method": "Scrape Prices"}, "target_method", "must be a method such as"),
        ({"target_method": "a/b/c"}, "target_method", "must be a method such as"),
        ({"target_method": "/../x"}, "target_method", "must be a method such as"),
        ({"target_method": "é"}, "target_method", "must be a method such as"),
        ({"target_method": "x\ny"}, "target_method", "must be a method such as"),
        ({"target_method": "x" * 301}, "target_method", "must be a method such as"),
        ({"parameters": []}, "parameters", "must be an object"),
        ({"parameters": "x"}, "parameters", "must be an object"),
        ({"parameters": {"a": float("nan")}}, "parameters", "must not contain NaN"),
        ({"parameters": {"a": "\x00"}}, "parameters", "U+0000"),
        ({"parameters": {"a": "x" * 300_000}}, "parameters", "must be at most 256 KiB"),
        ({"method": "x"}, "method", "is not known; did you mean 'target_method'?"),
        ({"address": "127.0.0.1:80"}, "address", "is not known"),
    ],
)
def test_what_is_wrong_is_said_by_its_field(change: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_config({**GOOD, **change}, BOOK)

    assert refused.value.field == field
    assert words in refused.value.message


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidMany) as refused:
        read_config({"parameters": 1}, BOOK)

    assert [each.field for each in refused.value.errors] == ["target_service", "target_method", "parameters"]


def test_before_anybody_has_filled_the_book_every_name_is_taken_and_no_address() -> None:
    assert read_config(GOOD, AddressBook())["target_service"] == "scraper-service"
    with pytest.raises(Invalid, match="FOLIOT_SERVICES or variables such as SCRAPER_SERVICE_URL"):
        read_config({**GOOD, "target_service": "127.0.0.1:50051"}, AddressBook())


@pytest.mark.parametrize(
    ("text", "service", "is_meant"),
    [
        ("Ping", "shop.v1.Scraper", True),
        ("Scraper/Ping", "shop.v1.Scraper", True),
        ("v1.Scraper/Ping", "shop.v1.Scraper", True),
        ("/shop.v1.Scraper/Ping", "shop.v1.Scraper", True),
        ("shop.v1.Scraper.Ping", "shop.v1.Scraper", True),
        ("craper/Ping", "shop.v1.Scraper", False),
        ("shop.v2.Scraper/Ping", "shop.v1.Scraper", False),
    ],
)
def test_a_method_may_name_its_service_wholly_or_by_its_end(text: str, service: str, is_meant: bool) -> None:
    name = MethodName.read(text)

    assert name.method == "Ping"
    assert name.is_of(service) is is_meant
