"""Parses natural language for triggers: "every day at 02:30", "first monday of the month", "in 10 minutes".

A phrase is a sequence of clauses in any order: how often, at which times, on which days, in which months, between which
hours; or one moment. What is not understood is reported with its position and a suggestion.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from foliot.core.errors import Invalid
from foliot.core.time.vocabulary import (
    DAYS,
    EVERY_SECOND,
    FILLERS,
    GROUPS,
    HOURS,
    MONTHS,
    NUMBERS,
    PLACES,
    RHYTHMS,
    SHORT,
    UNITS,
    VOCABULARY,
)

LIMIT = 200

_TOKEN = re.compile(
    r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?)?"  # a date, with or without a time
    r"|\d+(?:st|nd|rd|th)\b|\d+(?::\d+){1,2}|\d+|:\d+|[a-z]+|\S",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class PhraseToken:
    """One word, and its position."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, order=True)
class TimeOfDay:
    """A time of day."""

    hour: int
    minute: int = 0
    second: int = 0


@dataclass(slots=True)
class PhraseClauses:
    """The parsed clauses of a phrase."""

    unit: str | None = None
    number: int = 1
    ahead: int | None = None
    """Seconds from now."""
    date: str | None = None
    """`today`, `tomorrow`, or a date."""
    times: list[TimeOfDay] = field(default_factory=list)
    minute: int | None = None
    """Of every hour."""
    weekdays: list[int] = field(default_factory=list)
    nth: list[str] = field(default_factory=list)
    """Weekdays of the month, in cron syntax."""
    days: list[str] = field(default_factory=list)
    """Days of the month, in cron syntax."""
    months: list[int] = field(default_factory=list)
    between: tuple[int, int] | None = None


def read_phrase(words: object) -> PhraseClauses:
    """The clauses of a phrase, or `Invalid` with the position that was not understood."""
    if not isinstance(words, str):
        raise Invalid("words", "must be text", got=words)
    if len(words) > LIMIT:
        raise Invalid("words", f"must be at most {LIMIT} characters", got=f"{len(words)} characters")
    reading = _PhraseParser(words, _tokens(words))
    if not reading.tokens:
        raise Invalid("words", "must say when, as in 'every day at 02:30'", got=words, suggestion="every day at 02:30")
    while reading.here is not None:
        if not any(clause(reading) for clause in _CLAUSES):
            raise reading.complaint()
    return reading.said


def _tokens(words: str) -> list[PhraseToken]:
    # Letter by letter: lowercasing some letters yields two, which would shift every later position.
    low = "".join([one.lower() if one.isascii() else one for one in words])
    return [PhraseToken(found[0], found.start(), found.end()) for found in _TOKEN.finditer(low)]


@dataclass(slots=True)
class _PhraseParser:
    """The position up to which a phrase is parsed."""

    words: str
    tokens: list[PhraseToken]
    place: int = 0
    said: PhraseClauses = field(default_factory=PhraseClauses)

    @property
    def here(self) -> PhraseToken | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def text(self, ahead: int = 0) -> str:
        at = self.place + ahead
        return self.tokens[at].text if at < len(self.tokens) else ""

    def skip(self, count: int = 1) -> bool:
        self.place += count
        return True

    def whole(self, count: int, low: int, high: int, what: str) -> int:
        """A number within its limits, at this place; read with `count` words."""
        number = int(re.sub(r"\D", "", self.text()) or 0)
        if not low <= number <= high:
            raise self.complaint(f"{what} must be from {low} to {high}")
        self.skip(count)
        return number

    def complaint(self, message: str = "") -> Invalid:
        """The word at this position is not understood."""
        token = self.here or self.tokens[-1]
        meant = None
        if not message:
            message = f"{self.words[token.start : token.end]!r} is not understood"
            near = difflib.get_close_matches(token.text, VOCABULARY, n=1, cutoff=0.7)
            meant = f"{self.words[: token.start]}{near[0]}{self.words[token.end :]}" if near else None
        return Invalid("words", message, got=self.words, position=(token.start, token.end), suggestion=meant)


def _unit(text: str) -> str | None:
    return text if text in UNITS else SHORT.get(text) or (text[:-1] if text[:-1] in UNITS else None)


def _named(text: str, names: tuple[str, ...]) -> int | None:
    """The index of a name of which at least three letters are written, or all and an s."""
    text = text.removesuffix("s") if len(text) > 4 else text
    found = [at for at, name in enumerate(names) if len(text) >= 3 and name.startswith(text)]
    return found[0] if found else None


