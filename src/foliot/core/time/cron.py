"""Reads cron expressions: five fields, six with seconds first, or a macro.

Reading yields the canonical text, which CronSim understands too but for `15W` and `&`, and the fields as numbers.
Whether a field starts with `*` is part of its meaning: Debian cron joins day and weekday by AND, and lets minute and
hour follow real time, when they do. A weekday that ends with `&` is joined by AND too: `0 0 13 * FRI&` is Friday the
13th.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar

from foliot.core.errors import Invalid
from foliot.core.time.wall_clock import MonthDependentDay, WallTimes

FIELDS = 5


def pointed(expression: str, field: int, culprit: str, instead: str | None) -> tuple[tuple[int, int], str | None]:
    """The position of the error, and the expression with a correction in its place."""
    start, end = [found.span() for found in re.finditer(r"\S+", expression)][field]
    place = expression[start:end].upper().find(culprit)
    if culprit and place >= 0:
        start, end = start + place, min(start + place + len(culprit), end)
    meant = None if instead is None else f"{expression[:start]}{instead}{expression[end:]}".strip()
    return (start, end), meant


def wrapped(number: int, low: int, high: int) -> str:
    """The value that a clock would show: minute 61 is minute 1."""
    return str(low if number < low else low + (number - low) % (high - low + 1))


def near_name(text: str, names: Collection[str]) -> str | None:
    """MONDAY and MNO are MON."""
    if text[:3] in names:
        return text[:3]
    close = difflib.get_close_matches(text[:20], names, n=1)
    return close[0] if close else None


def near_macro(text: str, macros: Collection[str]) -> str | None:
    close = difflib.get_close_matches(text[:20], macros, n=1)
    return close[0].lower() if close else None


def fitted(expression: str) -> str | None:
    """With the right number of fields: missing ones become `*`, surplus ones are dropped."""
    parts = expression.split()
    return " ".join([*parts, *["*"] * FIELDS][:FIELDS]) if parts else None


T = TypeVar("T")

LIMIT = 256
AND = "&"
"""Ends a weekday field that restricts the days of the month instead of adding to them."""
MOST_MENDED = 8
"""How many errors of one expression get a suggestion, which takes time to compute."""
MACROS = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * 0",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}


@dataclass(frozen=True, slots=True, eq=False)
class CronUnit:
    """One field's name and limits; `spread` is the highest value that `H` may choose."""

    name: str
    low: int
    high: int
    spread: int
    names: tuple[str, ...] = ()


SECOND = CronUnit("second", 0, 59, 59)
MINUTE = CronUnit("minute", 0, 59, 59)
HOUR = CronUnit("hour", 0, 23, 23)
DAY = CronUnit("day of month", 1, 31, 28)  # H must not choose a day that some months lack
MONTH = CronUnit(
    "month", 1, 12, 12, ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
)
WEEKDAY = CronUnit("day of week", 0, 7, 6, ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))
UNITS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)
POWERS = tuple(1 << value for value in range(60))


class CronTerm(NamedTuple):
    """One element of a comma list: its canonical text and what it stands for."""

    text: str
    values: tuple[int, ...] = ()
    special: MonthDependentDay | None = None


class CronField(NamedTuple):
    """One field: its canonical text, its values in order and as bits, and the days that depend on the month."""

    text: str
    values: tuple[int, ...]
    bits: int
    specials: tuple[MonthDependentDay, ...]
    starred: bool


class ParsedCron(NamedTuple):
    """A canonical expression and the wall-clock times it names."""

    text: str
    times: WallTimes


class MalformedField(Exception):
    """A field that cannot be parsed; becomes `Invalid` where the whole expression is known."""

    def __init__(self, message: str, culprit: str, instead: str | None = None) -> None:
        super().__init__(message)
        self.culprit = culprit
        self.instead = instead
        """A suggestion."""


def resolve(expression: str, key: str) -> str:
    """The canonical form, with every `H` replaced by a value that depends on the key alone."""
    try:
        return _resolve(expression, key)
    except Invalid as error:
        error.suggestion = _mended(error.suggestion)
        raise


def _resolve(expression: str, key: str) -> str:
    written = _split(expression)
    if not any("H" in part for part in written):
        return parse(expression).text
    parts = _each(expression, written, lambda unit, part: _spread(unit, part, key))
    return _read(expression, parts).text


@lru_cache(maxsize=4096)
def parse(expression: str) -> ParsedCron:
    """Read an expression in which `H` is already resolved."""
    return _read(expression, _split(expression))


