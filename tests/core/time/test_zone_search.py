"""Time zones by what people call them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from foliot.core.time.zone import SPOKEN, find_zone, search_zones, zone_info, zone_names

NOW = datetime(2027, 1, 4, 12, tzinfo=UTC)


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


@pytest.mark.parametrize("said", ["+05:30", "UTC+5:30", "utc +5:30", "GMT+0530"])
def test_an_offset_finds_the_zones_that_have_it(said: str) -> None:
    found = search_zones(said, 5, NOW)

    assert found[0] == ("Asia/Kolkata", "now +05:30")
    assert all(NOW.astimezone(zone_info(name)).utcoffset() == timedelta(hours=5.5) for name, _ in found)


def test_an_offset_is_the_one_of_today() -> None:
    summer, winter = (search_zones("+02:00", 500, moment) for moment in (NOW + timedelta(days=200), NOW))

    assert ("Europe/Berlin", "now +02:00") in summer
    assert "Europe/Berlin" not in dict(winter)
    assert winter[0] == ("Etc/GMT-2", "always +02:00, no daylight saving")
    assert search_zones("\u221203:30", 1, NOW)[0][0] == "America/St_Johns", "a typographic minus sign"
    assert search_zones("Kolkata", 1, NOW) == [("Asia/Kolkata", "")]
    assert search_zones("+05:37", 5, NOW) == []


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
