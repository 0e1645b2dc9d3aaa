"""The timeline: past runs, instants without a run and planned instants, folded to a limited number of marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Caller, Thing, Verb
from foliot.core.errors import Invalid
from foliot.core.ports import Clock
from foliot.core.threads import REQUESTS
from foliot.db.database import Database, Transaction
from foliot.engine.model.ledger import LedgerEntry
from foliot.engine.model.planned_counts import (
    FiringState,
    PlannedCounter,
    PlannedInstants,
    StepBudget,
)
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.schedule_sort import Urgency
from foliot.features.filters.model import FilterQuery
from foliot.features.filters.sql.lists import SqlSearch
from foliot.features.filters.usecases import shares
from foliot.features.insights.model.history import HistoryBar, HistoryWindow
from foliot.features.insights.model.planned_marks import SINGLE, STEPS, PlannedMarks, skipped_ahead
from foliot.features.insights.model.plans import PlannedGroup, PlannedGroups
from foliot.features.insights.model.timeline import (
    RunLink,
    TimelineGrouping,
    TimelineLane,
    TimelinePoint,
    chosen,
    collisions,
    fold,
    folds,
    width_of,
)
from foliot.features.insights.sql.history import SqlHistory
from foliot.features.insights.sql.plans import SqlPlans
from foliot.features.schedules.sql import SqlScheduleHealth

LaneSource = Callable[
    [Transaction, Caller, HistoryWindow], Awaitable[Sequence[tuple[TimelineLane, FiringState | None]]]
]
"""Rows of another feature, which has a few: their past marks, and what they have planned."""
PAST = FUTURE = timedelta(hours=24)
LONGEST = timedelta(days=366)
BUCKETS = 96
MOST_GROUPS = 80
MOST_SCHEDULES = 300
"""Schedules that are read; of more, the most urgent."""
MOST_FOLDS = 12
"""Density rows of the schedules that have no row of their own."""
MOST_COLLISIONS = 100
MOST_DRAWN = 4000
"""Runs that rows of many schedules are drawn from; of more, a random sample, rare states complete."""
LOOSE = ""
"""The key of runs without a schedule."""
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class TimelineView:
    """A timeline."""

    start: datetime
    end: datetime
    now: datetime
    width: int
    groups: Sequence[TimelineLane]
    collisions: Sequence[tuple[datetime, int]]
    dropped: int
    """Groups left out, beyond the limit; schedules are never left out, but folded."""
    rest: Sequence[TimelineLane]
    """Density rows, by tag or kind, of the schedules without a row of their own."""
    complete: bool
    """Whether every range of instants without a run is included; of very many, only the newest are."""
    sampled: bool = False
    """Whether counts of frequent states are estimated from a random sample of the runs, in rows of many schedules."""

    links: Sequence[RunLink] = ()
    """Runs with a mark of their own that follow runs of other rows."""

    @property
    def marks(self) -> int:
        return sum(len(group.marks) for group in [*self.groups, *self.rest])

    @property
    def points(self) -> Iterator[TimelinePoint]:
        return (mark for group in self.groups for mark in group.marks)


@dataclass(frozen=True, slots=True)
class _StoredPast:
    """What is stored of the range."""

    ranked: Sequence[tuple[Schedule, Urgency]]
    """The most urgent schedules."""
    bars: Sequence[HistoryBar]
    unmade: Sequence[tuple[str, LedgerEntry]]
    names: Mapping[str, str]
    """Names of schedules that were deleted, or not read."""
    complete: bool
    sampled: bool
    plans: PlannedGroups
    """What all schedules have planned; where rows are schedules, of those that have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timelines:
    """Builds the past from runs and ledger, the future from triggers."""

    store: Database
    clock: Clock
    sources: Sequence[LaneSource] = ()

    @query(Verb.READ, Thing.RUN, (Verb.READ, Thing.SCHEDULE))
    async def strip(
        self,
        ctx: QueryContext,
        query: FilterQuery,
        start: datetime | None = None,
        end: datetime | None = None,
        by: TimelineGrouping = TimelineGrouping.SCHEDULE,
        rows: int = MOST_GROUPS,
    ) -> TimelineView:
        """`query` selects some schedules; without bounds, a day back and a day ahead."""
        now = self.clock.now()
        start, end = window(start, end, now)
        stretch = HistoryWindow(start, end, width_of(end - start, BUCKETS), by)
        async with ctx.read() as tx:
            past = await _read(tx, ctx.tenant_id, query, stretch, now, rows)
            others = [] if query or by is not TimelineGrouping.SCHEDULE else await self._others(tx, ctx.caller, stretch)
        keys = {lane.key for lane, _ in others}
        past = replace(past, unmade=[each for each in past.unmade if each[0] not in keys])
        # Computing thousands of triggers takes a while, and must not block the event loop.
        view = await REQUESTS.run(_draw, past, stretch, now, rows)
        if by is TimelineGrouping.SCHEDULE and len(past.ranked) > len(view.groups):
            shown = [group.key for group in view.groups if group.key]
            own = [one for one, _ in past.ranked if one.id in set(shown)]
            async with ctx.read() as tx:
                plans = await _plans(tx, ctx.tenant_id, query, now)
                drawn = {} if query else await _drawn(tx, ctx.tenant_id, stretch)
                bars = await SqlHistory(tx).rest(ctx.tenant_id, stretch, query, shown, drawn)
            view = replace(await REQUESTS.run(_with_rest, view, plans, own, bars), sampled=bool(drawn))
        if others:
            view = await REQUESTS.run(_with_others, view, others)
        fold([*view.groups, *view.rest], stretch.width)
        if by is TimelineGrouping.SCHEDULE and (shown := [mark.run_id for mark in view.points if mark.run_id]):
            async with ctx.read() as tx:
                links = await SqlHistory(tx).links(ctx.tenant_id, shown)
            keys = {group.key for group in view.groups}
            view = replace(view, links=[one for one in links if one.parent_key in keys and one.ended_at >= start])
        return view

    async def _others(
        self, tx: Transaction, caller: Caller, stretch: HistoryWindow
    ) -> list[tuple[TimelineLane, FiringState | None]]:
        return [lane for source in self.sources for lane in await source(tx, caller, stretch)]


