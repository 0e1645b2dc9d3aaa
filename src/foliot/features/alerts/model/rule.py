"""Alert rules: the events that open an alert, for which schedules, after how many, and whom to notify."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from enum import StrEnum
from typing import Annotated, Any, NotRequired
from zoneinfo import ZoneInfo

from annotated_types import Interval, MaxLen
from typing_extensions import TypedDict

from foliot.core.declaration import Described, Name, Parsed, Wire, declared, read
from foliot.core.document import Fields, check_integer, check_object
from foliot.core.duration import duration_between, shown_duration
from foliot.core.errors import Invalid
from foliot.core.time.zone import find_zone
from foliot.engine.model.run import FAILURES, RunState

RULE = "rul"
"""Prefix of the ids of alert rules."""
MOST_RULES = 100
MOST_IN_A_ROW = 100
MOST_COUNT = 1000
LONGEST_WINDOW = timedelta(days=7)
SHORTEST_REMINDER = timedelta(minutes=5)
LONGEST_REMINDER = timedelta(days=30)
LONGEST_SNOOZE = timedelta(days=30)
LONGEST_PREVIEW = timedelta(days=30)
LATE_AFTER = timedelta(minutes=1)
LONGEST_LATENESS = timedelta(days=1)
LONGEST_RUN = timedelta(days=7)
MOST_TO = 50
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


class AlertEvent(StrEnum):
    """What can open an alert."""

    FAILED = "failed"
    DEAD_LETTER = "dead_letter"
    LATE = "late"
    MISSED = "missed"
    SLOW = "slow"
    DEGRADED = "degraded"
    CHANGED = "changed"
    RECOVERED = "recovered"
    FINISHED = "finished"
    QUEUE_STUCK = "queue_stuck"
    WORKER_LOST = "worker_lost"
    NODE_SILENT = "node_silent"


OF_ENDINGS = frozenset(
    {AlertEvent.FAILED, AlertEvent.DEAD_LETTER, AlertEvent.DEGRADED, AlertEvent.RECOVERED, AlertEvent.FINISHED}
)
"""Events that the end of a run causes."""
OVER_BY_SUCCESS = OF_ENDINGS | {AlertEvent.LATE, AlertEvent.MISSED, AlertEvent.SLOW}
"""Events whose alerts the next success resolves."""
OF_CHECKS = frozenset(
    {
        AlertEvent.LATE,
        AlertEvent.MISSED,
        AlertEvent.SLOW,
        AlertEvent.QUEUE_STUCK,
        AlertEvent.WORKER_LOST,
        AlertEvent.NODE_SILENT,
    }
)
"""Events that a regular check finds."""
COUNTED: Mapping[AlertEvent, frozenset[RunState]] = {
    AlertEvent.FAILED: FAILURES,
    AlertEvent.DEAD_LETTER: frozenset({RunState.DEAD_LETTER}),
    AlertEvent.DEGRADED: frozenset({RunState.PARTIAL, RunState.DEGRADED}),
}
"""Events that a rule's threshold counts, and the states of the runs that cause them."""


class AlertSeverity(StrEnum):
    """How urgent an alert is."""

    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Threshold:
    """How many failures open an alert: in a row, or within a time."""

    in_a_row: int = 1
    count: int | None = None
    within: timedelta | None = None

    def as_dict(self) -> dict[str, Any]:
        if self.count is not None and self.within is not None:
            return {"count": self.count, "within": shown_duration(self.within)}
        return {"in_a_row": self.in_a_row}


