"""The keys of the filter language with the values each accepts, for runs and for schedules."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from foliot.core.document import moment
from foliot.core.errors import Invalid
from foliot.core.queue_name import same_queue
from foliot.core.time.trigger import TriggerType
from foliot.core.time.zone_search import find_zone, search_zones
from foliot.engine.model.run import Origin, RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.features.filters.model.query import FIELD, TEXT, FilterQuery, FilterTerm, QueryToken, RawTerm, split
from foliot.features.webhooks.model import address

LATE = timedelta(seconds=60)
"""A run that starts so long after it was ready is late."""

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
    raise value.wrong(whole, f"is no {key}; must be one of {listed}", close[0] if close else None)


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
        rule = "must be so long ago (30m, 24h, 7d), a date (2026-11-14) or a time with its offset (2026-11-14T09:00Z)"
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
    raise value.wrong(whole, "is no time zone, such as Europe/Stockholm", near[0][0] if near else None)


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
        raise value.wrong(whole, "must be how long it took at least: 840ms, 4.2s, 5m or 1h")
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
