"""Decides what becomes of every due instant of a schedule. Pure: SQL writes the plan."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from foliot.core.errors import Invalid
from foliot.core.time.trigger import OneOff, Trigger
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.overlap import OpenRun, OpenRunCount, must_wait
from foliot.engine.model.schedule import (
    CatchupMode,
    Overlap,
    ScheduleSpec,
    ScheduleStatus,
    load_policies,
    load_spec,
)

_TICK = timedelta(microseconds=1)

EXCLUDED = LedgerKind.SKIPPED, LedgerReason.CALENDAR

CATCHUP_REASON = {
    CatchupMode.NONE: LedgerReason.CATCHUP_NONE,
    CatchupMode.LATEST: LedgerReason.CATCHUP_LATEST,
    CatchupMode.ALL: LedgerReason.CATCHUP_ALL,
}


@dataclass(slots=True)
class DueSchedule:
    """A locked schedule row whose next instant has come; `spec` is still the stored text, which may be damaged."""

    id: str
    tenant_id: str
    user_id: str
    version: int
    spec: str
    anchor: datetime
    next_at: datetime
    fired: int = 0
    gap_first: datetime | None = None
    gap_reason: str | None = None
    last_run_at: datetime | None = None
    skip_at: datetime | None = None
    skip_by: str | None = None
    ahead_until: datetime | None = None
    ahead: frozenset[datetime] = frozenset()
    """Instants that were fired before their time: each has its run already."""


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to create."""

    scheduled_for: datetime
    ready_at: datetime
    buffered: bool = False
    catchup: bool = False
    """Whether it makes up for an instant that no scheduler settled in time."""


@dataclass(slots=True)
class SchedulePlan:
    """What to write for one schedule: all of it, or nothing."""

    due: DueSchedule
    spec: ScheduleSpec | None
    runs: list[NewRun] = field(default_factory=list)
    ledger: list[LedgerEntry] = field(default_factory=list)
    next_at: datetime | None = None
    fired: int = 0
    status: ScheduleStatus = ScheduleStatus.ACTIVE
    span_end: datetime | None = None
    gap_first: datetime | None = None
    gap_reason: str | None = None
    last_run_at: datetime | None = None
    cancel: list[str] = field(default_factory=list)
    terminate: list[str] = field(default_factory=list)
    fault: str | None = None

    @property
    def skip_at(self) -> datetime | None:
        """What is still to be skipped: an instant that is settled is forgotten, whatever became of it."""
        skip = self.due.skip_at
        if skip is None or self.fault is not None:
            return skip
        return skip if self.next_at is not None and skip >= self.next_at else None

    @property
    def ahead_until(self) -> datetime | None:
        """Up to where instants may have runs already, as long as the cursor has not passed it."""
        until = self.due.ahead_until
        if until is None or self.fault is not None:
            return until
        return until if self.next_at is not None and until >= self.next_at else None


def settle(due: DueSchedule, now: datetime, open_runs: Sequence[OpenRun] = ()) -> SchedulePlan:
    """Account for every instant up to and including `now`: a run, or a line in the ledger."""
    try:
        spec = load_spec(due.spec, due.anchor)
    except Invalid as error:
        return SchedulePlan(due, None, fired=due.fired, last_run_at=due.last_run_at, fault=str(error))
    plan = SchedulePlan(
        due, spec, fired=due.fired, gap_first=due.gap_first, gap_reason=due.gap_reason, last_run_at=due.last_run_at
    )
    following = spec.trigger.next_after(due.next_at)
    if following is not None and following <= now:
        judged = _catch_up(plan, spec, now)
        following = spec.trigger.next_after(now)
    elif _runs_late(spec, due.next_at, now):
        excluded = spec.trigger.excluded(due.next_at) is not None
        judged = _JudgedInstants(due.next_at, [] if excluded else [due.next_at], now + _TICK)
    else:
        judged = _catch_up(plan, spec, now)
    _judge_overlaps(plan, spec, judged, open_runs)
    _advance(plan, spec, following, now)
    return plan