def window(start: datetime | None, end: datetime | None, now: datetime) -> tuple[datetime, datetime]:
    """A time range with both ends, of a permitted length."""
    start = start or (now if end is None else min(end, now)) - PAST
    end = end or max(start, now) + FUTURE
    if end <= start:
        raise Invalid("to", "must be later than 'from'", got=end.isoformat())
    if end - start > LONGEST:
        raise Invalid("to", f"must be at most {LONGEST.days} days after 'from'", got=end.isoformat())
    return start, end


async def _read(
    tx: Transaction, tenant_id: str, query: FilterQuery, stretch: HistoryWindow, now: datetime, rows: int
) -> _StoredPast:
    ranked = await SqlSearch(tx).ranked_schedules(tenant_id, query, MOST_SCHEDULES, now)
    mine = {one.id for one, _ in ranked}
    only = sorted(mine) if query else None
    plans = PlannedGroups([], more=False)
    if stretch.by is not TimelineGrouping.SCHEDULE:
        plans = await _plans(tx, tenant_id, query, now)
    elif len(ranked) > rows:
        only = await _candidates(tx, tenant_id, [one for one, _ in ranked], stretch, now)
    rows_of_many = stretch.by is not TimelineGrouping.SCHEDULE and only is None
    drawn = await _drawn(tx, tenant_id, stretch) if rows_of_many else {}
    bars = await SqlHistory(tx).bars(tenant_id, stretch, only, drawn)
    found = await SqlHistory(tx).unmade(tenant_id, stretch.start, stretch.end, only)
    unmade = found.entries
    keys = {bar.key for bar in bars if bar.key is not None} if stretch.by is TimelineGrouping.SCHEDULE else set()
    strangers = (keys | {schedule_id for schedule_id, _ in unmade}) - mine
    names = await SqlScheduleHealth(tx).names(tenant_id, sorted(strangers))
    return _StoredPast(ranked, bars, unmade, names, complete=not found.more, sampled=bool(drawn), plans=plans)


async def _drawn(tx: Transaction, tenant_id: str, stretch: HistoryWindow) -> dict[RunState, float]:
    """The share of the runs in each frequent state that rows of many schedules are estimated from."""
    number = await SqlHistory(tx).number(tenant_id, stretch)
    return {state: share for state, share in shares(number, MOST_DRAWN).items() if share < 1}


async def _candidates(
    tx: Transaction, tenant_id: str, schedules: Sequence[Schedule], stretch: HistoryWindow, now: datetime
) -> list[str]:
    """The groups among which `chosen` will choose: the past of others need not be read."""
    found = {one.id for one in schedules}
    if stretch.end <= now:
        history = SqlHistory(tx)
        found |= set(await history.failing(tenant_id, stretch, None, MOST_GROUPS))
        found |= set((await history.missing(tenant_id, stretch.start, stretch.end))[:MOST_GROUPS])
    return sorted(found)


