"""A schedule: what to do, when, and under which policies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Literal

import orjson
from annotated_types import Interval, MaxLen, MinLen

from foliot.core.declaration import OR_NULL, Described, Parsed, Wire, declared, read, read_fields
from foliot.core.document import check_integer, check_label
from foliot.core.errors import Invalid
from foliot.core.queue_name import DEFAULT_QUEUE, Priority, Queue
from foliot.core.time.business_days import Shift
from foliot.core.time.resolved_calendar import MOST_ENTRIES, ResolvedCalendar, TimeEntry, read_entries
from foliot.core.time.trigger import After, Cron, FixedInterval, OneOff, Trigger, TriggerType
from foliot.engine.model.outcome import RetryField, RetryPolicy
from foliot.engine.model.restrictions import Restriction
from foliot.engine.model.run import DEFAULT_PRIORITY

MAX_WINDOW = 30 * 24 * 3600
MAX_GRACE = 3600
MAX_CATCHUP = 1000
MAX_TIMEOUT = 7 * 24 * 3600
MAX_JITTER = 24 * 3600
MAX_RUNS = 2**31 - 1
MAX_FAILURES = 100
"""Failures in a row that a rule can wait for."""
MAX_CHANNELS = 50
GRACE = 60
"""Default of `grace_seconds`, where the window is no shorter."""
BUFFER = 100
"""How many runs of one schedule `buffer_all` lets wait."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ScheduleStatus(StrEnum):
    """Whether a schedule fires."""

    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    DELETED = "deleted"


class ManagedBy(StrEnum):
    """Where a schedule is managed. One from a file is edited there; the others by any client."""

    API = "api"
    CODE = "code"
    PRESET = "preset"
    FILE = "file"


FROM_FILE = f"{ManagedBy.FILE.value}:"
"""Precedes the name of the file in `managed_by` of a schedule that `foliot apply` manages."""


class Overlap(StrEnum):
    """What happens when an instant comes due while an earlier run is still open."""

    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    BUFFER_ALL = "buffer_all"
    CANCEL_OTHER = "cancel_other"
    TERMINATE_OTHER = "terminate_other"
    ALLOW_ALL = "allow_all"


class CatchupMode(StrEnum):
    """The policy for instants that passed while no scheduler was running."""

    NONE = "none"
    LATEST = "latest"
    ALL = "all"


_GRACE = Described({"description": "Instants less late than this always run."})


@dataclass(frozen=True, slots=True)
class Catchup:
    """Late is not missed: less than `grace_seconds` late always runs; older instants are judged by `mode`."""

    mode: CatchupMode = CatchupMode.LATEST
    window_seconds: Annotated[int, Interval(ge=1, le=MAX_WINDOW)] = 3600
    max_runs: Annotated[int, Interval(ge=1, le=MAX_CATCHUP)] = 10
    grace_seconds: Annotated[int, Interval(ge=1, le=MAX_GRACE), _GRACE] = GRACE

    def as_dict(self) -> dict[str, Any]:
        return {
            "mode": self.mode.value,
            "window_seconds": self.window_seconds,
            "max_runs": self.max_runs,
            "grace_seconds": self.grace_seconds,
        }

    @classmethod
    def from_dict(cls, raw: object) -> Catchup:
        given = read_fields(Catchup, raw, "catchup")
        catchup = Catchup(**given)
        window = catchup.window_seconds
        if "grace_seconds" not in given:
            return replace(catchup, grace_seconds=min(GRACE, window))
        check_integer("catchup.grace_seconds", catchup.grace_seconds, 1, min(MAX_GRACE, window))
        return catchup


@declared(frozen=True)
class CatchupSettings(Catchup):
    """What happens to instants that passed while no scheduler was running."""


def _channels(path: str, got: object) -> tuple[str, ...]:
    listed = [got] if isinstance(got, str) else got
    if not isinstance(listed, list | tuple) or not 1 <= len(listed) <= MAX_CHANNELS:
        raise Invalid(path, f"must be a list of 1 to {MAX_CHANNELS} channels, by name or id", got=got)
    return tuple(dict.fromkeys(check_label(f"{path}[{place}]", each) for place, each in enumerate(listed)))


