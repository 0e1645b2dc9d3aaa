"""Use cases of filters: list, count and chart runs and schedules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb
from foliot.core.errors import Invalid
from foliot.core.failure_fingerprint import host_in, host_of
from foliot.core.ports import Clock
from foliot.core.queue_name import same_queue
from foliot.db.database import Database, Transaction
from foliot.engine.model.run import RunState
from foliot.engine.model.run_sort import RunSort
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.schedule_sort import ScheduleSort
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.ports import Actions
from foliot.engine.sql.runs import with_attempts
from foliot.features.filters.model import (
    FIELD,
    BucketWindow,
    FilterQuery,
    FilterTerm,
    RunColumns,
    StateCount,
    TimingCount,
    of_runs,
    of_schedules,
)
from foliot.features.filters.sql.lists import SqlSearch

KINDS = ("webhook", "crawl", "articles", "pipeline", "grpc", "task", "watch", "command", "celery")
"""Action kinds that a run can have even where this process cannot perform them."""
MOST_BUCKETS = 500
WIDTHS = (1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800)
USUAL_BUCKETS = 120
USUAL_SPAN = timedelta(hours=24)
MOST_POINTS = 50_000
MOST_TIMED = 50_000
"""Runs of one chart whose durations are read; of more, a random sample."""
FEW_TIMED = 2000
"""Runs whose durations are read although a histogram of them is kept."""

Parameters = Mapping[str, str | None]
NO_PARAMETERS: Parameters = MappingProxyType({})
_PARAMETERS = {"state": "state", "schedule_id": "schedule", "kind": "kind", "queue": "queue"}


@dataclass(frozen=True, slots=True)
class RunCounts:
    """How many runs match, in total and by state."""

    by_state: Mapping[RunState, int]

    @property
    def count(self) -> int:
        return sum(self.by_state.values())


@dataclass(slots=True)
class TimeBucket:
    """The runs that were created in one bucket."""

    at: datetime
    counts: Counter[str] = field(default_factory=Counter)
    took: Counter[int] = field(default_factory=Counter)
    late: int = 0

    def add(self, cell: StateCount) -> None:
        self.counts[cell.state.value] += cell.count

    def time(self, timing: TimingCount, share: float) -> None:
        """Late runs are scaled up by the share of the sample."""
        self.late += round(timing.count / share) if timing.late else 0
        if timing.took_ms is not None:
            self.took[timing.took_ms] += timing.count

    def percentile(self, share: float) -> int | None:
        """The quantile of the ended runs' durations, rounded to two digits."""
        ended = sum(self.took.values())
        seen = 0
        for took in sorted(self.took):
            seen += self.took[took]
            if seen >= share * ended:
                return took
        return None


@dataclass(frozen=True, slots=True)
class BucketSeries:
    """Runs over time; empty buckets are included."""

    window: BucketWindow
    buckets: Sequence[TimeBucket]
    timed: float
    """The share of the runs that durations and lateness were read from: 1 is all of them."""


