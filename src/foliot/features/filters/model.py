"""The filter language: terms, keys with the values each accepts, and the results of counting."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from foliot.core.document import moment
from foliot.core.errors import Invalid
from foliot.core.queue_name import same_queue
from foliot.core.time.trigger import TriggerType
from foliot.core.time.zone import find_zone, search_zones
from foliot.engine.model.run import Origin, RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.features.webhooks.model import address

FIELD = "q"
MOST_CHARACTERS = 1000
MOST_TERMS = 30
MOST_VALUES = 50
TEXT = "text"
"""The key of words without one."""

_KEYED = re.compile(r"([A-Za-z_]+):")


@dataclass(frozen=True, slots=True)
class FilterTerm:
    """One condition: the key's value is one of these, or, negated, none of them."""

    key: str
    values: tuple[str, ...] = ()
    negated: bool = False
    at: datetime | None = None
    """The time of `since` and `until`."""


EXACT_CODE = "exact_code"
"""An error's whole code; `code`, which people type, is the beginning of one."""
UNANSWERED = (FilterTerm("state", (RunState.DEAD_LETTER.value,)), FilterTerm("resolved", ("true",), negated=True))
"""Unresolved dead letters."""
REPLAYABLE = (*UNANSWERED, FilterTerm("replaying", ("true",), negated=True))
"""Those without an open replay: replaying all of them does not repeat one that is being replayed."""


@dataclass(frozen=True, slots=True)
class FilterQuery:
    """A conjunction of terms."""

    terms: tuple[FilterTerm, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms)

    def also(self, *terms: FilterTerm) -> FilterQuery:
        """The same with further terms."""
        return FilterQuery((*self.terms, *terms))

    def of(self, key: str) -> list[FilterTerm]:
        return [term for term in self.terms if term.key == key]


@dataclass(frozen=True, slots=True)
class QueryToken:
    """A part of the text, with its position."""

    text: str
    start: int
    end: int

    def wrong(self, whole: str, message: str, better: str | None = None) -> Invalid:
        """An error at this position; `better` is a suggested replacement."""
        meant = None if better is None else f"{whole[: self.start]}{better}{whole[self.end :]}".strip()
        return Invalid(FIELD, message, got=self.text[:100], position=(self.start, self.end), suggestion=meant)


@dataclass(frozen=True, slots=True)
class RawTerm:
    """A term whose key and values are not validated yet."""

    key: QueryToken | None
    values: Sequence[QueryToken]
    negated: bool
    whole: QueryToken


def split(text: str) -> list[RawTerm]:
    """The terms of a filter, as typed."""
    if len(text) > MOST_CHARACTERS:
        raise Invalid(FIELD, f"must be at most {MOST_CHARACTERS} characters", got=f"{len(text)} characters")
    if "\x00" in text:
        at = text.index("\x00")
        raise Invalid(FIELD, "must not contain the character U+0000", position=(at, at + 1))
    terms = [_raw(text, piece) for piece in _parts(text, 0, len(text), blank=True)]
    if len(terms) > MOST_TERMS:
        raise terms[MOST_TERMS].whole.wrong(text, f"is one condition too many: a filter has at most {MOST_TERMS}")
    return terms


def _raw(text: str, piece: QueryToken) -> RawTerm:
    negated = piece.text.startswith("-") and len(piece.text) > 1
    start = piece.start + negated
    keyed = _KEYED.match(text, start, piece.end)
    if keyed is None:
        return RawTerm(None, [_bare(text, start, piece.end)], negated, piece)
    key = QueryToken(keyed[1], start, start + len(keyed[1]))
    values = [_bare(text, one.start, one.end) for one in _parts(text, keyed.end(), piece.end, blank=False)]
    values = [value for value in values if value.text]
    if not values:
        raise piece.wrong(text, f"needs a value after {keyed[0]!r}")
    if len(values) > MOST_VALUES:
        raise values[MOST_VALUES].wrong(text, f"is one value too many: a key takes at most {MOST_VALUES}")
    return RawTerm(key, values, negated, piece)


def _bare(text: str, start: int, end: int) -> QueryToken:
    return QueryToken(text[start:end].replace('"', "").strip(), start, end)


