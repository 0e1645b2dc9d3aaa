"""Monitors: when a ping is expected, and what a ping, a failure or silence makes of a monitor's status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from annotated_types import Interval

from foliot.core.declaration import OR_NULL, Described, Name, Parsed, as_given, declared, in_order, read_fields
from foliot.core.document import Complaints, Fields, check_object
from foliot.core.errors import Invalid
from foliot.core.time.trigger import FixedInterval, Trigger
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.trigger_document import TriggerContext, read_rule
from foliot.features.alerts.model.alert import AlertFinding, AlertSubject, SubjectKind, clipped
from foliot.features.alerts.model.rule import AlertEvent
from foliot.features.schedules.model.request import Tags

MONITOR = "mon"
"""Prefix of the ids of monitors."""
PING = "png"
MONITORS_TOPIC = "monitors"
"""Wakes readers of monitors."""
MOST_MONITORS = 500
PINGS_KEPT = 100
"""Pings of one monitor that are kept; older ones are deleted."""
MOST_BODY = 100_000
"""Bytes of a ping's body that are kept."""
PINGS_PER_MINUTE = 60
DEFAULT_GRACE = 300
LONGEST_GRACE = 31 * 86_400
SILENT_EVERY = timedelta(minutes=1)
"""A monitor that stays down is looked at as often, however many pings are expected of it."""
TICK = timedelta(microseconds=1)
_TIMED = ("cron_expr", "interval_seconds")


class MonitorStatus(StrEnum):
    """new until the first ping; late after the grace time, down after twice that time or a failure."""

    NEW = "new"
    UP = "up"
    LATE = "late"
    DOWN = "down"
    PAUSED = "paused"


class MonitorType(StrEnum):
    """How it is said when pings are expected."""

    CRON = "cron"
    INTERVAL = "interval"


class PingKind(StrEnum):
    """What a ping reports."""

    SUCCESS = "success"
    START = "start"
    FAIL = "fail"
    LOG = "log"


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """What a request says about a monitor."""

    name: str
    trigger: Trigger
    grace: timedelta
    tags: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As a request would say it."""
        rule = self.trigger.as_dict()
        timed = {name: rule[name] for name in ("type", *_TIMED, "timezone") if name in rule}
        grace = int(self.grace.total_seconds())
        return {"name": self.name, **timed, "grace_seconds": grace, "tags": list(self.tags)}

    def expected_after(self, moment: datetime) -> datetime | None:
        """When the next ping is expected: an interval counts from the last one."""
        rule = self.trigger.rule
        if isinstance(rule, FixedInterval):
            return moment + timedelta(seconds=rule.seconds)
        return self.trigger.next_after(moment)

    def passed(self, first: datetime, until: datetime) -> tuple[int, datetime]:
        """How many pings are expected from `first`, an expected time, up to and including `until`, and the last."""
        rule = self.trigger.rule
        if isinstance(rule, FixedInterval):
            step = timedelta(seconds=rule.seconds)
            more = (until - first) // step
            return more + 1, first + more * step
        (last,) = self.trigger.newest(first, until + TICK, 1)
        return self.trigger.count(first, until + TICK), last

    def newest(self, entry: LedgerEntry, limit: int) -> list[datetime]:
        """The newest expected times of an entry of the ledger."""
        return self.planned(entry.first).newest(entry.first, entry.last + TICK, min(limit, entry.count))

    def planned(self, first: datetime) -> Trigger:
        """The trigger whose times are those expected from `first` on, if each ping comes when it is expected."""
        return self.trigger.anchored(first) if isinstance(self.trigger.rule, FixedInterval) else self.trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMonitor:
    """A monitor of a tenant."""

    id: str
    tenant_id: str
    settings: MonitorSettings
    status: MonitorStatus
    created_by: str
    created_at: datetime
    updated_at: datetime
    key_of: str
    """The master key that its ping key is derived with."""
    last_ping_at: datetime | None = None
    last_duration_ms: int | None = None
    started_at: datetime | None = None
    """Since when its job runs, as far as it reports starts."""
    next_expected_at: datetime | None = None
    alert_at: datetime | None = None
    """When silence becomes an event, and `alert_as` which one: late first, then missed."""
    alert_as: AlertEvent | None = None
    gap_first: datetime | None = None
    """The first expected time that the present silence has missed."""
    pings: int = 0

    @property
    def subject(self) -> AlertSubject:
        return AlertSubject(SubjectKind.MONITOR, self.id, self.settings.name)

    def waiting_from(self, moment: datetime) -> JobMonitor:
        """The same, expecting its next ping as one that was pinged at this moment does."""
        expected = self.settings.expected_after(moment)
        if expected is None:
            return replace(self, next_expected_at=None, alert_at=None, alert_as=None)
        late = expected + self.settings.grace
        return replace(self, next_expected_at=expected, alert_at=late, alert_as=AlertEvent.LATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping:
    """One ping, with the end of its log."""

    id: str
    tenant_id: str
    monitor_id: str
    kind: PingKind
    at: datetime
    method: str
    exit_code: int | None = None
    duration_ms: int | None = None
    rid: str | None = None
    """The run that it belongs to, where a client names one: the start and the end of a run share it."""
    user_agent: str = ""
    body: str = ""
    body_bytes: int = 0
    """How many bytes were sent, also when fewer are kept."""
    expected_at: datetime | None = None
    """The expected time that it answers; None for a ping between two of them."""
    late: bool = False

    @property
    def began(self) -> datetime:
        """When its run started, as far as that was reported."""
        return self.at - timedelta(milliseconds=self.duration_ms or 0)


@dataclass(frozen=True, slots=True)
class PingExpectation:
    """A time at which a ping is expected: answered, late, failed, missed or planned."""

    at: datetime
    outcome: str
    ping_id: str | None = None

    @classmethod
    def of(cls, ping: Ping) -> PingExpectation:
        good = "late" if ping.late else "answered"
        outcome = "failed" if ping.kind is PingKind.FAIL else good
        return cls(ping.expected_at or ping.at, outcome, ping.id)


@dataclass(frozen=True, slots=True)
class ReceivedPing:
    """The monitor after a ping, the ping with the time that it answers, and what was missed before it."""

    monitor: JobMonitor
    ping: Ping
    missed: LedgerEntry | None = None


@dataclass(frozen=True, slots=True)
class Signal:
    """A ping as its request says it."""

    kind: PingKind
    method: str
    exit_code: int | None = None
    rid: str | None = None
    user_agent: str = ""
    body: bytes = field(default=b"", repr=False)
    body_bytes: int = 0

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace").replace("\x00", "�")


def signal_of(word: str) -> tuple[PingKind, int | None] | None:
    """What the last part of a ping's path says: nothing, start, fail, log or an exit code; None for another word."""
    if not word:
        return PingKind.SUCCESS, None
    if word in {"start", "fail", "log"}:
        return PingKind(word), None
    if word.isascii() and word.isdecimal() and len(word) <= 3 and int(word) <= 255:
        code = int(word)
        return (PingKind.FAIL if code else PingKind.SUCCESS), code
    return None