@dataclass(frozen=True, slots=True)
class RunScatter:
    """Single runs over time: all of them, or, for frequent states, a sample."""

    window: BucketWindow
    points: RunColumns
    counts: Mapping[RunState, int]
    """All that have begun, sampled or not."""
    not_begun: int
    """Runs without a duration, and so without a point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The lists of the dashboard, with their counts and charts."""

    store: Database
    clock: Clock
    actions: Actions

    def read_runs(self, text: str | None, parameters: Parameters = NO_PARAMETERS, field: str = FIELD) -> FilterQuery:
        """A filter of runs; `parameters` (state, schedule_id, kind, queue) narrow it further."""
        query = of_runs(self._kinds()).read(text or "", self.clock.now(), field)
        terms = [
            FilterTerm(_PARAMETERS[name], tuple(value.split(",")) if name == "state" else (same_queue(value),))
            for name, value in parameters.items()
            if value
        ]
        return query.also(*terms)

    def read_schedules(
        self, text: str | None, parameters: Parameters = NO_PARAMETERS, field: str = FIELD
    ) -> FilterQuery:
        """A filter of schedules; `parameters` (status, type, kind, tag) narrow it further."""
        query = of_schedules(self._kinds()).read(text or "", self.clock.now(), field)
        return query.also(*(FilterTerm(name, (value,)) for name, value in parameters.items() if value))

    @query(Verb.READ, Thing.RUN)
    async def runs(self, ctx: QueryContext, page: PageRequest, query: FilterQuery) -> Sequence[RunView]:
        """Newest first."""
        async with ctx.read() as tx:
            views = await SqlSearch(tx).runs(ctx.tenant_id, query, page, self.clock.now())
            return await with_attempts(tx, views)

    @query(Verb.READ, Thing.RUN)
    async def sorted_runs(
        self, ctx: QueryContext, page: PageRequest, query: FilterQuery, sort: RunSort
    ) -> Sequence[tuple[RunView, str]]:
        """In this order, over all that match; each with the cursor of what follows it."""
        async with ctx.read() as tx:
            placed = await SqlSearch(tx).sorted_runs(ctx.tenant_id, query, sort, page, self.clock.now())
            views = await with_attempts(tx, [view for view, _ in placed])
            return list(zip(views, [place for _, place in placed], strict=True))

    @query(Verb.READ, Thing.RUN)
    async def count(self, ctx: QueryContext, query: FilterQuery) -> RunCounts:
        """Exact, however many there are."""
        async with ctx.read() as tx:
            return RunCounts(await SqlSearch(tx).count(ctx.tenant_id, query, self.clock.now()))

    @query(Verb.READ, Thing.RUN)
    async def series(
        self, ctx: QueryContext, query: FilterQuery, start: datetime | None, end: datetime | None, seconds: int | None
    ) -> BucketSeries:
        """By when the runs were made; without bounds, the last 24 hours."""
        now = self.clock.now()
        window = window_of(start, end, seconds, now)
        within = query.also(FilterTerm("since", at=window.start), FilterTerm("until", at=window.end))
        async with ctx.read() as tx:
            cells = await SqlSearch(tx).series(ctx.tenant_id, within, window, now)
            number = sum(cell.count for cell in cells)
            # Of few runs each is read; of many, the histogram that is kept, or else a sample.
            kept = await SqlSearch(tx).kept_timings(ctx.tenant_id, within, window) if number > FEW_TIMED else None
            share = 1.0 if kept is not None else min(MOST_TIMED / max(number, 1), 1.0)
            timings = kept or await SqlSearch(tx).timings(ctx.tenant_id, within, window, share, now)
        buckets = [TimeBucket(window.start + place * window.width) for place in range(window.buckets)]
        for cell in cells:
            if 0 <= cell.bucket < len(buckets):
                buckets[cell.bucket].add(cell)
        for timing in timings:
            if 0 <= timing.bucket < len(buckets):
                buckets[timing.bucket].time(timing, share)
        return BucketSeries(window, buckets, share)

    @query(Verb.READ, Thing.RUN)
    async def points(
        self,
        ctx: QueryContext,
        query: FilterQuery,
        start: datetime | None,
        end: datetime | None,
        most: int = MOST_POINTS,
    ) -> RunScatter:
        """By creation; without bounds, the last 24 hours. About `most` points, rare states before common ones."""
        now = self.clock.now()
        window = window_of(start, end, None, now)
        within = query.also(FilterTerm("since", at=window.start), FilterTerm("until", at=window.end))
        async with ctx.read() as tx:
            counted = await SqlSearch(tx).begun(ctx.tenant_id, within, now)
            counts = {state: begun for state, (_, begun) in counted.items() if begun}
            drawn = await SqlSearch(tx).points(ctx.tenant_id, within, window.start, shares(counts, most), now)
        return RunScatter(window, drawn, counts, sum(all_ - begun for all_, begun in counted.values()))

    @query(Verb.READ, Thing.SCHEDULE)
    async def schedules(self, ctx: QueryContext, page: PageRequest, query: FilterQuery) -> Sequence[Schedule]:
        """Newest first."""
        async with ctx.read() as tx:
            return await SqlSearch(tx).schedules(ctx.tenant_id, query, page)

    @query(Verb.READ, Thing.SCHEDULE)
    async def sorted_schedules(
        self, ctx: QueryContext, page: PageRequest, query: FilterQuery, sort: ScheduleSort
    ) -> Sequence[tuple[Schedule, str]]:
        """In this order, over all that match; each with the cursor of what follows it."""
        async with ctx.read() as tx:
            return await SqlSearch(tx).sorted_schedules(ctx.tenant_id, query, sort, page, self.clock.now())

    @query(Verb.READ, Thing.SCHEDULE)
    async def several_schedules(self, ctx: QueryContext, ids: Sequence[str]) -> Sequence[Schedule]:
        """Those of them that belong to the caller's tenant."""
        async with ctx.read() as tx:
            return await SqlSearch(tx).several_schedules(ctx.tenant_id, ids)

    @query(Verb.READ, Thing.SCHEDULE)
    async def count_schedules(self, ctx: QueryContext, query: FilterQuery) -> int:
        """Exact; deleted ones only if the filter names them."""
        async with ctx.read() as tx:
            return await SqlSearch(tx).count_schedules(ctx.tenant_id, query)

    def _kinds(self) -> frozenset[str]:
        return frozenset([*KINDS, *self.actions.kinds()])