def _parts(text: str, start: int, end: int, *, blank: bool) -> Iterator[QueryToken]:
    """Splits at blanks, or at commas; never inside quotes."""
    begun, quoted = start, -1
    for at in range(start, end):
        char = text[at]
        if char == '"':
            quoted = at if quoted < 0 else -1
        elif quoted < 0 and (char.isspace() if blank else char == ","):
            if at > begun:
                yield QueryToken(text[begun:at], begun, at)
            begun = at + 1
    if quoted >= 0:
        raise QueryToken(text[quoted:end], quoted, end).wrong(
            text, "is a quote that is never closed", f'{text[quoted:end]}"'
        )
    if end > begun:
        yield QueryToken(text[begun:end], begun, end)


UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGO = re.compile(r"(\d{1,6})([smhdw])")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HEX = re.compile(r"[0-9a-f]{1,16}")
_SAME = {"dead": RunState.DEAD_LETTER.value, "succeeded": RunState.SUCCESS.value, "canceled": RunState.CANCELLED.value}
FLAGS = ("late", "resolved", "muted", "failing", "repeated", "test")
MOMENTS = ("since", "until")


@dataclass(frozen=True, slots=True)
class FilterGrammar:
    """The allowed keys, each with its allowed values; None: any text."""

    keys: Mapping[str, Collection[str] | None]
    same: Mapping[str, str] = field(default_factory=dict)
    """Aliases of keys."""

    def read(self, text: str, now: datetime, field: str = FIELD) -> FilterQuery:
        """Parses a filter; `Invalid` names the field and the position of the error."""
        try:
            return FilterQuery(tuple(self._term(text, raw, now) for raw in split(text)))
        except Invalid as wrong:
            wrong.field = field
            raise

    def _term(self, whole: str, raw: RawTerm, now: datetime) -> FilterTerm:
        if raw.key is None:
            return FilterTerm(TEXT, tuple(value.text for value in raw.values), raw.negated)
        key = self._key(whole, raw)
        if key in MOMENTS:
            return _bound(whole, key, raw, now)
        if key in FLAGS:
            return _flag(whole, key, raw)
        words = self.keys[key]
        values = tuple(_value(whole, key, value, words) for value in raw.values)
        return FilterTerm(key, values, raw.negated)

    def _key(self, whole: str, raw: RawTerm) -> str:
        assert raw.key is not None  # noqa: S101 -- only called for terms with a key
        given = raw.key.text.lower()
        key = self.same.get(given, given)
        if key in self.keys:
            return key
        close = difflib.get_close_matches(given, [*self.keys, *self.same], n=1)
        better = close[0] if close else None
        hint = (
            f"did you mean {better!r}? Known are" if better else "put it in quotes to search for it as text; known are"
        )
        raise raw.key.wrong(whole, f"is not a key; {hint} {', '.join(self.keys)}", better)


def _value(whole: str, key: str, value: QueryToken, words: Collection[str] | None) -> str:
    reader = _READERS.get(key)
    given = reader(whole, value) if reader else value.text
    if words is None:
        return given
    if given.lower() in words:
        return given.lower()
    if (same := _SAME.get(given.lower())) in words:
        return str(same)
    close = difflib.get_close_matches(given.lower(), sorted(words), n=1)
    listed = ", ".join(sorted(words)) if len(words) <= 12 else "those that /api/suggest lists"
    raise value.wrong(whole, f"is not a {key}; must be one of {listed}", close[0] if close else None)


def _bound(whole: str, key: str, raw: RawTerm, now: datetime) -> FilterTerm:
    if raw.negated or len(raw.values) > 1:
        raise raw.whole.wrong(whole, f"takes one time, as in {key}:24h")
    (value,) = raw.values
    return FilterTerm(key, at=_moment(whole, value, now))


def _moment(whole: str, value: QueryToken, now: datetime) -> datetime:
    """A duration before now, a date (its start in UTC), or a time with its offset."""
    if ago := _AGO.fullmatch(value.text):
        try:
            return moment("q", now - timedelta(seconds=int(ago[1]) * UNITS[ago[2]]))
        except (Invalid, OverflowError):
            raise value.wrong(whole, "is too long ago") from None
    try:
        if _DATE.fullmatch(value.text):
            return moment("q", datetime.fromisoformat(value.text).replace(tzinfo=UTC))
        return moment("q", value.text.upper())
    except (Invalid, ValueError):
        rule = "must be an age (30m, 24h, 7d), a date (2026-11-14) or a time with its offset (2026-11-14T09:00Z)"
        better = f"{value.text}Z" if re.fullmatch(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d)?", value.text) else None
        raise value.wrong(whole, rule, better) from None