@declared(frozen=True)
class ScheduleAlert:
    """The short form of an alert rule: notifies channels of failures in a row, and of the recovery."""

    after: Annotated[int, Interval(ge=1, le=MAX_FAILURES)] = 1
    """How many failures in a row open an alert."""
    to: Annotated[tuple[str, ...], Parsed(_channels), Wire(Annotated[list[str], MinLen(1), MaxLen(MAX_CHANNELS)])]
    """Channels, by name or id."""

    def as_dict(self) -> dict[str, Any]:
        return {"after": self.after, "to": list(self.to)}


CatchupField = Annotated[Catchup, Wire(CatchupSettings | None), Parsed(lambda _, got: Catchup.from_dict(got))]
"""The catch-up policy of a request or of a stored spec."""


@declared
class ExcludedHours:
    """Times of day, every day or on some weekdays; without times, whole weekdays."""

    from_: Annotated[str | None, MaxLen(8), Described({"examples": ["22:00"]})] = None
    to: Annotated[str | None, MaxLen(8), Described({"examples": ["06:00"]})] = None
    """Before this time; the next day, where it is not later than `from`."""
    days: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]] | None = None
    """The weekdays on which they begin."""


_ENTRIES = Wire(Annotated[list[str | ExcludedHours], MaxLen(MOST_ENTRIES)])
_EXCLUDE = Described(
    {
        "description": "When it does not run: calendars, dates, ranges of dates, times of day.",
        "examples": [["calendar:SE", "2027-01-01/2027-01-06", {"from": "22:00", "to": "06:00"}]],
    }
)
_ONLY = Described({"description": "The only times when it runs, in the same form; empty: always."})
_SHIFT = Described({"description": "Move what falls on a weekend or an excluded day to a business day."})


@dataclass(frozen=True, kw_only=True)
class TimeRestrictions:
    """When a schedule does not run, although its trigger names the time."""

    __slots__ = ()

    exclude: Annotated[tuple[TimeEntry, ...], _ENTRIES, _EXCLUDE, Parsed(read_entries), OR_NULL] = ()
    only: Annotated[tuple[TimeEntry, ...], _ENTRIES, _ONLY, Parsed(read_entries), OR_NULL] = ()
    shift: Annotated[Shift, _SHIFT, OR_NULL] = Shift.NONE


@dataclass(frozen=True, kw_only=True)
class SchedulePolicies(TimeRestrictions):
    """What a schedule has beside its trigger, action and retries.

    Requests, the stored spec, gRPC messages and pipeline files take these fields from here: a new one is declared here,
    and in the answer (`features/schedules/schema.py`).
    """

    __slots__ = ()

    overlap: Annotated[Overlap, OR_NULL] = Overlap.SKIP
    catchup: CatchupField = field(default_factory=Catchup)
    queue: Queue = DEFAULT_QUEUE
    priority: Annotated[Priority, Described({"description": "1 is most urgent."})] = DEFAULT_PRIORITY
    timeout_seconds: Annotated[int | None, Interval(ge=1, le=MAX_TIMEOUT)] = None
    jitter_seconds: Annotated[int, Interval(ge=0, le=MAX_JITTER), OR_NULL] = 0
    max_runs: Annotated[int | None, Interval(ge=1, le=MAX_RUNS)] = None
    alert: ScheduleAlert | None = None

    def policies(self) -> dict[str, Any]:
        """As fields of a document."""
        values = {name: getattr(self, name) for name in POLICIES}
        alert = None if self.alert is None else self.alert.as_dict()
        times = {"exclude": list(self.exclude), "only": list(self.only), "shift": self.shift.value}
        return values | {"overlap": self.overlap.value, "catchup": self.catchup.as_dict(), "alert": alert} | times


POLICIES = tuple(each.name for each in fields(SchedulePolicies))
"""Their names."""


def _stored_trigger(_path: str, got: Any) -> Trigger:
    if isinstance(got, Mapping) and got.get("type") == TriggerType.INTERVAL:
        got = {**got, "anchor": _EPOCH.isoformat()}
    return Trigger.from_dict(got)