def _number(text: str) -> int | None:
    return int(text) if _digits(text) and len(text) < 9 else NUMBERS.get(text)


def _digits(text: str) -> bool:
    """ASCII digits only: no other scripts, no superscripts."""
    return text.isascii() and text.isdigit()


def _alternate(reading: _PhraseParser) -> bool:
    """`every other tuesday`, `every second monday`: every two weeks; `every other day`: every two days.

    `every second monday of the month` is a day of each month, and `every second` alone is a second.
    """
    if reading.text() not in {"every", "each"} or reading.text(1) not in EVERY_SECOND:
        return False
    said = reading.said
    if (day := _named(reading.text(2), DAYS)) is not None:
        if reading.text(3) == "of" and reading.text(1) != "other":
            said.nth.append(f"{day}#2")
            return reading.skip(3)
        said.unit, said.number = "week", 2
        said.weekdays.append(day)
        return reading.skip(3)
    unit = "week" if reading.text(2) == "fortnight" else _unit(reading.text(2))
    if unit is None or len(reading.text(2)) < 3:
        if reading.text(1) == "other":
            reading.skip(2)
            raise reading.complaint("must be followed by a day or a unit, as in 'every other tuesday'")
        return False
    said.unit, said.number = unit, 2
    return reading.skip(3)


def _fortnight(reading: _PhraseParser) -> bool:
    """`fortnightly`, `every fortnight`."""
    at = int(reading.text() in {"every", "each"})
    if reading.text(at) not in {"fortnight", "fortnightly"}:
        return False
    reading.said.unit, reading.said.number = "week", 2
    return reading.skip(at + 1)


def _rhythm(reading: _PhraseParser) -> bool:
    """`hourly`, `every minute`, `every 15 minutes`, `15m`; `in 10 minutes` is a moment."""
    said, ahead = reading.said, reading.text() == "in"
    at = int(reading.text() in {"every", "each", "in"})
    if not at and (rhythm := RHYTHMS.get(reading.text())):
        said.unit = rhythm
        return reading.skip()
    if reading.text(at) == "half" and reading.text(at + 1) == "an" and reading.text(at + 2) == "hour":
        number, unit, used = 30, "minute", at + 3
    elif at and not ahead and (alone := _unit(reading.text(at))):
        number, unit, used = 1, alone, at + 1
    elif (counted := _number(reading.text(at))) is not None and (many := _unit(reading.text(at + 1))):
        number, unit, used = counted, many, at + 2
    else:
        return False
    if number < 1 or (ahead and not UNITS[unit]):
        raise reading.complaint("must be a whole number of at least 1, of seconds, minutes, hours, days or weeks")
    if ahead:
        said.ahead = number * UNITS[unit]
    else:
        said.unit, said.number = unit, number
    return reading.skip(used)


def _between(reading: _PhraseParser) -> bool:
    """`between 9 and 17`, `from 9 to 17`."""
    closing = {"between": {"and", "-"}, "from": {"to", "until", "till", "-"}}.get(reading.text())
    if closing is None:
        return False
    reading.skip()
    first = _clock(reading)
    if first is None or reading.text() not in closing:
        raise reading.complaint("must name two hours, as in 'between 9 and 17'")
    reading.skip()
    last = _clock(reading)
    if last is None or first.minute or last.minute:
        raise reading.complaint("must name two full hours, as in 'between 9 and 17'")
    reading.said.between = first.hour, last.hour
    return True


def _clock(reading: _PhraseParser) -> TimeOfDay | None:
    """`9`, `9:30`, `9am`, `noon`."""
    text = reading.text()
    if text in HOURS:
        reading.skip()
        return TimeOfDay(HOURS[text])
    if not re.fullmatch(r"\d{1,2}(:\d{1,2}){0,2}", text, re.ASCII):
        return None
    parts = [*map(int, text.split(":")), 0, 0]
    half = reading.text(1) if reading.text(1) in {"am", "pm"} else ""
    if half and not 1 <= parts[0] <= 12:
        raise reading.complaint("an hour of am or pm must be from 1 to 12")
    hour = parts[0] % 12 + (12 if half == "pm" else 0) if half else parts[0]
    if hour > 23 or parts[1] > 59 or parts[2] > 59:
        raise reading.complaint("a time must be from 00:00 to 23:59")
    reading.skip(2 if half else 1)
    return TimeOfDay(hour, parts[1], parts[2])