def _draw(past: _StoredPast, stretch: HistoryWindow, now: datetime, most: int) -> TimelineView:
    rows = _GroupRows(stretch.by, {one.id: one for one, _ in past.ranked}, past.names, {})
    for bar in past.bars:
        # A waiting run has no duration, a running one lasts until now.
        until = None if bar.state is RunState.QUEUED else bar.until if bar.state.final else now
        single = bar.run_id if bar.count == 1 else None
        for group in rows.of_bar(bar):
            group.marks.append(TimelinePoint(bar.at, until, bar.state.value, bar.count, single))
    schedules = [schedule for schedule, _ in past.ranked]
    for schedule_id, entry in [*past.unmade, *skipped_ahead(schedules, stretch)]:
        mark = _unmade(entry, rows.known.get(schedule_id), stretch)
        for group in rows.of_schedule(schedule_id):
            group.marks.append(mark)
    rows.rank(past.ranked)
    # Many schedules share a trigger: it is computed once, and in a row of many schedules counted at once.
    foresight = PlannedCounter(stretch.start, stretch.end)
    plans: dict[str, Counter[PlannedInstants]] = {}
    every: Counter[PlannedInstants] = Counter()
    for plan, number, groups in _planned(past, rows, foresight):
        every[plan] += number
        for group in groups:
            group.due = min(group.due or plan.start, plan.start)
            plans.setdefault(group.key, Counter())[plan] += number
    # Marks are computed only for the groups that are shown.
    shown, dropped = chosen(rows.made.values(), most, past=stretch.end <= now)
    pencil = PlannedMarks.on(stretch)
    for group in shown:
        group.marks += pencil.planned(plans.get(group.key, Counter()))
        rows.describe(group)
    meetings = collisions(_starts(every), MOST_COLLISIONS)
    dropped = 0 if stretch.by is TimelineGrouping.SCHEDULE else dropped
    return TimelineView(
        stretch.start, stretch.end, now, stretch.width, shown, meetings, dropped, [], past.complete, past.sampled
    )


def _planned(
    past: _StoredPast, rows: _GroupRows, foresight: PlannedCounter
) -> Iterator[tuple[PlannedInstants, int, list[TimelineLane]]]:
    """Each plan, of how many schedules it is, and their rows."""
    if rows.by is TimelineGrouping.SCHEDULE:
        for schedule, _ in past.ranked:
            if plan := foresight.of(schedule):
                yield plan, 1, rows.of_schedule(schedule.id)
        return
    for one in past.plans.items:
        if plan := foresight.of_state(one.state):
            yield plan, one.number, rows.of_plan(one)


async def _plans(tx: Transaction, tenant_id: str, query: FilterQuery, now: datetime) -> PlannedGroups:
    """What the schedules that match have planned."""
    plans = SqlPlans(tx)
    return await (plans.groups(tenant_id, query, labelled=True) if query else plans.every(tenant_id, now))


def _with_others(view: TimelineView, others: Sequence[tuple[TimelineLane, FiringState | None]]) -> TimelineView:
    """Adds the rows of what is no schedule: what is late or missed first, the rest behind the schedules."""
    stretch = HistoryWindow(view.start, view.end, view.width)
    foresight, pencil = PlannedCounter(stretch.start, stretch.end), PlannedMarks.on(stretch)
    for lane, state in others:
        if state is not None and (plan := foresight.of_state(state)):
            lane.marks += pencil.planned({plan: 1})
    there = [lane for lane, _ in others if lane.marks]
    bad = [lane for lane in there if lane.urgency in {Urgency.MISSED, Urgency.LATE}]
    return replace(view, groups=[*bad, *view.groups, *(lane for lane in there if lane not in bad)])


def _with_rest(
    view: TimelineView, plans: PlannedGroups, own: Sequence[Schedule], bars: Sequence[HistoryBar]
) -> TimelineView:
    """Adds density rows of the schedules that have no row of their `own`: by their first tag, else by their kind."""
    stretch = HistoryWindow(view.start, view.end, view.width)
    lanes: dict[str, TimelineLane] = {}
    planned: dict[str, Counter[PlannedInstants]] = {}
    every: Counter[PlannedInstants] = Counter()
    foresight = PlannedCounter(stretch.start, stretch.end)
    shown = [PlannedGroup(state, -1, one.spec.kind, one.tags) for one in own if (state := FiringState.of(one))]
    for group in [*plans.items, *shown]:
        if plan := foresight.of_state(group.state):
            lane = _fold_of(lanes, group.tags, group.kind)
            lane.schedules += group.number
            planned.setdefault(lane.key, Counter())[plan] += group.number
            every[plan] += group.number
    for bar in bars:
        kind, *tags = (part for part in (bar.key or "").split("\n") if part)
        until = None if bar.state is RunState.QUEUED else bar.until if bar.state.final else view.now
        lane = _fold_of(lanes, tags, kind)
        lane.marks.append(TimelinePoint(bar.at, until, bar.state.value, bar.count))
    pencil = PlannedMarks.on(stretch)
    for key, counts in planned.items():
        lanes[key].marks += pencil.counted(counts)
    meetings = Counter(dict(view.collisions)) if not every else _starts(every)
    for row in view.groups if every else ():
        meetings.update(dict.fromkeys(row.starts, 1))
    return replace(view, rest=folds(lanes.values(), MOST_FOLDS), collisions=collisions(meetings, MOST_COLLISIONS))