@dataclass(frozen=True, slots=True)
class _JudgedInstants:
    """What catch-up leaves: the instants of [start, end) that may run. Those between them are excluded."""

    start: datetime
    instants: list[datetime]
    end: datetime


def _runs_late(spec: ScheduleSpec, instant: datetime, now: datetime) -> bool:
    """A one-off runs however late."""
    return now - instant < timedelta(seconds=spec.catchup.grace_seconds) or isinstance(spec.trigger.rule, OneOff)


def _catch_up(plan: SchedulePlan, spec: ScheduleSpec, now: datetime) -> _JudgedInstants:
    """The instants that still run, oldest first; the others become `missed` and excluded ranges."""
    catchup, trigger, first = spec.catchup, spec.trigger, plan.due.next_at
    grace_start = max(first, now - timedelta(seconds=catchup.grace_seconds) + _TICK)
    window_start = max(first, now - timedelta(seconds=catchup.window_seconds))
    skip = _to_skip(plan, trigger)
    ahead = {at for at in plan.due.ahead if trigger.names(at) and trigger.excluded(at) is None}
    passed = ahead | ({skip} if skip is not None else set())
    kept: list[datetime] = []
    if window_start < grace_start:
        match catchup.mode:
            case CatchupMode.NONE:
                pass
            case CatchupMode.LATEST:
                kept = _newest(trigger, window_start, grace_start, 1, passed)
            case CatchupMode.ALL:
                kept = _newest(trigger, window_start, grace_start, catchup.max_runs, passed)
    cut = kept[0] if kept else grace_start
    if skip is not None and first <= skip < cut:
        _miss(plan, spec, first, skip)
        _skip(plan, skip)
        _miss(plan, spec, trigger.next_after(skip), cut)
    else:
        _miss(plan, spec, first, cut)
    kept = sorted({*kept, *(at for at in passed if cut <= at < grace_start)})
    return _JudgedInstants(cut, [*kept, *trigger.runs_between(grace_start, now + _TICK)], now + _TICK)


def _to_skip(plan: SchedulePlan, trigger: Trigger) -> datetime | None:
    """The instant with a skip request, if there is one."""
    skip = plan.due.skip_at
    return skip if skip is not None and trigger.names(skip) and trigger.excluded(skip) is None else None


def _newest(
    trigger: Trigger, start: datetime, end: datetime, limit: int, passed: Collection[datetime]
) -> list[datetime]:
    """The last instants before `end` that may run: a skipped one takes no other's place."""
    return [at for at in trigger.newest_runs(start, end, limit + len(passed)) if at not in passed][-limit:]


def _miss(plan: SchedulePlan, spec: ScheduleSpec, first: datetime | None, end: datetime) -> None:
    """The instants of [first, end), if there are any, are missed, or excluded."""
    if first is None:
        return
    missed = LedgerKind.MISSED, CATCHUP_REASON[spec.catchup.mode]
    for window in spec.trigger.excluded_windows(first, end):
        _account_range(plan, spec, (first, window.start), missed)
        _account_range(plan, spec, (window.start, window.end), EXCLUDED, window.reason)
        first = window.end
    _account_range(plan, spec, (first, end), missed)


def _exclude(plan: SchedulePlan, spec: ScheduleSpec, start: datetime, end: datetime) -> None:
    """The excluded instants of [start, end)."""
    for window in spec.trigger.excluded_windows(start, end):
        _account_range(plan, spec, (window.start, window.end), EXCLUDED, window.reason)


def _account_range(
    plan: SchedulePlan,
    spec: ScheduleSpec,
    within: tuple[datetime, datetime],
    fate: tuple[LedgerKind, LedgerReason],
    note: str = "",
) -> None:
    """One range for the instants of [start, end), if there are any."""
    start, end = within
    if start < end and (count := spec.trigger.count(start, end)):
        first = spec.trigger.next_after(start - _TICK) or start
        last = spec.trigger.newest(start, end, 1)[0]
        account(plan, LedgerEntry(first, last, count, *fate, note=note))