def shares(counts: Mapping[RunState, int], most: int) -> dict[RunState, float]:
    """The share of each state within a total of `most`: rare states complete, common ones in part."""
    share_of, left = dict[RunState, float](), most
    for place, (state, number) in enumerate(sorted(counts.items(), key=lambda one: one[1])):
        drawn = min(number, left // (len(counts) - place))
        share_of[state] = drawn / number if number else 0
        left -= drawn
    return share_of


def window_of(start: datetime | None, end: datetime | None, seconds: int | None, now: datetime) -> BucketWindow:
    """The requested time range, with buckets of a round width."""
    until = end or max(now, start or now)
    begins = start or until - USUAL_SPAN
    if end is not None and begins >= end:
        raise Invalid("from", "must be before 'to'", got=begins.isoformat())
    span = max((until - begins).total_seconds(), 1)
    width = seconds or next((one for one in WIDTHS if span / one < USUAL_BUCKETS), 0) or int(span / USUAL_BUCKETS) + 1
    step = timedelta(seconds=width)
    if seconds is None or start is None:
        # Aligned to the full minute or hour, so that bars do not shift as time goes on and consist of kept counts.
        begins -= timedelta(seconds=begins.timestamp() % width)
    if end is None:
        # The current bucket is included as a whole.
        until = begins + ((until - begins) // step + 1) * step
    window = BucketWindow(begins, until, step)
    span = (until - begins).total_seconds()
    if window.buckets > MOST_BUCKETS:
        least = int(span / MOST_BUCKETS) + 1
        rule = f"makes {window.buckets} buckets; at most {MOST_BUCKETS} are drawn: ask for {least} or more"
        raise Invalid("bucket_seconds", rule, got=width)
    return window


async def hosts_of(tx: Transaction, tenant_id: str, runs: Sequence[RunView]) -> dict[str, str]:
    """The hosts that runs called, by run id: from their errors, or else from their actions."""
    actions = {run.id: run.action for run in runs}
    senders = {run.schedule_id for run in runs if run.action is None and run.schedule_id is not None}
    schedules = {one.id: one for one in await SqlSearch(tx).several_schedules(tenant_id, sorted(senders))}
    hosts = {}
    for run in runs:
        schedule = schedules.get(run.schedule_id or "")
        action = actions[run.id] or (schedule.action if schedule is not None else {})
        if host := host_of(run.error) or host_in(str(action.get("url", ""))):
            hosts[run.id] = host
    return hosts