def _fold_of(lanes: dict[str, TimelineLane], tags: Sequence[str], kind: str) -> TimelineLane:
    key, name = (f"tag:{tags[0]}", f"#{tags[0]}") if tags else (f"kind:{kind}", kind)
    return lanes.setdefault(key, TimelineLane(key, name, kind, q=key, schedules=0))


def _starts(plans: Mapping[PlannedInstants, int]) -> Counter[datetime]:
    """How many schedules begin at which minute; very frequent ones are not counted."""
    budget, starts = StepBudget(STEPS), Counter[datetime]()
    for plan, number in plans.items():
        if plan.count <= SINGLE and budget.take(plan.count):
            for minute in {at.replace(second=0, microsecond=0) for at in plan.instants()}:
                starts[minute] += number
    return starts


def _unmade(entry: LedgerEntry, schedule: Schedule | None, stretch: HistoryWindow) -> TimelinePoint:
    """A ledger range, cut to the time range."""
    first, last = max(entry.first, stretch.start), min(entry.last, stretch.end)
    count = entry.count
    if schedule is not None and (first, last) != (entry.first, entry.last):
        count = max(min(schedule.spec.trigger.count(first, last + _TICK), count), 1)
    return TimelinePoint(first, last, entry.fate.value, count)


@dataclass(frozen=True, slots=True)
class _GroupRows:
    """The groups, created as they are needed."""

    by: TimelineGrouping
    known: Mapping[str, Schedule]
    names: Mapping[str, str]
    made: dict[str, TimelineLane]

    def of_bar(self, bar: HistoryBar) -> list[TimelineLane]:
        match self.by:
            case TimelineGrouping.SCHEDULE:
                return self.of_schedule(bar.key or LOOSE)
            case TimelineGrouping.QUEUE:
                return [self._group(bar.key or "")]
            case TimelineGrouping.TAG:
                return [self._group(tag) for tag in (bar.key or "").split("\n") if tag]

    def of_schedule(self, schedule_id: str) -> list[TimelineLane]:
        schedule = self.known.get(schedule_id)
        match self.by:
            case TimelineGrouping.SCHEDULE:
                return [self._row(schedule_id, schedule)]
            case TimelineGrouping.QUEUE:
                return [] if schedule is None else [self._group(schedule.spec.queue)]
            case TimelineGrouping.TAG:
                return [] if schedule is None else [self._group(tag) for tag in schedule.tags]

    def rank(self, ranked: Sequence[tuple[Schedule, Urgency]]) -> None:
        """A row has the place of its most urgent schedule."""
        for place, (schedule, urgency) in enumerate(ranked):
            for group in self.of_schedule(schedule.id):
                if place < group.place:
                    group.place, group.urgency = place, urgency

    def of_plan(self, plan: PlannedGroup) -> list[TimelineLane]:
        keys = [plan.queue] if self.by is TimelineGrouping.QUEUE else plan.tags
        return [self._group(key) for key in keys]

    def _group(self, key: str) -> TimelineLane:
        return self.made.setdefault(key, TimelineLane(key, key))

    def _row(self, schedule_id: str, schedule: Schedule | None) -> TimelineLane:
        if schedule_id not in self.made:
            self.made[schedule_id] = self._new(schedule_id, schedule)
        return self.made[schedule_id]

    def _new(self, schedule_id: str, schedule: Schedule | None) -> TimelineLane:
        if schedule is not None:
            return TimelineLane(schedule_id, schedule.name, schedule.spec.kind, schedule_id)
        if schedule_id == LOOSE:
            return TimelineLane(LOOSE, "Without a schedule")
        return TimelineLane(schedule_id, self.names.get(schedule_id, schedule_id), schedule_id=schedule_id)

    def describe(self, group: TimelineLane) -> None:
        """Adds details that are costly to compute, for groups that are shown."""
        schedule = self.known.get(group.schedule_id or "")
        if schedule is not None:
            group.summary, group.timezone = schedule.spec.trigger.summary, schedule.spec.trigger.rule.zone
