"""Proves the ledger: for every schedule and active span, runs + ledger counts = instants the trigger names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from foliot.core.access import Caller, Thing, Verb, may, require
from foliot.core.document import rfc3339
from foliot.core.time.trigger import After, Trigger
from foliot.db.database import Database, Transaction
from foliot.engine.model.ledger import LedgerEntry, LedgerReason, VersionSpan
from foliot.engine.model.schedule import Schedule, ScheduleSpec, ScheduleStatus
from foliot.engine.sql.follows import SqlFollowUps
from foliot.engine.sql.schedules import SqlSchedules

TICK = timedelta(microseconds=1)
PAGE = 2000
_OPEN_SPAN = {
    ScheduleStatus.ACTIVE: True,
    ScheduleStatus.PAUSED: False,
    ScheduleStatus.COMPLETED: None,
    ScheduleStatus.DELETED: None,
}
"""Whether the open span of a schedule in each status is active; None when there is no open span."""
FIRST, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LedgerGap:
    """Where a schedule's runs and ledger entries do not add up, in words."""

    tenant_id: str
    schedule_id: str
    name: str
    what: str


@dataclass(frozen=True, slots=True)
class LedgerProof:
    """The result of a proof."""

    schedules: int
    instants: int
    holes: Sequence[LedgerGap]


Account = tuple[datetime, datetime, int, str, LedgerReason | None]
"""First and last instant, their number, what accounts for them in words, and the reason of a ledger entry."""


class _GapFound(Exception):
    """The first gap of a schedule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerVerifier:
    """Reads each schedule in one snapshot, so that a running engine does not disturb the proof."""

    store: Database

    async def prove(
        self,
        caller: Caller,
        *,
        progress: Callable[[int], None] | None = None,
        first_only: bool = False,
        most: int = 100,
    ) -> LedgerProof:
        """Every schedule, deleted ones too, of all tenants or of the caller's; at most `most` gaps are kept."""
        everywhere = may(caller, Verb.READ, Thing.INSTALLATION)
        if not everywhere:
            require(caller, Verb.READ, Thing.SCHEDULE)
        holes: list[LedgerGap] = []
        schedules = instants = 0
        async for tenant_id, schedule_id in self._all(None if everywhere else caller.tenant_id):
            count, hole = await self._prove(tenant_id, schedule_id)
            schedules, instants = schedules + 1, instants + count
            if hole is not None and len(holes) < most:
                holes.append(hole)
            if progress is not None:
                progress(schedules)
            if hole is not None and first_only:
                break
        return LedgerProof(schedules, instants, holes)

    async def _all(self, tenant_id: str | None) -> AsyncIterator[tuple[str, str]]:
        after = ""
        while page := await self._page(after, tenant_id):
            for one in page:
                yield one
            after = page[-1][1]

    async def _page(self, after: str, tenant_id: str | None) -> list[tuple[str, str]]:
        async with self.store.read() as tx:
            return await SqlSchedules(tx).ids(after, PAGE, tenant_id)

    async def _prove(self, tenant_id: str, schedule_id: str) -> tuple[int, LedgerGap | None]:
        async with self.store.read() as tx:
            schedule = await SqlSchedules(tx).get(tenant_id, schedule_id)
            if schedule is None:
                return 0, None
            prover = _ScheduleVerifier(tx, schedule)
            try:
                await prover.prove()
            except _GapFound as found:
                return prover.instants, LedgerGap(tenant_id, schedule_id, schedule.name, str(found))
            return prover.instants, None