def _times(reading: _PhraseParser) -> bool:
    """`at 9`, `at 9 and 17`, `9:30`, `noon`, `at :15`, `at minute 15`."""
    at = int(reading.text() == "at")
    if reading.text(at) == "minute" and _digits(reading.text(at + 1)):
        reading.skip(at + 1)
        reading.said.minute = reading.whole(1, 0, 59, "a minute")
        return True
    if reading.text(at).startswith(":") and len(reading.text(at)) > 1:
        reading.skip(at)
        reading.said.minute = reading.whole(1, 0, 59, "a minute")
        return True
    bare = ":" in reading.text() or reading.text() in HOURS or reading.text(1) in {"am", "pm"}
    # A bare number is an hour only after `at`, or beside another hour.
    if not at and not bare and not (reading.said.times and _digits(reading.text())):
        return False
    reading.skip(at)
    found = _clock(reading)
    if found is None:
        if at:
            raise reading.complaint()
        return False
    reading.said.times.append(found)
    return True


def _nth(reading: _PhraseParser) -> bool:
    """`first monday`, `last day`, `first weekday`, of the month."""
    place = PLACES.get(reading.text()) or _ordinal(reading.text())
    if place is None:
        return False
    following, day = reading.text(1), _named(reading.text(1), DAYS)
    if day is not None and place <= 5:
        reading.said.nth.append(f"{day}L" if place < 0 else f"{day}#{place}")
    elif following == "day" and reading.text() in PLACES:
        reading.said.days.append("L" if place < 0 else str(place))
    elif following in {"weekday", "workday"} and place in {1, -1}:
        reading.said.days.append("LW" if place < 0 else "1W")
    elif _digits(reading.text()[0]):
        reading.said.days.append(str(reading.whole(1, 1, 31, "a day of the month")))
        return True
    else:
        return False
    return reading.skip(2)


def _ordinal(text: str) -> int | None:
    found = re.fullmatch(r"(\d+)(?:st|nd|rd|th)", text)
    return int(found[1]) if found and len(found[1]) < 9 else None


def _weekdays(reading: _PhraseParser) -> bool:
    """`weekdays`, `monday to friday`, `mon, wed`."""
    text = reading.text()
    if days := GROUPS.get(text.removesuffix("s")):
        reading.said.weekdays += days
        return reading.skip()
    first = _named(text, DAYS)
    if first is None:
        return False
    last = _named(reading.text(2), DAYS)
    if reading.text(1) in {"to", "-", "through", "till", "until"} and last is not None:
        reading.said.weekdays += [(first + step) % 7 for step in range((last - first) % 7 + 1)]
        return reading.skip(3)
    reading.said.weekdays.append(first)
    return reading.skip()


def _months(reading: _PhraseParser) -> bool:
    """`january`, `january 1`, `25 december`."""
    ahead = int(_digits(reading.text()) and reading.text(1) != "of")
    month = _named(reading.text(ahead), MONTHS)
    if month is None:
        return False
    if ahead:
        reading.said.days.append(str(reading.whole(1, 1, 31, "a day of the month")))
    reading.said.months.append(month + 1)
    reading.skip()
    if not ahead and _digits(reading.text()) and reading.text(1) not in {"am", "pm"}:
        reading.said.days.append(str(reading.whole(1, 1, 31, "a day of the month")))
    return True


def _date(reading: _PhraseParser) -> bool:
    """`today`, `tomorrow`, `2027-01-01`, `2027-01-01 09:00`."""
    text = reading.text()
    if text in {"today", "tomorrow", "now", "once"}:
        reading.said.date = "today" if text == "once" and reading.said.date is None else text
        return reading.skip()
    if not re.match(r"\d{4}-\d\d-\d\d", text):
        return False
    reading.said.date = text[:10]
    if len(text) > 10:
        hour, minute, *second = map(int, text[11:].split(":"))
        if hour > 23 or minute > 59 or (second and second[0] > 59):
            raise reading.complaint("a time must be from 00:00 to 23:59")
        reading.said.times.append(TimeOfDay(hour, minute, *second))
    return reading.skip()


def _month(reading: _PhraseParser) -> bool:
    """`of the month`, `of every month`: optional, because the day implies it."""
    if reading.text() != "month" or not (reading.said.nth or reading.said.days):
        return False
    return reading.skip()


def _filler(reading: _PhraseParser) -> bool:
    following = reading.here is not None and reading.place + 1 < len(reading.tokens)
    return following and reading.text() in FILLERS and reading.skip()


_CLAUSES: tuple[Callable[[_PhraseParser], bool], ...] = (
    _date,
    _alternate,
    _fortnight,
    _nth,
    _month,
    _rhythm,
    _between,
    _months,
    _weekdays,
    _times,
    _filler,
)
EXAMPLE = "every day at 02:30"