def _split(expression: object) -> list[str]:
    """The fields, in capitals."""
    if not isinstance(expression, str):
        raise Invalid("cron_expr", "must be text", got=expression)
    if len(expression) > LIMIT:
        raise Invalid("cron_expr", f"must be at most {LIMIT} characters", got=f"{len(expression)} characters")
    text = expression.strip().upper()
    if text.startswith("@") and text not in MACROS:
        raise _whole(expression, f"unknown macro; known are {', '.join(MACROS).lower()}", near_macro(text, MACROS))
    parts = MACROS.get(text, text).split()
    if len(parts) not in (5, 6):
        raise _whole(expression, "must have 5 fields, or 6 with seconds first", fitted(expression))
    return parts


def _read(expression: str, parts: list[str]) -> ParsedCron:
    fields = _each(expression, parts, _field)
    minute, hour, day, month, weekday = fields[-5:]
    times = WallTimes(
        seconds=fields[0].values if len(fields) == 6 else (0,),
        minutes=minute.values,
        hours=hour.values,
        days=day.bits,
        months=month.bits,
        weekdays=(weekday.bits | weekday.bits >> 7) & 0b111_1111,
        day_specials=day.specials,
        weekday_specials=weekday.specials,
        both_days=day.starred or weekday.starred,
        fixed=not (minute.starred or hour.starred),
    )
    if not times.has_a_day:
        raise _whole(expression, "can never fire")
    return ParsedCron(" ".join([field.text for field in fields]), times)


def _each(expression: str, parts: list[str], read: Callable[[CronUnit, str], T]) -> list[T]:
    """All fields, parsed; errors carry their position in the expression."""
    found = []
    for at, (unit, part) in enumerate(zip(UNITS[-len(parts) :], parts, strict=True)):
        try:
            found.append(read(unit, part))
        except MalformedField as error:
            position, meant = pointed(expression, at, error.culprit, error.instead)
            raise Invalid("cron_expr", str(error), got=expression, position=position, suggestion=meant) from None
    return found


def _whole(expression: str, message: str, meant: str | None = None) -> Invalid:
    position = (0, len(expression)) if expression else None
    return Invalid("cron_expr", message, got=expression, position=position, suggestion=meant)


def _mended(meant: str | None) -> str | None:
    """Suggests only what would be accepted: other errors of the expression are corrected too."""
    for _ in range(MOST_MENDED):
        if meant is None:
            break
        try:
            _resolve(meant, "")
        except Invalid as error:
            meant = error.suggestion
        else:
            return meant
    return None


@lru_cache(maxsize=2048)
def _field(unit: CronUnit, part: str) -> CronField:
    # Nearly every field is a star or a number; neither needs the full parser.
    if part == "*":
        return STARS[unit]
    if part.isascii() and part.isdigit():
        value = _value(unit, part)
        return CronField(str(value), (value,), 1 << value, (), starred=False)
    return _list(unit, part)


def _list(unit: CronUnit, part: str) -> CronField:
    if unit is WEEKDAY and part.endswith(AND):
        joined = _list(unit, part.removesuffix(AND))
        return joined if joined.starred else joined._replace(text=f"{joined.text}{AND}", starred=True)
    terms = [_term(unit, term) for term in part.split(",")]
    values = terms[0].values if len(terms) == 1 else tuple(sorted({value for term in terms for value in term.values}))
    bits = sum(map(POWERS.__getitem__, values))
    text = ",".join([term.text for term in terms])
    return CronField(text, values, bits, tuple([term.special for term in terms if term.special]), text.startswith("*"))


def _term(unit: CronUnit, text: str) -> CronTerm:
    """Read one element of a list."""
    special = _day_special(text) if unit is DAY else _weekday_special(text) if unit is WEEKDAY else None
    if special:
        return special
    base, slash, step_text = text.partition("/")
    step = _step(unit, step_text) if slash else 1
    suffix = f"/{step}" if slash else ""
    if base in ("*", "?"):
        return CronTerm(f"*{suffix}", tuple(range(unit.low, unit.high + 1, step)))
    first, dash, last = base.partition("-")
    low = _value(unit, first)
    if not dash:
        return CronTerm(_text(unit, first) + suffix, tuple(range(low, unit.high + 1, step)) if suffix else (low,))
    high = _value(unit, last)
    if high == low:  # CronSim would read 5-5/2 as 5/2
        return CronTerm(_text(unit, first), (low,))
    if high < low:
        return _wrapped(unit, low, high, step)
    return CronTerm(f"{_text(unit, first)}-{_text(unit, last)}{suffix}", tuple(range(low, high + 1, step)))


