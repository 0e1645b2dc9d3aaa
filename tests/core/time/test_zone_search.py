"""Time zones by what people call them."""

from __future__ import annotations

import pytest

from foliot.core.time.zone import zone_info
from foliot.core.time.zone_search import SPOKEN, find_zone, search_zones, zone_names


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("PT", "America/Los_Angeles"),
        ("CET", "Europe/Berlin"),
        ("Stockholm", "Europe/Stockholm"),
        ("new york", "America/New_York"),
        ("+01:00", "Etc/GMT-1"),
        ("UTC-5", "Etc/GMT+5"),
        ("Europe/Paris", "Europe/Paris"),
        ("europe/paris", "Europe/Paris"),
        ("+00:00", "UTC"),
    ],
)
def test_the_first_found_is_the_one_that_is_meant(said: str, name: str) -> None:
    assert search_zones(said, 5)[0][0] == name
    assert find_zone(said) == name


def test_what_is_only_begun_is_completed_and_not_taken_for_whole() -> None:
    assert ("Europe/Stockholm", "") in search_zones("stock", 5)
    assert find_zone("stock") is None
    assert find_zone("+05:37") is None
    assert search_zones("nowhere at all", 5) == []


def test_every_zone_that_is_offered_exists() -> None:
    assert "posixrules" not in zone_names()
    for name in {*SPOKEN.values(), *zone_names()}:
        assert zone_info(name).key == name
    assert len(search_zones("", 7)) == 7