@dataclass(slots=True)
class _ScheduleVerifier:
    """Verifies one schedule."""

    tx: Transaction
    schedule: Schedule
    instants: int = 0

    async def prove(self) -> None:
        if self.schedule.fault is not None:
            raise _GapFound(f"it is damaged and does not fire: {self.schedule.fault}")
        specs = await SqlSchedules(self.tx).specs(self.schedule.id)
        spans = await SqlSchedules(self.tx).spans(self.schedule.id)
        self._check_spans(spans)
        done, follows = FIRST, False
        for span in spans:
            if not follows:
                await self._nothing_between(done, span.start)
            if span.active:
                spec = specs.get(span.version)
                if not isinstance(spec, ScheduleSpec):
                    raise _GapFound(
                        f"version {span.version} is damaged or gone, so its instants cannot be named: {spec}"
                    )
                if spec.trigger.follows is not None:
                    await self._prove_followed(span, spec.trigger, spec.trigger.follows)
                    follows = True
                else:
                    await self._prove_span(span, spec.trigger)
                done = LAST if span.end is None else span.end
            else:
                done = span.start
        if follows:
            await self._prove_records()
        else:
            await self._nothing_between(done, LAST)

    async def _prove_followed(self, span: VersionSpan, trigger: Trigger, rule: After) -> None:
        """Each run of a parent that ended in the span, as the rule names it, is accounted for."""
        until = LAST if span.end is None else span.end
        ends = await SqlFollowUps(self.tx).unaccounted(self.schedule.id, rule, (span.start, until), PAGE)
        for one in ends:
            if trigger.admits(one.at):
                raise _GapFound(
                    f"run {one.run_id}, which ended {_at(one.at)}, has neither a follower nor a ledger entry"
                )

    async def _prove_records(self) -> None:
        """What is accounted for is there, and nothing else: one run for one end."""
        asked = SqlFollowUps(self.tx)
        for run_id, made in await asked.lost(self.schedule.id, 1):
            raise _GapFound(f"run {made}, which followed run {run_id}, is gone")
        for run_id, parent_id in await asked.orphans(self.schedule.id, 1):
            raise _GapFound(
                f"run {run_id} follows run {parent_id}, whose end is accounted for by another or not at all"
            )
        total, unmade, entries = await asked.counts(self.schedule.id)
        if unmade > entries:
            raise _GapFound(f"{unmade} ends of parents made no run, but the ledger counts {entries}")
        self.instants += total

    def _check_spans(self, spans: Sequence[VersionSpan]) -> None:
        """The spans agree with the status, and never overlap."""
        for before, after in pairwise(spans):
            if before.end is None or before.end > after.start:
                raise _GapFound(
                    f"the span from {_at(before.start)} does not end before the next begins, {_at(after.start)}"
                )
        open_span = spans[-1] if spans and spans[-1].end is None else None
        says = None if open_span is None else open_span.active
        if says is not _OPEN_SPAN[self.schedule.status]:
            raise _GapFound(f"it is {self.schedule.status.value}, but its spans contradict that")
        if open_span is not None and open_span.version != self.schedule.version:
            raise _GapFound(f"its version is {self.schedule.version}, but its open span follows {open_span.version}")

    async def _prove_span(self, span: VersionSpan, trigger: Trigger) -> None:
        """Walk runs and ledger entries in order: each must be exactly at the next expected instant."""
        until = self._settled_until(span, trigger)
        expected = trigger.next_after(span.start)
        async for first, last, count, what, reason in self._accounts(
            span.start + TICK, LAST if span.end is None else span.end + TICK
        ):
            if first >= until:
                raise _GapFound(
                    f"{what} is at or beyond the cursor, {_at(until)}: the cursor was moved back, or the run forward"
                )
            if trigger.next_after(first - TICK) != first:
                raise _GapFound(
                    f"{what} is not at an instant of its trigger ({trigger.summary}); {_expecting(expected, until)}"
                )
            if reason is None and (why := trigger.excluded(first)) is not None:
                raise _GapFound(f"{what} is at a time that is excluded ({why})")
            if reason is LedgerReason.CALENDAR and trigger.count_runs(first, last + TICK):
                raise _GapFound(f"{what} covers instants that no calendar excludes")
            if expected is None or first < expected:
                raise _GapFound(f"{what} accounts for an instant that is already accounted for")
            if first > expected:
                raise _GapFound(_missing(trigger, expected, first))
            named = trigger.count(first, last + TICK)
            if named != count:
                raise _GapFound(f"{what} counts {count}, but the trigger has {named} instants there")
            self.instants += count
            expected = trigger.next_after(last)
        if expected is not None and expected < until:
            raise _GapFound(_missing(trigger, expected, until))

    def _settled_until(self, span: VersionSpan, trigger: Trigger) -> datetime:
        """Up to where, exclusively, everything must be accounted for; the cursor itself must be an instant."""
        if span.end is not None:
            return span.end + TICK
        cursor = self.schedule.next_at
        if cursor is None:
            raise _GapFound("it is active, but has no cursor: it will never fire")
        if trigger.next_after(cursor - TICK) != cursor:
            raise _GapFound(
                f"its cursor, {_at(cursor)}, is not at an instant of its trigger ({trigger.summary}): it was shifted"
            )
        if cursor <= span.start:
            raise _GapFound(f"its cursor, {_at(cursor)}, is before its span, which began {_at(span.start)}")
        return cursor

    async def _accounts(self, start: datetime, end: datetime) -> AsyncIterator[Account]:
        """Runs and ledger entries that begin in [start, end), in order."""
        while start < end:
            runs = await SqlSchedules(self.tx).instants(self.schedule.id, start, end, PAGE)
            upto = runs[-1][0] + TICK if len(runs) == PAGE else end
            entries = [entry for _, entry in await SqlSchedules(self.tx).ledger(self.schedule.id, start, upto)]
            accounts: list[Account] = [(at, at, 1, f"run {run_id} for {_at(at)}", None) for at, run_id, _ in runs]
            accounts += [
                (entry.first, entry.last, entry.count, _line(entry), entry.reason)
                for entry in entries
                if entry.first >= start
            ]
            for account in sorted(accounts, key=lambda one: one[:4]):
                yield account
            start = upto

    async def _nothing_between(self, start: datetime, end: datetime) -> None:
        """No run and no entry in (start, end], where the schedule was not active."""
        if start >= end:
            return
        async for _, _, _, what, _ in self._accounts(start + TICK, min(end + TICK, LAST)):
            raise _GapFound(f"{what} is at a time when the schedule was not active")


def _line(entry: LedgerEntry) -> str:
    return f"the {entry.fate.value} line ({entry.reason.value}) from {_at(entry.first)} to {_at(entry.last)}"


def _missing(trigger: Trigger, first: datetime, end: datetime) -> str:
    count = trigger.count(first, end)
    if count == 1:
        return f"the instant {_at(first)} has neither a run nor a ledger entry"
    last = trigger.newest(first, end, 1)[0]
    return f"{count} instants from {_at(first)} to {_at(last)} have neither a run nor a ledger entry"


def _expecting(expected: datetime | None, until: datetime) -> str:
    if expected is None or expected >= until:
        return "no instant is missing before it"
    return f"{_at(expected)} was expected"


def _at(moment: datetime) -> str:
    return rfc3339(moment) or ""
