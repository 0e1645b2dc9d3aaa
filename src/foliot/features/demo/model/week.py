"""Simulates a week of a schedule's history by the scheduler's own rules. Pure: `sql.py` writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from foliot.core.failure_fingerprint import host_in
from foliot.core.ids import RUN, id_at, new_id
from foliot.engine.model.event import EventLine, EventType
from foliot.engine.model.ledger import LedgerEntry
from foliot.engine.model.outcome import AttemptFacts, judge
from foliot.engine.model.run import Fence, RunState, Succeeded
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.settle import DueSchedule, NewRun, OpenRun, SchedulePlan, settle
from foliot.engine.model.views import AttemptEnding
from foliot.features.demo.model.past import PastAccount, PastAttempt, PastRun
from foliot.features.demo.model.run_history import DemoAttempt, InstantIndex, Life

WEEK = timedelta(days=7)
SEEN = timedelta(milliseconds=3)
"""Delay from an instant to the creation of its run, and again to its start."""
WORKER = "demo"
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which no scheduler was running."""

    start: datetime
    end: datetime

    def over(self, moment: datetime) -> datetime:
        """When what was due at this moment was settled."""
        return self.end if self.start <= moment < self.end else moment


@dataclass(slots=True)
class SettledPast:
    """What has been settled so far."""

    due: DueSchedule
    runs: list[PastRun] = field(default_factory=list)
    ledger: list[LedgerEntry] = field(default_factory=list)
    last: SchedulePlan | None = None


def settled_week(schedule: Schedule, life: Life, until: datetime, night: Outage) -> PastAccount | None:
    """Everything from its first instant up to `until`; None when there was nothing."""
    spec, first = schedule.spec, schedule.next_at
    if first is None or first > until:
        return None
    spoken = DueSchedule(
        schedule.id, schedule.tenant_id, schedule.user_id, schedule.version, spec.dump(), spec.anchor, next_at=first
    )
    past = SettledPast(spoken)
    while past.due.next_at <= until:
        seen = min(night.over(past.due.next_at), until)
        plan = settle(past.due, seen, _open(past.runs, seen))
        for new in plan.runs:
            later = spec.trigger.count(new.scheduled_for + _TICK, until + _TICK)
            tries = life(InstantIndex(new.scheduled_for, later))
            past.runs.append(_run(schedule, new, tries, seen + SEEN, until))
        past.ledger += plan.ledger
        past.last = plan
        if plan.next_at is None:
            break
        past.due = replace(
            past.due,
            next_at=plan.next_at,
            fired=plan.fired,
            gap_first=plan.gap_first,
            gap_reason=plan.gap_reason,
            last_run_at=plan.last_run_at,
        )
    return None if past.last is None else PastAccount(past.runs, _merged(past.ledger), past.last)


def _open(runs: Sequence[PastRun], now: datetime) -> list[OpenRun]:
    """Only the newest can still be open: nothing here overlaps."""
    return [OpenRun(run.id, RunState.RUNNING) for run in runs[-1:] if run.attempts[-1].ending.at > now]


def _merged(entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Adjacent entries merged, as the ledger stores them."""
    merged: dict[tuple[datetime, str], LedgerEntry] = {}
    for entry in entries:
        key = (entry.first, entry.fate.value)
        before = merged.get(key)
        merged[key] = entry if before is None else replace(entry, count=before.count + entry.count)
    return list(merged.values())


def _run(schedule: Schedule, new: NewRun, tries: Sequence[DemoAttempt], created: datetime, until: datetime) -> PastRun:
    run = PastRun(id=id_at(RUN, created), schedule=schedule, new=new, created_at=created, attempts=[])
    made = _attempts(run, tries, until)
    if made is None:
        # It would end in the future: it becomes a quick success instead.
        left = max((until - created - 2 * SEEN).total_seconds(), 0.001)
        good = DemoAttempt(Succeeded(result={"status": 200}), min(left, 0.05))
        made = _attempts(run, [good], until + timedelta(seconds=1))
    return replace(run, attempts=made or [])


def _attempts(run: PastRun, tries: Sequence[DemoAttempt], until: datetime) -> list[PastAttempt] | None:
    """The attempts that the schedule's retry policy leads to; None when they have not ended by then."""
    attempts: list[PastAttempt] = []
    spec, begins = run.schedule.spec, max(run.created_at, run.new.ready_at) + SEEN
    for number in range(1, spec.retry.max_attempts + 1):
        tried = tries[min(number, len(tries)) - 1]
        ends = begins + timedelta(seconds=tried.seconds)
        verdict = judge(AttemptFacts(run.id, number, spec.retry.max_attempts, spec.retry), tried.outcome, ends)
        ending = AttemptEnding(
            fence=Fence(run.id, number, new_id("tok")),
            state=verdict.state,
            outcome=verdict.outcome,
            at=ends,
            result=verdict.result,
            error=verdict.error,
            response=verdict.response,
            ready_at=verdict.ready_at,
            lines=[
                EventLine(begins + timedelta(seconds=at), EventType.LOG, level, said) for at, level, said in tried.lines
            ],
            host=host_in(str(run.schedule.action.get("url", ""))),
        )
        attempts.append(PastAttempt(begins, WORKER, ending))
        if ends > until:
            return None
        if verdict.ready_at is None:
            return attempts
        begins = verdict.ready_at + SEEN
    return attempts
