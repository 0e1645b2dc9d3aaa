"""Decides what the ends of runs make of a schedule that follows them. Pure: SQL writes the plan.

The end of a parent's run is to such a schedule what an instant is to others: it makes a run, or a line in the ledger
that says why not. Each end counts once, and a run that repeats another counts as that one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from foliot.core.time.trigger import After
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.overlap import OpenRun, OpenRunCount, must_wait
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import CatchupMode, Overlap, ScheduleSpec, ScheduleStatus
from foliot.engine.model.settle import CATCHUP_REASON, DueSchedule, NewRun, SchedulePlan, account


@dataclass(frozen=True, slots=True)
class ParentEnd:
    """A run that has ended, of a schedule that others follow."""

    run_id: str
    root_id: str
    """The run that it repeats, directly or not, or itself: what counts once."""
    tenant_id: str
    schedule_id: str
    state: RunState
    at: datetime
    changed: bool = False


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What became of one end: a run, a reason why there is none, or neither while other parents are waited for."""

    end: ParentEnd
    run: NewRun | None = None
    fate: LedgerKind | None = None
    reason: LedgerReason | None = None


@dataclass(slots=True)
class FollowPlan:
    """What to write for one schedule: its runs, ledger and row, and what became of each end."""

    plan: SchedulePlan
    ups: list[FollowUp] = field(default_factory=list)
    consumed: list[tuple[ParentEnd, FollowUp]] = field(default_factory=list)
    """Ends that waited for others, and the one that completed them."""


def settle_ends(
    due: DueSchedule,
    spec: ScheduleSpec,
    ends: Sequence[ParentEnd],
    now: datetime,
    open_runs: Sequence[OpenRun] = (),
    waiting: Sequence[ParentEnd] = (),
) -> FollowPlan:
    """Account for each end. `waiting`: ends that were accounted as such before, of a schedule that waits for all."""
    plan = SchedulePlan(
        due, spec, fired=due.fired, gap_first=due.gap_first, gap_reason=due.gap_reason, last_run_at=due.last_run_at
    )
    follow = FollowPlan(plan)
    complete, partners = _complete(spec, sorted(ends, key=_order), waiting)
    missed = _missed(spec, complete, now)
    crowd = OpenRunCount(len(open_runs), sum(run.buffered for run in open_runs), must_wait(open_runs))
    room = None if spec.max_runs is None else spec.max_runs - due.fired
    left = len(complete) - len(missed)
    fates: dict[str, FollowUp] = {}
    for end in complete:
        if end.run_id in missed:
            up = FollowUp(end, fate=LedgerKind.MISSED, reason=CATCHUP_REASON[spec.catchup.mode])
        elif room is not None and len(plan.runs) >= room:
            up = FollowUp(end, fate=LedgerKind.SKIPPED, reason=LedgerReason.EXHAUSTED)
        else:
            left -= 1
            up = _judged(plan, spec, end, crowd, left)
        fates[end.run_id] = up
        if up.fate is not None and up.reason is not None:
            account(plan, LedgerEntry(end.at, end.at, 1, up.fate, up.reason))
    _replace(plan, spec, open_runs)
    follow.ups = [fates.get(end.run_id, FollowUp(end)) for end in sorted(ends, key=_order)]
    follow.consumed = [(partner, fates[end.run_id]) for end in complete for partner in partners.get(end.run_id, ())]
    _close(plan, spec, [end.at for end in ends], now)
    return follow


def refused(due: DueSchedule, ends: Sequence[ParentEnd]) -> FollowPlan:
    """Ends that were followed when they began to be written, by a schedule that has changed in the meantime."""
    plan = SchedulePlan(
        due, None, fired=due.fired, gap_first=due.gap_first, gap_reason=due.gap_reason, last_run_at=due.last_run_at
    )
    for end in sorted(ends, key=_order):
        account(plan, LedgerEntry(end.at, end.at, 1, LedgerKind.SKIPPED, LedgerReason.CHANGED))
    ups = [FollowUp(end, fate=LedgerKind.SKIPPED, reason=LedgerReason.CHANGED) for end in ends]
    return FollowPlan(plan, ups)


def follows(rule: After | None, end: ParentEnd) -> bool:
    """Whether this rule follows the end, by its parent and outcome."""
    return (
        rule is not None
        and end.schedule_id in rule.parents
        and rule.outcome.wants(end.state.value, changed=end.changed)
    )


def _order(end: ParentEnd) -> tuple[datetime, str]:
    return end.at, end.run_id


def _complete(
    spec: ScheduleSpec, ends: Sequence[ParentEnd], waiting: Sequence[ParentEnd]
) -> tuple[list[ParentEnd], Mapping[str, list[ParentEnd]]]:
    """The ends that make a run, and for each the ones that waited for it."""
    rule = spec.trigger.follows
    if rule is None or not rule.all:
        return list(ends), {}
    held = list(waiting)
    complete: list[ParentEnd] = []
    partners: dict[str, list[ParentEnd]] = {}
    for end in ends:
        if {end.schedule_id, *(one.schedule_id for one in held)} >= set(rule.parents):
            complete.append(end)
            partners[end.run_id] = held
            held = []
        else:
            held.append(end)
    return complete, partners


def _missed(spec: ScheduleSpec, ends: Sequence[ParentEnd], now: datetime) -> set[str]:
    """Ends that are written so late that catch-up decides: the database was away while a worker held them."""
    catchup = spec.catchup
    late = [end for end in ends if now - end.at >= timedelta(seconds=catchup.grace_seconds)]
    within = [end for end in late if now - end.at <= timedelta(seconds=catchup.window_seconds)]
    kept: Sequence[ParentEnd]
    match catchup.mode:
        case CatchupMode.NONE:
            kept = ()
        case CatchupMode.LATEST:
            kept = within[-1:]
        case CatchupMode.ALL:
            kept = within[-catchup.max_runs :]
    return {end.run_id for end in late} - {end.run_id for end in kept}


def _judged(plan: SchedulePlan, spec: ScheduleSpec, end: ParentEnd, crowd: OpenRunCount, left: int) -> FollowUp:
    waits, reason = crowd.judge(spec.overlap, left)
    if reason is not None:
        return FollowUp(end, fate=LedgerKind.SKIPPED, reason=reason)
    run = NewRun(end.at, spec.ready_at(plan.due.id, end.at), waits)
    plan.runs.append(run)
    plan.gap_first = plan.gap_reason = None
    crowd.open, crowd.buffered = crowd.open + 1, crowd.buffered + waits
    return FollowUp(end, run)


def _replace(plan: SchedulePlan, spec: ScheduleSpec, open_runs: Sequence[OpenRun]) -> None:
    if plan.runs and spec.overlap is Overlap.CANCEL_OTHER:
        plan.cancel = [run.id for run in open_runs]
    if plan.runs and spec.overlap is Overlap.TERMINATE_OTHER:
        plan.terminate = [run.id for run in open_runs]


def _close(plan: SchedulePlan, spec: ScheduleSpec, ends: Sequence[datetime], now: datetime) -> None:
    """Count the runs; a schedule that may make no more is completed."""
    plan.fired += len(plan.runs)
    if plan.runs:
        plan.last_run_at = max(plan.last_run_at or plan.runs[-1].scheduled_for, plan.runs[-1].scheduled_for)
    if spec.max_runs is not None and plan.fired >= spec.max_runs:
        plan.status, plan.span_end = ScheduleStatus.COMPLETED, max([now, *ends])