@declared
class MonitorRequest:
    """When pings are expected: by `cron_expr` in a time zone, or every `interval_seconds`."""

    name: Name
    type: Annotated[MonitorType, Parsed(as_given)]
    cron_expr: Annotated[str | None, Described({"examples": ["0 2 * * *"]}), Parsed(as_given)] = None
    interval_seconds: Annotated[int | None, Interval(ge=1), Parsed(as_given)] = None
    timezone: Annotated[str | None, Described({"examples": ["Europe/Stockholm"]}), Parsed(as_given)] = None
    grace_seconds: Annotated[int, Interval(ge=1, le=LONGEST_GRACE), OR_NULL] = DEFAULT_GRACE
    """How long after the expected time a ping may come."""
    tags: Annotated[Tags, OR_NULL] = ()


def read_monitor(
    raw: object, monitor_id: str, now: datetime, zone: str, known: MonitorSettings | None = None
) -> MonitorSettings:
    """Parse a monitor; with `known`, fields that are absent stay."""
    given = dict({} if raw is None else check_object("body", raw))
    if known is not None:
        kept = known.as_dict()
        if given.get("type", kept["type"]) != kept["type"] or any(name in given for name in _TIMED):
            kept = {name: value for name, value in kept.items() if name not in _TIMED}
        given = {**kept, **given}
    wrong = Complaints()
    asked = wrong.attempt(lambda: read_fields(MonitorRequest, given))
    context = TriggerContext(monitor_id, now, zone, None if known is None else known.trigger)
    trigger = wrong.attempt(lambda: _trigger(given, context))
    if wrong.found:
        Complaints(in_order(MonitorRequest, wrong.found)).speak()
    grace = timedelta(seconds=asked.get("grace_seconds", DEFAULT_GRACE))
    return MonitorSettings(asked["name"], trigger, grace, asked.get("tags", ()))


def _trigger(given: Mapping[str, Any], context: TriggerContext) -> Trigger:
    if given.get("type") not in list(MonitorType):
        raise Invalid("type", f"must be one of {', '.join(MonitorType)}", got=given.get("type"))
    trigger = Trigger(read_rule(Fields("", given), context, None))
    if trigger.next_after(context.now) is None:
        raise Invalid("cron_expr", "never fires", got=trigger.summary)
    return trigger


def received(monitor: JobMonitor, ping: Ping) -> ReceivedPing:
    """What a ping changes. A monitor that is paused only counts it."""
    now = ping.at
    seen = replace(monitor, last_ping_at=now, pings=monitor.pings + 1)
    if monitor.status is MonitorStatus.PAUSED:
        return ReceivedPing(seen, ping)
    match ping.kind:
        case PingKind.LOG:
            return ReceivedPing(seen, ping)
        case PingKind.START:
            return ReceivedPing(_started(replace(seen, started_at=now), now), ping)
        case PingKind.SUCCESS | PingKind.FAIL:
            status = MonitorStatus.UP if ping.kind is PingKind.SUCCESS else MonitorStatus.DOWN
            ended = replace(seen, status=status, started_at=None, gap_first=None, last_duration_ms=ping.duration_ms)
            answered, missed = _answer(monitor, ping)
            return ReceivedPing(ended.waiting_from(now), answered, missed)


