"""Reads a mapping from outside field by field, and reports exactly what is wrong with it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import Any, TypeVar

from foliot.core.errors import Invalid, InvalidMany

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_TURNING = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_INVISIBLE = re.compile(
    r"[\u00ad\u061c\u180e\u200b\u200e\u200f\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Joiners (U+200C, U+200D) are part of letters and emoji, and are allowed."""


def check_name(where: str, text: str) -> None:
    """`Invalid` when a name or tag contains invisible characters or bidirectional controls."""
    if _CONTROL.search(text):
        raise Invalid(where, "must not contain control characters", got=text)
    check_prose(where, text)
    if found := _INVISIBLE.search(text):
        raise Invalid(where, f"must not contain {_named(found)}, which cannot be seen")


def check_prose(where: str, text: str) -> None:
    """The same for a text of several lines, where only bidirectional controls are refused."""
    if found := _TURNING.search(text):
        raise Invalid(where, f"must not contain {_named(found)}, which changes the direction of what is read")


def _named(found: re.Match[str]) -> str:
    return f"the character U+{ord(found[0]):04X}"


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
        return cls(where, {} if raw is None else check_object(where, raw))

    def path(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def value(self, name: str) -> Any:
        """The raw value, or None when absent."""
        self.asked.add(name)
        return self.raw.get(name)

    def choice(self, name: str, options: type[E], default: E) -> E:
        got = self.value(name)
        return default if got is None else choose(self.path(name), got, options)

    def integer(self, name: str, default: int, *, low: int, high: int) -> int:
        got = self.value(name)
        return default if got is None else check_integer(self.path(name), got, low, high)

    def number(self, name: str, default: float, *, low: float, high: float) -> float:
        got = self.value(name)
        return default if got is None else check_number(self.path(name), got, low, high)

    def flag(self, name: str, *, default: bool) -> bool:
        got = self.value(name)
        return default if got is None else check_flag(self.path(name), got)

    def text(self, name: str, default: str, *, most: int) -> str:
        got = self.value(name)
        return default if got is None else check_text(self.path(name), got, most)

    def moment(self, name: str) -> datetime | None:
        got = self.value(name)
        return None if got is None else moment(self.path(name), got)

    def finish(self) -> None:
        """Refuse unknown fields, each with a suggestion and the known names; of very many, only the first."""
        unknown = islice((name for name in self.raw if name not in self.asked), MOST_COMPLAINTS)
        Complaints([unknown_field(self.where, str(name), self.asked) for name in unknown]).speak()


def unknown_field(where: str, name: str, known: Collection[str]) -> Invalid:
    """The error for an unknown field, with a suggestion and the known names."""
    close = difflib.get_close_matches(name[:100], known, n=1)
    hint = f"did you mean {close[0]!r}? Known are" if close else "known are"
    path = f"{where}.{name[:100]}" if where else name[:100]
    return Invalid(path, f"is not known; {hint} {', '.join(sorted(known))}")


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
        # Not by `collect`: a generator's context manager takes longer than most readers, of which a schedule has 14.
        try:
            return read()
        except InvalidMany as error:
            self.found += error.errors
        except Invalid as error:
            self.found.append(error)
        return None

    def speak(self) -> None:
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            raise InvalidMany(self.found)


def check_object(where: str, got: object) -> Mapping[str, Any]:
    if not isinstance(got, Mapping):
        raise Invalid(where, "must be an object", got=got)
    return got


def choose(where: str, got: Any, options: type[E]) -> E:
    """The member of an enumeration with this value."""
    try:
        return options(got)
    except ValueError:
        expected = ", ".join(option.value for option in options)
        raise Invalid(where, f"must be one of {expected}", got=got) from None


def check_integer(where: str, got: object, low: int, high: int) -> int:
    """A whole number; JSON of other languages may write it as 2.0."""
    if isinstance(got, float) and got.is_integer():
        got = int(got)
    if isinstance(got, bool) or not isinstance(got, int) or not low <= got <= high:
        raise Invalid(where, f"must be a whole number from {low} to {high}", got=got)
    return got


def check_number(where: str, got: object, low: float, high: float) -> float:
    # A NaN fails every comparison, so it is refused here too.
    if isinstance(got, bool) or not isinstance(got, int | float) or not low <= got <= high:
        raise Invalid(where, f"must be a number from {low:g} to {high:g}", got=got)
    return float(got)


def check_flag(where: str, got: object) -> bool:
    if not isinstance(got, bool):
        raise Invalid(where, "must be true or false", got=got)
    return got


def check_text(where: str, got: object, most: int) -> str:
    if not isinstance(got, str):
        raise Invalid(where, "must be text", got=got)
    if len(got) > most:
        raise Invalid(where, f"must be at most {most} characters", got=f"{len(got)} characters")
    if "\x00" in got:
        raise Invalid(where, "must not contain the character U+0000", got=got[:50])
    return got


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
    utc = moment_ if moment_.tzinfo is UTC else moment_.astimezone(UTC)
    return utc.isoformat()[:-6] + "Z"


def check_label(where: str, got: object) -> str:
    """The name of a thing, without spaces around it."""
    name = check_text(where, got, MAX_NAME).strip()
    if not name:
        raise Invalid(where, "is required")
    check_name(where, name)
    return name


def read_name(fields: Fields) -> str:
    got = fields.value("name")
    return check_label("name", "" if got is None else got)


MAX_NAME = 200
