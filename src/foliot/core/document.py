"""Reads a mapping from outside field by field, and reports exactly what is wrong with it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import Any, TypeVar

from foliot.core.errors import Invalid, InvalidMany
from foliot.core.visible_text import check_name

E = TypeVar("E", bound=StrEnum)

MOST_COMPLAINTS = 20
"""How many unknown fields are reported: a body can hold a hundred thousand."""


@dataclass(slots=True)
class Fields:
    """One mapping being read; `finish` refuses fields that were never read."""

    where: str
    raw: Mapping[str, Any]
    asked: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, where: str, raw: object) -> Fields:
        if raw is None:
            raw = {}
        if not isinstance(raw, Mapping):
            raise Invalid(where, "must be an object", got=raw)
        return cls(where, raw)

    def path(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def value(self, name: str) -> Any:
        """The raw value, or None when absent."""
        self.asked.add(name)
        return self.raw.get(name)

    def choice(self, name: str, options: type[E], default: E) -> E:
        got = self.value(name)
        if got is None:
            return default
        try:
            return options(got)
        except ValueError:
            expected = ", ".join(option.value for option in options)
            raise Invalid(self.path(name), f"must be one of {expected}", got=got) from None

    def integer(self, name: str, default: int, *, low: int, high: int) -> int:
        got = self.value(name)
        if got is None:
            return default
        if isinstance(got, float) and got.is_integer():
            got = int(got)
        if isinstance(got, bool) or not isinstance(got, int) or not low <= got <= high:
            raise Invalid(self.path(name), f"must be a whole number from {low} to {high}", got=got)
        return got

    def number(self, name: str, default: float, *, low: float, high: float) -> float:
        got = self.value(name)
        if got is None:
            return default
        # A NaN fails every comparison, so it is refused here too.
        if isinstance(got, bool) or not isinstance(got, int | float) or not low <= got <= high:
            raise Invalid(self.path(name), f"must be a number from {low:g} to {high:g}", got=got)
        return float(got)

    def flag(self, name: str, *, default: bool) -> bool:
        got = self.value(name)
        if got is None:
            return default
        if not isinstance(got, bool):
            raise Invalid(self.path(name), "must be true or false", got=got)
        return got

    def text(self, name: str, default: str, *, most: int) -> str:
        got = self.value(name)
        if got is None:
            return default
        if not isinstance(got, str):
            raise Invalid(self.path(name), "must be text", got=got)
        if len(got) > most:
            raise Invalid(self.path(name), f"must be at most {most} characters", got=f"{len(got)} characters")
        if "\x00" in got:
            raise Invalid(self.path(name), "must not contain the character U+0000", got=got[:50])
        return got

    def moment(self, name: str) -> datetime | None:
        got = self.value(name)
        return None if got is None else moment(self.path(name), got)

    def finish(self) -> None:
        """Refuse unknown fields, each with a suggestion and the known names; of very many, only the first."""
        unknown = islice((name for name in self.raw if name not in self.asked), MOST_COMPLAINTS)
        Complaints([self._unknown(str(name)) for name in unknown]).speak()

    def _unknown(self, name: str) -> Invalid:
        close = difflib.get_close_matches(name[:100], self.asked, n=1)
        hint = f"did you mean {close[0]!r}? Known are" if close else "known are"
        return Invalid(self.path(name[:100]), f"is not known; {hint} {', '.join(sorted(self.asked))}")


@dataclass(slots=True)
class Complaints:
    """Collects all errors instead of stopping at the first."""

    found: list[Invalid] = field(default_factory=list)

    @contextmanager
    def collect(self) -> Iterator[None]:
        try:
            yield
        except InvalidMany as error:
            self.found += error.errors
        except Invalid as error:
            self.found.append(error)

    def attempt(self, read: Callable[[], Any]) -> Any:
        """What the reader returns; None when it fails, which is never used because `speak` raises then."""
        with self.collect():
            return read()
        return None

    def speak(self) -> None:
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            raise InvalidMany(self.found)


def moment(where: str, got: object) -> datetime:
    """An RFC 3339 moment with its offset, as UTC."""
    if isinstance(got, str):
        try:
            got = datetime.fromisoformat(got)
        except ValueError:
            raise Invalid(where, "must be a time such as 2027-01-01T09:00:00Z", got=str(got)[:100]) from None
    if not isinstance(got, datetime):
        raise Invalid(where, "must be a time such as 2027-01-01T09:00:00Z", got=got)
    if got.tzinfo is None:
        raise Invalid(where, "must say its offset from UTC, as in 2027-01-01T09:00:00Z or …+01:00", got=got.isoformat())
    try:
        utc = got.astimezone(UTC)
    except OverflowError:
        raise Invalid(where, "is outside the years 1970 to 2999", got=got.isoformat()) from None
    if not 1970 <= utc.year < 3000:
        raise Invalid(where, "is outside the years 1970 to 2999", got=got.isoformat())
    return utc


def rfc3339(moment_: datetime | None) -> str | None:
    """UTC with `Z`, microseconds kept when there are any."""
    if moment_ is None:
        return None
    return moment_.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_name(fields: Fields) -> str:
    name = fields.text("name", "", most=MAX_NAME).strip()
    if not name:
        raise Invalid("name", "is required")
    check_name("name", name)
    return name


MAX_NAME = 200
