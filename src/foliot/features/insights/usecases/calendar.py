"""The calendar: runs, instants without a run and planned instants, by local hours or days of a time zone."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Caller, Thing, Verb
from foliot.core.errors import Invalid
from foliot.core.ports import Clock
from foliot.core.threads import REQUESTS
from foliot.core.time.zone import CalendarTile, Granularity, tiles, zone_info
from foliot.db.database import Database, Transaction
from foliot.engine.model.ledger import LedgerEntry, LedgerKind
from foliot.engine.model.planned_counts import MOST_EXCLUDED, FiringState, PlannedCounter, PlannedInstants, StepBudget
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Schedule
from foliot.features.insights.model.history import HistoryWindow
from foliot.features.insights.model.plans import PlannedGroup, PlannedGroups
from foliot.features.insights.sql.history import SqlHistory
from foliot.features.insights.sql.plans import SqlPlans
from foliot.features.schedules.usecases.schedules import find_schedule

PlanSource = Callable[[Transaction, Caller], Awaitable[Sequence[FiringState]]]
"""What another feature has planned."""
MOST_TILES = 800
STEPS = 200_000
"""Instants computed and tiles counted for one answer; beyond that, planned instants are spread evenly."""
_TICK = timedelta(microseconds=1)


@dataclass(slots=True)
class CellCounts:
    """One hour or day."""

    at: datetime
    local: str
    counts: Counter[str] = field(default_factory=Counter)
    planned: int = 0
    missed: int = 0
    skipped: int = 0

    @property
    def total(self) -> int:
        """Runs created in it."""
        return sum(self.counts.values())

    def unmake(self, fate: LedgerKind, count: int) -> None:
        """Counts instants of it that made no run."""
        if fate is LedgerKind.MISSED:
            self.missed += count
        else:
            self.skipped += count


@dataclass(frozen=True, slots=True)
class CalendarCells:
    """The cells of a time range; `exact` unless some of it was spread evenly or left out."""

    zone: str
    granularity: Granularity
    cells: Sequence[CellCounts]
    exact: bool


@dataclass(frozen=True, slots=True)
class CalendarRequest:
    """The requested range, zone and granularity."""

    start: datetime | None
    end: datetime | None
    granularity: Granularity
    zone: str | None
    schedule_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendars:
    """Counts past runs in the database, and planned instants from triggers."""

    store: Database
    clock: Clock
    default_zone: str = "UTC"
    sources: Sequence[PlanSource] = ()

    @query(Verb.READ, Thing.RUN, (Verb.READ, Thing.SCHEDULE))
    async def cells(self, ctx: QueryContext, asked: CalendarRequest) -> CalendarCells:
        """Of one schedule, or of all; without bounds, the present month of the zone."""
        zone = asked.zone or self.default_zone
        info, now = zone_info(zone), self.clock.now()
        start, end = _bounds(asked, info, now)
        found = tiles(start, end, asked.granularity, zone)
        if len(found) > MOST_TILES:
            rule = f"makes more than {MOST_TILES} {asked.granularity.value}s: choose a shorter range, or days"
            raise Invalid("to", rule, got=end.isoformat())
        async with ctx.read() as tx:
            made = await _made(tx, ctx.tenant_id, found, asked.schedule_id)
            unmade = await _unmade(tx, ctx.tenant_id, found, asked.schedule_id)
            schedule, share = None, 1.0
            if asked.schedule_id is not None:
                schedule = await find_schedule(tx, ctx.caller, asked.schedule_id)
                state = FiringState.of(schedule)
                groups = PlannedGroups([] if state is None else [PlannedGroup(state, 1)], more=False)
            else:
                groups = await SqlPlans(tx).every(ctx.tenant_id, now)
                if groups.more:
                    share = groups.number / max(await SqlHistory(tx).active_schedules(ctx.tenant_id), 1)
                others = [plan for source in self.sources for plan in await source(tx, ctx.caller)]
                groups = replace(groups, items=[*groups.items, *(PlannedGroup(plan, 1) for plan in others)])
        # Computing thousands of triggers takes a while, and must not block the event loop.
        sheet = _CellCounter(found, zone, asked.granularity, share, schedule)
        return await REQUESTS.run(_draw, sheet, made, unmade, groups.items)


@dataclass(frozen=True, slots=True)
class _CellCounter:
    """Accumulates the counts of the cells."""

    tiles: Sequence[CalendarTile]
    zone: str
    granularity: Granularity
    share: float
    """The share of the schedules that were read; planned instants are scaled up by it."""
    schedule: Schedule | None
    """The only one that is counted."""


@dataclass(frozen=True, slots=True)
class _CellsWithoutRun:
    """Instants that made no run: counts by cell, and ranges that are not in those."""

    counts: Sequence[tuple[int, LedgerKind, int]]
    entries: Sequence[tuple[str, LedgerEntry]]
    complete: bool


def _bounds(asked: CalendarRequest, zone: ZoneInfo, now: datetime) -> tuple[datetime, datetime]:
    local = now.astimezone(zone)
    month = datetime(local.year, local.month, 1, tzinfo=zone)
    start = asked.start or month.astimezone(UTC)
    following = datetime(month.year + month.month // 12, month.month % 12 + 1, 1, tzinfo=zone).astimezone(UTC)
    end = asked.end or (following if asked.start is None else start + (following - month))
    if end <= start:
        raise Invalid("to", "must be later than 'from'", got=end.isoformat())
    return start, end


async def _made(
    tx: Transaction, tenant_id: str, found: Sequence[CalendarTile], schedule_id: str | None
) -> list[tuple[datetime, RunState, int]]:
    """(a moment within the tile, state, count); one query for each range without a clock change."""
    counted = []
    for stretch in _stretches(found):
        for place, state, count in await SqlHistory(tx).counts(tenant_id, stretch, schedule_id):
            counted.append((stretch.start + place * timedelta(seconds=stretch.width), state, count))
    return counted


async def _unmade(
    tx: Transaction, tenant_id: str, found: Sequence[CalendarTile], schedule_id: str | None
) -> _CellsWithoutRun:
    start, end = found[0].start, found[-1].end
    if schedule_id is not None:
        its = await SqlHistory(tx).unmade(tenant_id, start, end, [schedule_id])
        return _CellsWithoutRun((), its.entries, not its.more)
    counts = await SqlHistory(tx).unmade_counts(tenant_id, [(tile.start, tile.end) for tile in found])
    return _CellsWithoutRun(counts, (), complete=True)


def _edges(found: Sequence[CalendarTile]) -> list[datetime]:
    return [*(tile.start for tile in found), found[-1].end]


def _stretches(found: Sequence[CalendarTile]) -> Iterable[HistoryWindow]:
    """Neighbouring tiles of the same length, as ranges that the database can cut by itself."""
    first = 0
    for place in range(1, len(found) + 1):
        # A range may end within its last tile, and the first one may begin within its own.
        if place == len(found) or found[place].length != found[first].length:
            width = int(found[first].length.total_seconds())
            yield HistoryWindow(found[first].start, found[place - 1].end, max(width, 1))
            first = place


def _draw(
    sheet: _CellCounter,
    made: Iterable[tuple[datetime, RunState, int]],
    unmade: _CellsWithoutRun,
    groups: Sequence[PlannedGroup],
) -> CalendarCells:
    edges = _edges(sheet.tiles)
    cells = [CellCounts(tile.start, tile.local) for tile in sheet.tiles]
    for at, state, count in made:
        cells[bisect_right(edges, at) - 1].counts[state.value] += count
    exact, budget, behind = unmade.complete and sheet.share == 1, StepBudget(STEPS), StepBudget(STEPS)
    foresight, plans = PlannedCounter(edges[0], edges[-1]), Counter[PlannedInstants]()
    for cell, fate, count in unmade.counts:
        cells[cell].unmake(fate, count)
    for _, entry in unmade.entries:
        found, sure = _spread(entry, sheet.schedule, edges, behind)
        exact &= sure
        for cell, count in found.items():
            cells[cell].unmake(entry.fate, count)
    for group in groups:
        if (skip := group.state.skipped(edges[0], edges[-1])) is not None:
            cells[bisect_right(edges, skip) - 1].skipped += group.number
        exact &= _skip_excluded(cells, group, edges, (behind, sheet.share))
        if (plan := foresight.of_state(group.state)) is not None:
            plans[plan] += group.number
    # Many schedules share a trigger, which is computed once.
    for plan, number in plans.items():
        spread, sure = plan.spread(edges, budget)
        exact &= sure
        for cell, count in spread.items():
            cells[cell].planned += round(count * number / sheet.share)
    return CalendarCells(sheet.zone, sheet.granularity, cells, exact)


def _skip_excluded(
    cells: Sequence[CellCounts], group: PlannedGroup, edges: Sequence[datetime], within: tuple[StepBudget, float]
) -> bool:
    """Add the instants ahead that calendars exclude; returns whether their cells are exact."""
    budget, share = within
    exact, trigger = True, group.state.trigger
    for line in islice(group.state.excluded(edges[0], edges[-1]), MOST_EXCLUDED):
        planned = PlannedInstants(trigger.with_excluded, line.first, line.last + _TICK, line.count)
        found, sure = planned.spread(edges, budget)
        exact &= sure
        for cell, count in found.items():
            cells[cell].skipped += round(count * group.number / share)
    return exact


def _spread(
    entry: LedgerEntry, schedule: Schedule | None, edges: Sequence[datetime], budget: StepBudget
) -> tuple[dict[int, int], bool]:
    """How many instants of a ledger range lie in which cell, and whether that is exact."""
    low, high = max(entry.first, edges[0]), min(entry.last, edges[-1] - _TICK)
    first, last = bisect_right(edges, low) - 1, bisect_right(edges, high) - 1
    whole = (low, high) == (entry.first, entry.last)
    if first == last and whole:
        return {first: entry.count}, True
    if schedule is None:
        return dict.fromkeys(range(first, last + 1), 1), False
    trigger, end = schedule.spec.trigger, high + _TICK
    count = entry.count if whole else min(trigger.count(low, end), entry.count)
    found, sure = PlannedInstants(trigger.with_excluded, low, end, count).spread(edges[first : last + 2], budget)
    return {first + cell: number for cell, number in found.items()}, sure