def _wrapped(unit: CronUnit, low: int, high: int, step: int) -> CronTerm:
    """A range over the end of its field, as two ranges that do not: FRI-MON, 22-2."""
    top = 6 if unit is WEEKDAY else unit.high
    values = tuple([*range(low, top + 1), *range(unit.low, high + 1)][::step])
    if step > 1:
        return CronTerm(",".join(map(str, values)), tuple(sorted(values)))
    return CronTerm(
        ",".join(f"{a}-{b}" if a < b else str(a) for a, b in ((low, top), (unit.low, high))), tuple(sorted(values))
    )


def _day_special(text: str) -> CronTerm | None:
    """`L`, `LW`, and the weekday nearest to a day: `15W` or, as croniter has it, `W15`."""
    if text in ("L", "LW"):
        return CronTerm(text, special=MonthDependentDay(text))
    if "W" in text and text.strip("W").isdigit() and text.count("W") == 1:
        day = _value(DAY, text.strip("W"))
        return CronTerm(f"{day}W", special=MonthDependentDay("W", day))
    return None


def _weekday_special(text: str) -> CronTerm | None:
    """The last such weekday of the month, `5L` or, as croniter has it, `L5`; and the nth, `5#2`."""
    if "#" in text:
        name, _, nth = text.partition("#")
        weekday, number = _value(WEEKDAY, name), _number(WEEKDAY, nth)
        if not 1 <= number <= 5:
            raise MalformedField(f"{WEEKDAY.name}: {text!r} must end in #1 to #5", text)
        return CronTerm(f"{weekday}#{number}", special=MonthDependentDay("#", weekday % 7, number))
    if len(text) > 1 and (text.endswith("L") or text.startswith("L")):
        weekday = _value(WEEKDAY, text[:-1] if text.endswith("L") else text[1:])
        return CronTerm(f"{weekday}L", special=MonthDependentDay("L", weekday % 7))
    return None


def _spread(unit: CronUnit, part: str, key: str) -> str:
    """Replace each `H`, `H(a-b)`, `H/n` and `H(a-b)/n` of a field."""
    if "H" not in part:
        return part
    if unit is WEEKDAY and part.endswith(AND):
        return f"{_spread(unit, part.removesuffix(AND), key)}{AND}"
    return ",".join(_chosen(unit, term, key) if term.startswith("H") else term for term in part.split(","))


def _chosen(unit: CronUnit, term: str, key: str) -> str:
    base, slash, step_text = term.partition("/")
    low, high = unit.low, unit.spread
    if base != "H":
        first, dash, last = base[2:-1].partition("-")
        if not (base.startswith("H(") and base.endswith(")") and dash):
            raise MalformedField(f"{unit.name}: {base!r} must be H or H(a-b)", base, "H")
        low, high = _value(unit, first), _value(unit, last)
        if high < low:
            raise MalformedField(f"{unit.name}: the range of {base!r} is empty", base, f"H({high}-{low})")
    step = _step(unit, step_text) if slash else high - low + 1
    digest = hashlib.blake2b(f"{unit.name}:{key}".encode(), digest_size=8).digest()
    start = low + int.from_bytes(digest) % min(step, high - low + 1)
    return f"{start}-{high}/{step}" if start + step <= high else str(start)


def _step(unit: CronUnit, text: str) -> int:
    if (step := _number(unit, text)) == 0:
        raise MalformedField(f"{unit.name}: a step must be at least 1", f"/{text}", "/1")
    return step


def _value(unit: CronUnit, text: str) -> int:
    if text in unit.names:
        return unit.names.index(text) + unit.low
    number = _number(unit, text)
    if not unit.low <= number <= unit.high:
        near = wrapped(number, unit.low, 6 if unit is WEEKDAY else unit.high)
        raise MalformedField(f"{unit.name}: {text!r} is not within {unit.low}-{unit.high}", text, near)
    return number


def _number(unit: CronUnit, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise MalformedField(f"{unit.name}: cannot read {text!r}", text, near_name(text, unit.names))
    return int(text)


def _text(unit: CronUnit, text: str) -> str:
    return text if text in unit.names else str(int(text))


STARS = {unit: _list(unit, "*") for unit in UNITS}