def _stored_calendars(path: str, got: Any) -> dict[str, ResolvedCalendar]:
    if not isinstance(got, Mapping):
        raise Invalid(path, "must be an object", got=got)
    return {name: ResolvedCalendar.from_dict(name, raw) for name, raw in got.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSpec(SchedulePolicies):
    """Everything the engine needs to fire a schedule; one version of it never changes.

    It holds the dates of the calendars that it names: firing, and the proof of the ledger, look nothing up.
    """

    trigger: Annotated[Trigger, Parsed(_stored_trigger)]
    kind: Annotated[str, MaxLen(64)]
    retry: RetryField = field(default_factory=RetryPolicy)
    calendars: Annotated[Mapping[str, ResolvedCalendar], Parsed(_stored_calendars)] = field(default_factory=dict)

    @property
    def restriction(self) -> Restriction:
        return Restriction(self.exclude, self.only, self.shift, self.calendars)

    def restricted(self) -> ScheduleSpec:
        """With the trigger as its restriction has it."""
        restriction = self.restriction
        return self if restriction.empty else replace(self, trigger=restriction.applied(self.trigger))

    @property
    def type(self) -> TriggerType:
        match self.trigger.rule:
            case Cron():
                return TriggerType.CRON
            case FixedInterval():
                return TriggerType.INTERVAL
            case OneOff():
                return TriggerType.ONEOFF
            case After():
                return TriggerType.AFTER

    def ready_at(self, schedule_id: str, instant: datetime) -> datetime:
        """The instant, moved by jitter: the same on every node, for it hangs on the schedule and the instant alone."""
        if not self.jitter_seconds:
            return instant
        digest = hashlib.blake2b(f"{schedule_id}:{instant.isoformat()}".encode(), digest_size=8).digest()
        return instant + timedelta(seconds=self.jitter_seconds * int.from_bytes(digest) / 2**64)

    def dump(self) -> str:
        """The stored form. The anchor of an interval is kept beside it, so that like schedules share one text."""
        trigger = self.trigger.as_dict()
        trigger.pop("anchor", None)
        raw = {"trigger": trigger, "kind": self.kind, "retry": self.retry.as_dict(), **self.policies()}
        # A process of an earlier version refuses fields that it does not know.
        for name in ("alert", "exclude", "only", "shift"):
            if raw[name] in (None, [], Shift.NONE.value):
                del raw[name]
        if self.calendars:
            raw["calendars"] = {name: one.as_dict() for name, one in self.calendars.items()}
        return orjson.dumps(raw, option=orjson.OPT_SORT_KEYS).decode()

    @property
    def anchor(self) -> datetime:
        return self.trigger.rule.anchor if isinstance(self.trigger.rule, FixedInterval) else _EPOCH


def load_spec(text: str, anchor: datetime) -> ScheduleSpec:
    """Parse a stored spec; `Invalid` when it is damaged."""
    spec = load_policies(text)
    trigger = spec.trigger.anchored(anchor)
    return spec if trigger is spec.trigger else replace(spec, trigger=trigger)


@lru_cache(maxsize=4096)
def load_policies(text: str) -> ScheduleSpec:
    """The same where the trigger is not asked for: an interval has no anchor, so that like schedules share one spec."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid("spec", f"is not JSON ({error})", got=text[:100]) from None
    return read(ScheduleSpec, raw, "spec").restricted()


@dataclass(slots=True, kw_only=True)
class Schedule:
    """A schedule as it stands. Not frozen: lists hold hundreds, and a frozen one takes three times as long to make."""

    id: str
    tenant_id: str
    user_id: str
    name: str
    description: str
    tags: tuple[str, ...]
    spec: ScheduleSpec
    action: Mapping[str, Any]
    status: ScheduleStatus
    version: int
    next_at: datetime | None
    last_run_at: datetime | None
    fired: int
    paused_reason: str
    fault: str | None
    created_at: datetime
    updated_at: datetime
    managed_by: str = ManagedBy.API
    """A `ManagedBy`, or `file:NAME` for one that the documents of a plan define."""
    paused_at: datetime | None = None
    paused_by: str | None = None
    skip_at: datetime | None = None
    """The instant with a skip request: it makes no run."""
    skip_by: str | None = None

    @property
    def next_run_at(self) -> datetime | None:
        """The next instant that makes a run: the cursor, or a later one where that is excluded or to be skipped."""
        if self.next_at is None:
            return None
        trigger = self.spec.trigger
        at = self.next_at if trigger.excluded(self.next_at) is None else trigger.next_run_after(self.next_at)
        return at if at is None or at != self.skip_at else trigger.next_run_after(at)