@dataclass(frozen=True, slots=True)
class QuietHours:
    """A daily time in which nothing is sent; what opens meanwhile is sent when it is over."""

    start: time
    end: time
    zone: str

    def ends(self, now: datetime) -> datetime | None:
        """When the quiet time that `now` lies in is over; None when it lies in none."""
        local = now.astimezone(ZoneInfo(self.zone))
        clock, overnight = local.time(), self.start > self.end
        quiet = clock >= self.start or clock < self.end if overnight else self.start <= clock < self.end
        if not quiet:
            return None
        day = local.date() + timedelta(days=1 if overnight and clock >= self.start else 0)
        return datetime.combine(day, self.end, ZoneInfo(self.zone)).astimezone(now.tzinfo)

    def as_dict(self) -> dict[str, str]:
        return {"from": f"{self.start:%H:%M}", "to": f"{self.end:%H:%M}", "timezone": self.zone}


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """What a request says about a rule."""

    name: str
    on: tuple[AlertEvent, ...]
    filter: str = ""
    after: Threshold = Threshold()
    late_after: timedelta = LATE_AFTER
    slow_after: timedelta | None = None
    remind_every: timedelta | None = None
    quiet: QuietHours | None = None
    severity: AlertSeverity = AlertSeverity.WARNING
    to: tuple[str, ...] = ()
    enabled: bool = True

    @property
    def counted(self) -> frozenset[RunState]:
        """The final states that its threshold counts."""
        return frozenset(state for event in self.on for state in COUNTED.get(event, ()))

    def as_dict(self) -> dict[str, Any]:
        """As a request would say it."""
        return {
            "name": self.name,
            "on": [event.value for event in self.on],
            "filter": self.filter,
            "after": self.after.as_dict(),
            "late_after": shown_duration(self.late_after),
            "slow_after": None if self.slow_after is None else shown_duration(self.slow_after),
            "remind_every": None if self.remind_every is None else shown_duration(self.remind_every),
            "quiet": None if self.quiet is None else self.quiet.as_dict(),
            "severity": self.severity.value,
            "to": list(self.to),
            "enabled": self.enabled,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRuleRecord:
    """A rule of a tenant; `schedule_id` names the schedule whose document declares it."""

    id: str
    tenant_id: str
    settings: RuleSettings
    created_by: str
    created_at: datetime
    updated_at: datetime
    schedule_id: str | None = None

    def wants(self, *events: AlertEvent) -> AlertEvent | None:
        """The first of these events that it is about."""
        return next((event for event in events if event in self.settings.on), None)


def _threshold(path: str, raw: object) -> Threshold:
    """A number, `{"in_a_row": 3}` or `{"count": 5, "within": "1h"}`."""
    if not isinstance(raw, Mapping):
        return Threshold(check_integer(path, raw, low=1, high=MOST_IN_A_ROW))
    asked = read(AfterThreshold, raw, path)
    if asked.count is None and asked.within is None:
        return Threshold(asked.in_a_row or 1)
    if asked.in_a_row is not None:
        raise Invalid(path, "takes in_a_row, or count with within, but not both")
    if asked.count is None or asked.within is None:
        missing = "count" if asked.count is None else "within"
        raise Invalid(f"{path}.{missing}", 'is required, as in {"count": 5, "within": "1h"}')
    return Threshold(1, asked.count, asked.within)


def _events(path: str, raw: object) -> tuple[AlertEvent, ...]:
    listed = [raw] if isinstance(raw, str) else raw
    if not isinstance(listed, list) or not listed:
        raise Invalid(path, f"must be a list of events: {', '.join(AlertEvent)}", got=raw)
    return tuple(dict.fromkeys(_event(path, each) for each in listed))


def _event(path: str, text: object) -> AlertEvent:
    try:
        return AlertEvent(text)  # type: ignore[arg-type]
    except ValueError:
        close = difflib.get_close_matches(str(text)[:100], list(AlertEvent), n=1)
        hint = f"; did you mean {str(close[0])!r}?" if close else ""
        raise Invalid(path, f"must be events of {', '.join(AlertEvent)}{hint}", got=text) from None


def _channels(path: str, raw: object) -> tuple[str, ...]:
    listed = [raw] if isinstance(raw, str) else raw
    if (
        not isinstance(listed, list)
        or len(listed) > MOST_TO
        or not all(isinstance(each, str) and each for each in listed)
    ):
        raise Invalid(path, f"must be a list of at most {MOST_TO} channels, by name or id", got=raw)
    return tuple(dict.fromkeys(listed))


def _quiet(path: str, raw: object) -> QuietHours:
    fields = Fields.of(path, raw)
    start, end = (_clock(fields, name) for name in ("from", "to"))
    text = fields.text("timezone", "", most=64)
    found = find_zone(text) if text else ""
    fields.finish()
    if found is None:
        raise Invalid(f"{path}.timezone", "must be a time zone such as Europe/Stockholm", got=text)
    if start == end:
        raise Invalid(path, "must end at another time than it starts")
    return QuietHours(start, end, found)


def _clock(fields: Fields, name: str) -> time:
    text = fields.text(name, "", most=5)
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise Invalid(fields.path(name), "must be a time of day such as 22:00", got=text)
    return time(int(found[1]), int(found[2]))


Duration = Annotated[str, Described({"examples": ["15m", "4h", "7d"]})]
"""As a client writes it."""
QuietTimes = TypedDict("QuietTimes", {"from": str, "to": str, "timezone": NotRequired[str]})


@declared
class AfterThreshold:
    """`{"in_a_row": 3}`, or `{"count": 5, "within": "1h"}`."""

    in_a_row: Annotated[int, Interval(ge=1, le=MOST_IN_A_ROW)] | None = None
    count: Annotated[int, Interval(ge=1, le=MOST_COUNT)] | None = None
    within: Annotated[
        timedelta | None, Parsed(duration_between(timedelta(minutes=1), LONGEST_WINDOW)), Wire(Duration | None)
    ] = None


@declared
class AlertRuleRequest:
    """What opens an alert, for which schedules, after how many failures, and whom to notify."""

    name: Name
    on: Annotated[tuple[AlertEvent, ...], Parsed(_events), Wire(list[AlertEvent])]
    filter: Annotated[str, MaxLen(1000)] = ""
    """A filter of schedules; empty is everything."""
    after: Annotated[Threshold, Parsed(_threshold), Wire(AfterThreshold | int)] = field(default_factory=Threshold)
    """How many failures open an alert: in a row, or within a time."""
    late_after: Annotated[timedelta, Parsed(duration_between(LATE_AFTER, LONGEST_LATENESS)), Wire(Duration)] = (
        LATE_AFTER
    )
    """How long a schedule must be overdue to be `late`."""
    slow_after: Annotated[
        timedelta | None, Parsed(duration_between(timedelta(minutes=1), LONGEST_RUN)), Wire(Duration | None)
    ] = None
    """How long a run may take before it is `slow`; required for that event."""
    remind_every: Annotated[
        timedelta | None, Parsed(duration_between(SHORTEST_REMINDER, LONGEST_REMINDER)), Wire(Duration | None)
    ] = None
    quiet: Annotated[QuietHours | None, Parsed(_quiet), Wire(QuietTimes | None)] = None
    """A daily time in which nothing is sent."""
    severity: AlertSeverity = AlertSeverity.WARNING
    to: Annotated[tuple[str, ...], Parsed(_channels), Wire(list[str])] = field(default_factory=tuple)
    """Channels, by name or id."""
    enabled: bool = True


@declared
class AlertRulePreviewRequest(AlertRuleRequest):
    """A rule, and how far to look back."""

    name: Name = "preview"
    over: Annotated[timedelta, Parsed(duration_between(timedelta(minutes=1), LONGEST_PREVIEW)), Wire(Duration)] = field(
        default_factory=lambda: timedelta(days=7)
    )


@declared
class SnoozeRequest:
    """How long no reminder is sent."""

    for_: Annotated[timedelta, Parsed(duration_between(timedelta(minutes=1), LONGEST_SNOOZE)), Wire(Duration)]


def read_rule(raw: object, known: RuleSettings | None = None, *, zone: str = "UTC") -> RuleSettings:
    """Parse a rule; with `known`, fields that are absent stay."""
    if known is not None:
        raw = {**known.as_dict(), **check_object("", raw)} if raw is not None else known.as_dict()
    return settings_of(read(AlertRuleRequest, raw), zone)


def settings_of(asked: AlertRuleRequest, zone: str = "UTC") -> RuleSettings:
    """The rule that a request asks for; quiet hours without a zone are in this one."""
    quiet = asked.quiet
    if quiet is not None and not quiet.zone:
        quiet = replace(quiet, zone=zone)
    return RuleSettings(
        name=asked.name,
        on=asked.on,
        filter=asked.filter.strip(),
        after=asked.after,
        late_after=asked.late_after,
        slow_after=asked.slow_after,
        remind_every=asked.remind_every,
        quiet=quiet,
        severity=asked.severity,
        to=asked.to,
        enabled=asked.enabled,
    )