def _skip(plan: SchedulePlan, instant: datetime) -> None:
    """An entry of its own: it names the user, and merges with nothing."""
    plan.ledger.append(LedgerEntry(instant, instant, 1, LedgerKind.SKIPPED, LedgerReason.REQUESTED, plan.due.skip_by))
    plan.gap_first = plan.gap_reason = None


def _judge_overlaps(
    plan: SchedulePlan, spec: ScheduleSpec, judged: _JudgedInstants, open_runs: Sequence[OpenRun]
) -> None:
    room = None if spec.max_runs is None else spec.max_runs - plan.fired
    crowd = OpenRunCount(len(open_runs), sum(run.buffered for run in open_runs), must_wait(open_runs))
    ahead, after = plan.due.ahead, judged.start
    left = sum(instant != plan.due.skip_at and instant not in ahead for instant in judged.instants)
    for instant in judged.instants:
        if room is not None and len(plan.runs) >= room:
            break
        _exclude(plan, spec, after, instant)
        after = instant + _TICK
        if instant == plan.due.skip_at:
            _skip(plan, instant)
            continue
        if instant in ahead:
            account(plan, LedgerEntry(instant, instant, 1, LedgerKind.SKIPPED, LedgerReason.AHEAD))
            continue
        left -= 1
        waits, refused = crowd.judge(spec.overlap, left)
        if refused:
            account(plan, LedgerEntry(instant, instant, 1, LedgerKind.SKIPPED, refused))
        else:
            late = instant + timedelta(seconds=spec.catchup.grace_seconds) < judged.end
            plan.runs.append(NewRun(instant, spec.ready_at(plan.due.id, instant), waits, late))
            plan.gap_first = plan.gap_reason = None
            crowd.open, crowd.buffered = crowd.open + 1, crowd.buffered + waits
    if room is None or len(plan.runs) < room:
        _exclude(plan, spec, after, judged.end)
    if plan.runs and spec.overlap is Overlap.CANCEL_OTHER:
        plan.cancel = [run.id for run in open_runs]
    if plan.runs and spec.overlap is Overlap.TERMINATE_OTHER:
        plan.terminate = [run.id for run in open_runs]


def account(plan: SchedulePlan, entry: LedgerEntry) -> None:
    """Add to the ledger; a range that goes on from the last one keeps that one's first instant, so the two merge."""
    reason = _gap_reason(entry)
    if plan.gap_reason == reason and plan.gap_first is not None:
        entry = replace(entry, first=plan.gap_first)
        if plan.ledger and plan.ledger[-1].first == entry.first:
            entry = replace(entry, count=entry.count + plan.ledger.pop().count)
    else:
        plan.gap_first, plan.gap_reason = entry.first, reason
    plan.ledger.append(entry)


def _gap_reason(entry: LedgerEntry) -> str:
    """What two neighbours must share to be one range."""
    if not entry.note:
        return entry.reason.value
    digest = hashlib.blake2b(entry.note.encode(), digest_size=8).hexdigest()
    return f"{entry.reason.value}:{digest}"


def _advance(plan: SchedulePlan, spec: ScheduleSpec, following: datetime | None, now: datetime) -> None:
    plan.fired += len(plan.runs)
    if plan.runs:
        fired = plan.runs[-1].scheduled_for
        # A requested run may be newer than the instant that is settled now.
        plan.last_run_at = max(plan.last_run_at or fired, fired)
    exhausted = spec.max_runs is not None and plan.fired >= spec.max_runs
    if exhausted or following is None:
        plan.status = ScheduleStatus.COMPLETED
        plan.span_end = plan.runs[-1].scheduled_for if exhausted and plan.runs else now
    else:
        plan.next_at = following


def judges_overlap(due: DueSchedule) -> bool:
    """Whether settling this schedule needs to know its open runs."""
    try:
        return load_policies(due.spec).overlap is not Overlap.ALLOW_ALL
    except Invalid:
        return False
