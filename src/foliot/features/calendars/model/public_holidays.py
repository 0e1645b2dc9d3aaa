"""Public holidays of countries and their subdivisions, from the `holidays` library."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from typing import Any

from foliot.core.errors import Invalid
from foliot.core.time.resolved_calendar import WEEKEND

LANGUAGE = "en_US"
"""Names never follow the machine's language."""


@dataclass(frozen=True, slots=True)
class HolidayPlace:
    """A country, and a subdivision of it where one is meant."""

    country: str
    subdivision: str | None = None


@dataclass(frozen=True, slots=True)
class HolidayDates:
    """The public holidays of some years, and the weekdays of the weekend."""

    days: Mapping[date, str]
    weekend: frozenset[int]


def holiday_place(country: str, subdivision: str | None) -> HolidayPlace:
    """`Invalid` for a country or subdivision that the library does not know."""
    known, code = _countries(), country.strip().upper()
    if code not in known:
        raise Invalid("holidays", f"is not a country whose holidays are known{_close(code, known)}", got=country)
    if not subdivision:
        return HolidayPlace(code)
    names = {one.upper(): one for one in known[code]}
    found = names.get(subdivision.strip().upper())
    if found is None:
        listed = ", ".join(sorted(names.values())[:20]) or "none are known"
        wrong = f"is not a subdivision of {code} with holidays of its own: {listed}"
        raise Invalid("subdivision", wrong, got=subdivision)
    return HolidayPlace(code, found)


def countries() -> Mapping[str, tuple[str, ...]]:
    """The codes of the countries that are known, with their subdivisions."""
    return _countries()


@cache
def _countries() -> Mapping[str, tuple[str, ...]]:
    import holidays

    return {code: tuple(names) for code, names in holidays.list_supported_countries(include_aliases=False).items()}


def dates_of(place: HolidayPlace, first: int, last: int) -> HolidayDates:
    """The holidays of the years from first to last."""
    years = [_year(place, year) for year in range(first, last + 1)]
    return HolidayDates({day: name for days, _ in years for day, name in days.items()}, years[-1][1])


@lru_cache(maxsize=512)
def _year(place: HolidayPlace, year: int) -> tuple[Mapping[date, str], frozenset[int]]:
    import holidays

    options: dict[str, Any] = {"subdiv": place.subdivision, "years": year}
    found = holidays.country_holidays(place.country, **options, language=_language(place.country))
    weekend = getattr(found, "weekend", None)
    return dict(found.items()), frozenset(weekend) if weekend else WEEKEND


@cache
def _language(country: str) -> str | None:
    import holidays

    spoken = holidays.country_holidays(country)
    return LANGUAGE if LANGUAGE in spoken.supported_languages else spoken.default_language


def _close(code: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(code[:20], known, n=1)
    return f"; did you mean {close[0]}?" if close else "; give its ISO 3166 code, such as SE"