def _flag(whole: str, key: str, raw: RawTerm) -> FilterTerm:
    (value,) = raw.values if len(raw.values) == 1 else (raw.whole,)
    given = value.text.lower()
    if given not in {"true", "false", "yes", "no"}:
        raise value.wrong(whole, "must be true or false", "true" if value is not raw.whole else f"{key}:true")
    return FilterTerm(key, ("true",), raw.negated == (given in {"true", "yes"}))


def _hex(whole: str, value: QueryToken) -> str:
    if not _HEX.fullmatch(value.text.lower()):
        raise value.wrong(whole, "must be the beginning of a fingerprint: up to 16 of the characters 0-9 and a-f")
    return value.text.lower()


def _zone(whole: str, value: QueryToken) -> str:
    if found := find_zone(value.text):
        return found
    near = search_zones(value.text, 1)
    raise value.wrong(whole, "is not a time zone, such as Europe/Stockholm", near[0][0] if near else None)


def _target(whole: str, value: QueryToken) -> str:
    """Without the parts that an address leaves out: user, password, query."""
    if target := address(value.text):
        return target
    better = f"https://{value.text}" if re.fullmatch(r"[\w.-]+\.\w+(/\S*)?", value.text) else None
    raise value.wrong(whole, "must be the address of a webhook, such as https://example.com/hook", better)


def _took(whole: str, value: QueryToken) -> str:
    """In milliseconds."""
    match = _DURATION.fullmatch(value.text.lower())
    if match is None:
        raise value.wrong(whole, "must be a minimum duration: 840ms, 4.2s, 5m or 1h")
    return str(round(float(match[1]) * _MILLISECONDS[match[2]]))


_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)")
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}

_READERS: Mapping[str, Callable[[str, QueryToken], str]] = {
    "fingerprint": _hex,
    "took": _took,
    "target": _target,
    "zone": _zone,
    "queue": lambda _, value: same_queue(value.text),
    "id": lambda _, value: value.text.lower(),
}


def of_runs(kinds: Collection[str]) -> FilterGrammar:
    """The filter grammar of runs."""
    return FilterGrammar(
        {
            "state": [state.value for state in RunState],
            "kind": kinds,
            "schedule": None,
            "queue": None,
            "since": None,
            "until": None,
            "origin": [origin.value for origin in Origin],
            "id": None,
            "tag": None,
            "fingerprint": None,
            "code": None,
            "worker": None,
            "parent": None,
            "late": None,
            "took": None,
            "resolved": None,
            "muted": None,
            "repeated": None,
            "test": None,
            "target": None,
        },
        {"status": "state", "error": "code", "schedule_id": "schedule"},
    )


def of_schedules(kinds: Collection[str]) -> FilterGrammar:
    """The filter grammar of schedules."""
    return FilterGrammar(
        {
            "status": [status.value for status in ScheduleStatus],
            "type": [type_.value for type_ in TriggerType],
            "kind": kinds,
            "tag": None,
            "queue": None,
            "zone": None,
            "failing": None,
            "target": None,
            "name": None,
            "id": None,
        },
        {"state": "status", "timezone": "zone", "schedule": "name"},
    )


@dataclass(frozen=True, slots=True)
class BucketWindow:
    """A time range [start, end) in buckets of one width; the last may be shorter."""

    start: datetime
    end: datetime
    width: timedelta

    @property
    def buckets(self) -> int:
        return -((self.start - self.end) // self.width)


@dataclass(frozen=True, slots=True)
class StateCount:
    """How many runs of one bucket are in one state."""

    bucket: int
    state: RunState
    count: int


@dataclass(frozen=True, slots=True)
class TimingCount:
    """How many runs of one bucket have about the same duration and lateness."""

    bucket: int
    late: bool
    took_ms: int | None
    """Rounded to two digits; None for a run that has not ended, or never began."""
    count: int


@dataclass(frozen=True, slots=True)
class RunColumns:
    """Runs that have begun, column by column; in no order."""

    ids: Sequence[str] = ()
    at_ms: Sequence[int] = ()
    """Milliseconds from the start of the window to its creation."""
    took_ms: Sequence[int] = ()
    """For a running one, so far."""
    states: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion of what was typed."""

    field: str
    value: str
    label: str
    hint: str = ""