def _answer(monitor: JobMonitor, ping: Ping) -> tuple[Ping, LedgerEntry | None]:
    """It answers the newest expected time that has passed; those before it were missed."""
    first, settings = monitor.next_expected_at, monitor.settings
    if first is None or first > ping.at:
        return ping, None
    count, last = settings.passed(first, ping.at)
    began = ping.at if monitor.started_at is None else monitor.started_at
    answered = replace(ping, expected_at=last, late=began > last + settings.grace)
    if count == 1:
        return answered, None
    _, before = settings.passed(first, last - TICK)
    return answered, no_ping(first, before, count - 1)


def no_ping(first: datetime, last: datetime, count: int) -> LedgerEntry:
    """Expected times without a ping."""
    return LedgerEntry(first, last, count, LedgerKind.MISSED, LedgerReason.NO_PING)


def _started(monitor: JobMonitor, now: datetime) -> JobMonitor:
    """A run that started must end within the grace time."""
    due = now + monitor.settings.grace
    if monitor.alert_as is AlertEvent.MISSED:
        return replace(monitor, alert_at=due)
    sooner = due if monitor.alert_at is None else min(due, monitor.alert_at)
    return replace(monitor, alert_at=sooner, alert_as=AlertEvent.LATE)


def finding_of(before: JobMonitor, ping: Ping, failed_at: Sequence[datetime] = ()) -> AlertFinding | None:
    """What alert rules are told about a ping: a failure, or that the monitor is up again."""
    name = before.settings.name
    if before.status is MonitorStatus.PAUSED:
        return None
    if ping.kind is PingKind.FAIL:
        code = "" if ping.exit_code is None else f" with exit code {ping.exit_code}"
        last = ping.body.strip().splitlines()[-1:] or [""]
        reason = clipped(f"It reported a failure{code}" + (f": {last[0]}" if last[0] else "."))
        return AlertFinding(
            before.tenant_id,
            (AlertEvent.FAILED,),
            before.subject,
            ping.at,
            clipped(f"{name} failed"),
            reason,
            failed_at=(*failed_at, ping.at),
        )
    if ping.kind is PingKind.SUCCESS and before.status in {MonitorStatus.LATE, MonitorStatus.DOWN}:
        events, summary = (AlertEvent.RECOVERED,), clipped(f"{name} is up again")
        return AlertFinding(
            before.tenant_id, events, before.subject, ping.at, summary, "It reported a success.", over=True
        )
    return None


@dataclass(frozen=True, slots=True)
class Overdue:
    """A monitor after `alert_at` has passed, what alert rules are told, and the expected times that are missed now."""

    monitor: JobMonitor
    finding: AlertFinding
    missed: LedgerEntry | None = None


def overdue(monitor: JobMonitor, now: datetime) -> Overdue:
    """Late first, then down; while it is down, each further expected time that passes is missed as well."""
    name, at = monitor.settings.name, monitor.alert_at or monitor.updated_at
    late = monitor.alert_as is AlertEvent.LATE
    missed = None
    if late:
        status = MonitorStatus.DOWN if monitor.status is MonitorStatus.DOWN else MonitorStatus.LATE
        changed = replace(monitor, status=status, alert_at=at + monitor.settings.grace, alert_as=AlertEvent.MISSED)
    else:
        changed, missed = _down(monitor, now)
    events = (AlertEvent.LATE if late else AlertEvent.MISSED,)
    summary = clipped(f"{name} is {'late' if late else 'down'}")
    finding = AlertFinding(monitor.tenant_id, events, monitor.subject, at, summary, _silence(monitor))
    return Overdue(changed, finding, missed)


def _down(monitor: JobMonitor, now: datetime) -> tuple[JobMonitor, LedgerEntry | None]:
    """It is down, and waits for the next expected time to pass, at most once a minute."""
    settings, following, missed = monitor.settings, monitor.next_expected_at, None
    if following is not None and following + 2 * settings.grace <= now:
        count, last = settings.passed(following, now - 2 * settings.grace)
        missed = no_ping(following, last, count)
        following = settings.expected_after(last)
    down = replace(
        monitor,
        status=MonitorStatus.DOWN,
        next_expected_at=following,
        gap_first=monitor.gap_first or (None if missed is None else missed.first),
        alert_at=None if following is None else max(following + 2 * settings.grace, now + SILENT_EVERY),
        alert_as=None if following is None else AlertEvent.MISSED,
    )
    return down, missed


def _silence(monitor: JobMonitor) -> str:
    seconds = int(monitor.settings.grace.total_seconds())
    if monitor.started_at is not None:
        return f"Its run began at {_shown(monitor.started_at)} and has not ended within its grace time of {seconds} s."
    if monitor.next_expected_at is None:
        return "No ping arrived."
    return f"No ping arrived: one was expected at {_shown(monitor.next_expected_at)}, with a grace time of {seconds} s."


def _shown(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
