"""P3, Q2: how late runs are made and started, for an even stream of instants and for many at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any

from database import ACTION, BenchDatabase
from measuring import Report, percentile
from noop import KIND, Noop, noop_engine
from queues import PostgresSame

from foliot.cli.process import calm_memory
from foliot.core.ids import SCHEDULE, new_id
from foliot.core.time.trigger import FixedInterval, Trigger
from foliot.db.clock import StoreClock
from foliot.db.database import Database, Transaction
from foliot.engine.model.schedule import Overlap, ScheduleSpec
from foliot.engine.model.settle import SchedulePlan
from foliot.engine.model.views import PlansRecorded
from foliot.engine.ports import ActionContext
from foliot.engine.sql.due_schedules import SqlFiring
from foliot.engine.sql.tables import schedules, versions
from foliot.wakeups.feed import MemoryFeed

STORED = 10_000
RATE = 500
BURST = 10_000
SLOTS = 100
WARM = 2.0
STREAM = "Even stream"
"""The name of all schedules that are stored here."""
TABLES = ("attempts", "runs", "schedules", "versions", "spans", "ledger", "log_chunks")


@dataclass(slots=True)
class Watched:
    """The store, with an eye on when the runs of an instant are committed: only then are they made."""

    store: Database
    clock: StoreClock
    made: list[tuple[datetime, datetime]] = field(default_factory=list)
    recorded: dict[int, list[datetime]] = field(default_factory=dict)
    """By transaction, the instants whose runs it creates."""

    def __post_init__(self) -> None:
        record = SqlFiring.record

        async def noted(firing: SqlFiring, plans: Sequence[SchedulePlan], now: datetime) -> PlansRecorded:
            self.recorded.get(id(firing.tx), []).extend(run.scheduled_for for plan in plans for run in plan.runs)
            return await record(firing, plans, now)

        SqlFiring.record = noted  # type: ignore[method-assign] -- a benchmark's own process

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Transaction]:
        instants: list[datetime] = []
        async with self.store.begin() as tx:
            self.recorded[id(tx)] = instants
            yield tx
            del self.recorded[id(tx)]
        now = self.clock.now()
        self.made += [(instant, now) for instant in instants]

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        async with self.store.read() as tx:
            yield tx

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[Transaction]:
        async with self.store.glance() as tx:
            yield tx


async def store_schedules(
    store: Database, firsts: Sequence[datetime], seconds: int, now: datetime, action: Mapping[str, Any] = ACTION
) -> None:
    """Intervals with anchors of their own, so that their instants are spread as evenly as the anchors."""
    spec = ScheduleSpec(trigger=Trigger(FixedInterval(seconds, now)), kind=KIND, overlap=Overlap.SKIP).dump()
    for start in range(0, len(firsts), 5000):
        part = firsts[start : start + 5000]
        count = len(part)
        ids = [new_id(SCHEDULE) for _ in part]
        same: dict[str, Any] = {"tenant_id": "default", "version": 1, "spec": spec, "created_at": now, "action": action}
        common = {name: [value] * count for name, value in same.items()} | {"anchor": list(part)}
        also = {"user_id": "", "name": STREAM, "description": "", "tags": "", "type": "interval", "kind": KIND}
        own = {name: [value] * count for name, value in (also | {"status": "active", "updated_at": now}).items()}
        async with store.begin() as tx:
            await store.dialect.insert(tx.conn, schedules, {"id": ids, "next_at": list(part), **common, **own})
            await store.dialect.insert(tx.conn, versions, {"schedule_id": ids, **common})


@asynccontextmanager
async def _engine(base: BenchDatabase) -> AsyncIterator[tuple[Watched, list[float], Any]]:
    await base.empty(*TABLES)
    store, clock = Database(base.url), StoreClock()
    watched, started = Watched(store, clock), list[float]()

    def note(ctx: ActionContext) -> None:
        if ctx.scheduled_for is not None:
            started.append((clock.now() - ctx.scheduled_for).total_seconds())

    engine = noop_engine(watched, clock, MemoryFeed(), Noop(note), SLOTS)
    try:
        yield watched, started, engine
    finally:
        await engine.stop(10)
        await store.close()


async def stream(base: BenchDatabase, seconds: int, report: Report) -> None:
    """RATE instants each second among STORED schedules, with workers that run them."""
    name = f"FOLIOT, {RATE} instants/s for {seconds} s"
    async with _engine(base) as (watched, started, engine):
        first = watched.clock.now() + timedelta(seconds=WARM + 3)
        step = timedelta(seconds=1 / RATE)
        await store_schedules(
            watched.store, [first + step * at for at in range(STORED)], STORED // RATE, watched.clock.now()
        )
        await base.settle("schedules", "versions")
        await engine.start()
        calm_memory()
        await asyncio.sleep((first - watched.clock.now()).total_seconds() + seconds)
        end = watched.clock.now()
        await asyncio.sleep(1)
        made = [(instant, at) for instant, at in watched.made if instant < end]
    expected = int((end - first) / step)
    late = [(at - instant).total_seconds() * 1e3 for instant, at in made]
    starts = [second * 1e3 for second in started]
    for word, values in (("created", late), ("started", starts)):
        shares = {f"{word}_p{share}_ms": percentile(values, share / 100) for share in (50, 99, 100)}
        report.add(name, **shares)
    report.note(f"{len(made):,} runs of about {expected:,} instants were made, {len(started):,} started")
    middle, worst = percentile(late, 0.5), percentile(late, 0.99)
    report.goal(
        f"P3: created {middle:.1f} ms (at most 10), p99 {worst:.1f} ms (at most 50) late",
        met=middle <= 10 and worst <= 50,
    )
    report.goal(f"P3: none left out ({len(made):,})", met=len(made) >= expected * 0.999)


async def raw_claims(base: BenchDatabase) -> float:
    """Seconds in which a raw loop claims as many, 500 at a time, each claim committed; it starts nothing."""
    await base.empty(*TABLES)
    queue = PostgresSame(500)
    await queue.open(base.url)
    try:
        await queue.enqueue(BURST)
        await base.settle("runs")
        began = perf_counter()
        while await queue.take():
            pass
        return perf_counter() - began
    finally:
        await queue.close()


async def burst(base: BenchDatabase, report: Report, repeats: int = 3) -> None:
    """BURST schedules due at one instant, with workers running: when is the last one made?"""
    name = f"FOLIOT, {BURST:,} due at once"
    for _ in range(repeats):
        async with _engine(base) as (watched, started, engine):
            due = watched.clock.now() + timedelta(seconds=WARM + 3)
            await store_schedules(watched.store, [due] * BURST, 3600, watched.clock.now())
            await base.settle("schedules", "versions")
            await engine.start()
            calm_memory()
            await asyncio.sleep((due - watched.clock.now()).total_seconds())
            async with asyncio.timeout(60):
                while len(started) < BURST:  # noqa: ASYNC110 -- an event would have to be set by what is measured
                    await asyncio.sleep(0.01)
            last = max((at - instant).total_seconds() for instant, at in watched.made)
            report.add(name, last_created_s=last, last_started_s=max(started), runs=float(len(watched.made)))
        if base.dialect == "postgresql":
            report.add("RAW CLAIMS", last_started_s=await raw_claims(base))
    found = report.middle(name, "last_created_s") or 0.0
    report.goal(f"P3: the last of {BURST:,} is made after {found:.2f} s (at most 1.5)", met=found <= 1.5)
    ratio = report.ratio(name, "RAW CLAIMS", "last_started_s")
    if ratio is not None:
        report.goal(f"Q2: the last starts after {ratio:.1f} x the raw claim loop (at most 3)", met=ratio <= 3)
