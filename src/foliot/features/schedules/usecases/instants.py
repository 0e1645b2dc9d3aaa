"""Lists every instant of a period, past and future, with its outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb
from foliot.core.errors import Invalid
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.model.ledger import LedgerEntry, LedgerReason, VersionSpan, skipped_by
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Schedule, ScheduleSpec
from foliot.engine.sql.follows import FollowRecord, SqlFollowUps
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.usecases.change import DAMAGED
from foliot.features.schedules.usecases.schedules import find_schedule

TICK = timedelta(microseconds=1)
MAX_STRETCH = timedelta(days=366 * 10)
NOT_YET = "the schedule did not exist yet"
"""Why instants before its first span have no run."""
PAST, FUTURE = timedelta(days=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class InstantRecord:
    """One nominal due time and its outcome: ran, queued, skipped, missed, pruned or planned."""

    at: datetime
    outcome: str
    reason: str = ""
    run_id: str | None = None
    on_purpose: bool = False
    """Whether a user asked to skip this instant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instants:
    """Answers from runs, ledger and spans for the past, from the trigger for the future."""

    store: Database
    clock: Clock

    @query(Verb.READ, Thing.SCHEDULE)
    async def list(
        self, ctx: QueryContext, schedule_id: str, start: datetime | None, end: datetime | None, limit: int
    ) -> tuple[Sequence[InstantRecord], datetime | None]:
        """The first `limit` instants of [start, end), and the next cursor; by default one day back and one ahead."""
        now = self.clock.now()
        start = start or (end or now) - PAST
        end = end or max(start, now) + FUTURE
        if end < start:
            raise Invalid("to", "must not be earlier than 'from'", got=end.isoformat())
        if end - start > MAX_STRETCH:
            raise Invalid("to", "must be at most ten years after 'from'", got=end.isoformat())
        async with ctx.read() as tx:
            schedule = await find_schedule(tx, ctx.caller, schedule_id)
            spans = await SqlSchedules(tx).spans(schedule_id)
            specs = await SqlSchedules(tx).specs(schedule_id)
            # One more than asked for shows whether there is a next page; `max_runs` may have used it up.
            found = await outcomes(tx, schedule, list(islice(named(spans, specs, start, end), limit + 1)))
            if any(isinstance(spec, ScheduleSpec) and spec.trigger.follows for spec in specs.values()):
                records = await SqlFollowUps(tx).records(schedule_id, start, end, limit + 1)
                found = sorted([*found, *map(_followed, records)], key=lambda one: one.at)[: limit + 1]
        return found[:limit], found[limit].at if len(found) > limit else None


def _followed(record: FollowRecord) -> InstantRecord:
    """The end of a parent's run, as an instant of the schedule that follows it."""
    if record.made is not None:
        state = record.state or RunState.QUEUED
        return InstantRecord(record.at, "queued" if state is RunState.QUEUED else "ran", state.value, record.made)
    if record.fate is not None:
        return InstantRecord(record.at, record.fate, record.reason or "")
    return InstantRecord(record.at, "planned", "waiting for the other parents")


def named(
    spans: Sequence[VersionSpan], specs: Mapping[int, ScheduleSpec | str], start: datetime, end: datetime
) -> Iterator[tuple[VersionSpan, datetime]]:
    """The instants that the versions' triggers name, each within the spans in which its version held."""
    for span in spans:
        spec = specs.get(span.version)
        if isinstance(spec, ScheduleSpec):
            until = end if span.end is None else min(end, span.end + TICK)
            for at in spec.trigger.between(max(start, span.start + TICK), until):
                yield span, at


async def outcomes(
    tx: Transaction, schedule: Schedule, there: Sequence[tuple[VersionSpan, datetime]]
) -> list[InstantRecord]:
    """The outcomes of these instants, which `named` returned, or that they are planned."""
    if not there:
        return []
    first, last = there[0][1], there[-1][1] + TICK
    runs = {
        at: (run, state) for at, run, state in await SqlSchedules(tx).instants(schedule.id, first, last, len(there))
    }
    ledger = _LedgerLookup([entry for _, entry in await SqlSchedules(tx).ledger(schedule.id, first, last)])
    left = _left(schedule, there[0][1])
    found = []
    for span, at in there:
        instant = _outcome(schedule, span, at, runs.get(at), ledger.at(at))
        if instant.outcome == "planned" and (why := schedule.spec.trigger.excluded(at)) is not None:
            instant = InstantRecord(at, "skipped", why)
        if instant.outcome == "planned" and left is not None:
            if left <= 0:
                break
            left -= 1
        found.append(instant)
    return found


def _left(schedule: Schedule, first: datetime) -> int | None:
    """How many planned instants `max_runs` still allows from `first` on."""
    if schedule.spec.max_runs is None:
        return None
    left = schedule.spec.max_runs - schedule.fired
    if schedule.next_at is not None and schedule.next_at < first:
        passed = schedule.skip_at is not None and schedule.next_at <= schedule.skip_at < first
        left -= schedule.spec.trigger.count_runs(schedule.next_at, first) - passed
    return left


def _outcome(
    schedule: Schedule, span: VersionSpan, at: datetime, run: tuple[str, RunState] | None, entry: LedgerEntry | None
) -> InstantRecord:
    if run is not None:
        outcome = "queued" if run[1] is RunState.QUEUED else "ran"
        return InstantRecord(at, outcome, run[1].value, run[0])
    if entry is not None:
        return InstantRecord(at, entry.fate.value, entry.told, on_purpose=entry.reason is LedgerReason.REQUESTED)
    if not span.active:
        return InstantRecord(at, "skipped", _silence(span.reason))
    if schedule.fault is not None:
        return InstantRecord(at, "missed", f"damaged: {schedule.fault}")
    if span.end is None and schedule.next_at is not None and at >= schedule.next_at:
        wished = at == schedule.skip_at
        return InstantRecord(at, "skipped", skipped_by(schedule.skip_by)) if wished else InstantRecord(at, "planned")
    return InstantRecord(at, "missed", "unaccounted for: run foliot ledger verify")


def _silence(reason: str) -> str:
    """Why nothing fired in an inactive span."""
    if reason in {DAMAGED, NOT_YET}:
        return reason
    return f"paused: {reason}" if reason else "paused"


@dataclass(slots=True)
class _LedgerLookup:
    """Looks up ledger entries for ascending moments."""

    entries: list[LedgerEntry]
    place: int = 0

    def at(self, moment: datetime) -> LedgerEntry | None:
        while self.place < len(self.entries) and self.entries[self.place].last < moment:
            self.place += 1
        if self.place < len(self.entries) and self.entries[self.place].first <= moment:
            return self.entries[self.place]
        return None
