"""P1, P2, P3, Q2: due schedules become runs, beside raw driver calls that write the same rows, in one run.

    python bench/firing.py [--database URL] [--sizes 1000,100000,1000000] [--ddl]
    python bench/firing.py --stream [--seconds 60]

FOLIOT      the real ticker over the real store
RAW         the driver's own calls: same rows, columns, indexes, batch and durability; decides nothing
RAW x2      two such loops at once, each with its own connection: the ticker settles two batches side by side when it
            is behind, so that this is its like; not on SQLite, which has one writer
RAW NARROW  the same in the smallest tables that could be called a scheduler
APScheduler 3 on PostgreSQL, when it is installed: pip install -e '.[bench]'
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter

import uvloop
from database import NARROW as NARROW_TABLES
from database import NARROW_INDEX, POSTGRESQL, BenchDatabase, bench_database
from lateness import burst, stream
from measuring import Report, Stopwatch, child, rss_mb
from raw import BATCH, NARROW, RAW, RawLoop
from sqlalchemy.schema import CreateIndex, CreateTable

from foliot.db.database import Database
from foliot.engine.model.schedule import Overlap
from foliot.engine.node_reporter import EngineCounters
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.sql.tables import runs, schedules
from foliot.engine.ticker import Ticker
from foliot.testing import StoppedClock
from foliot.wakeups.feed import MemoryFeed

DUE = 20_000
IDLE_TICKS = 50
PEER = "APScheduler 3"


@dataclass(frozen=True, slots=True)
class Side:
    """One contender at one size."""

    name: str
    fire: Callable[[], Awaitable[int]]
    set_back: Callable[[], Awaitable[None]]
    verify: Callable[[], Awaitable[None]]
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    sizes: list[int]
    due: int
    repeats: int
    overlap: Overlap


def ticker(store: Database, now: datetime) -> Ticker:
    """As the engine wires it; the clock stands, so that the same instants are due in every sample."""
    return Ticker(
        clock=StoppedClock(now),
        store=store,
        feed=MemoryFeed(),
        meter=EngineCounters(),
        alarm=ReadyTimes(),
        batch=BATCH,
        longest_rest=1.0,
    )


async def sample(base: BenchDatabase, side: Side, due: int) -> Stopwatch:
    """Fire `due` schedules, in several rounds when fewer are stored; each round is checked."""
    watch = Stopwatch()
    for _ in range(max(1, due // base.due)):
        await side.set_back()
        await base.settle(*side.tables)
        before = await base.server_cpu()
        fired = 0
        watch.start(before)
        while count := await side.fire():
            fired += count
        watch.stop()
        watch.charge(await base.server_cpu())
        await side.verify()
    return watch


async def idle_tick(made: Ticker) -> float:
    """Milliseconds of a tick that finds nothing."""
    taken = []
    for _ in range(IDLE_TICKS):
        start = perf_counter()
        await made.run_once()
        taken.append(perf_counter() - start)
    return median(taken) * 1e3


def sides(base: BenchDatabase, made: Ticker, raws: list[RawLoop], narrow: RawLoop, now: datetime) -> list[Side]:
    async def settled() -> int:
        return (await made.run_once()).settled

    async def both() -> int:
        return sum(await asyncio.gather(*(raw.fire(now) for raw in raws)))

    async def verify_narrow() -> None:
        await base.verify(narrow=True)

    wide = ("runs", "schedules")
    pair = [Side("RAW x2", both, base.set_back, base.verify, wide)] if len(raws) > 1 else []
    return [
        Side("FOLIOT", settled, base.set_back, base.verify, wide),
        Side("RAW", lambda: raws[0].fire(now), base.set_back, base.verify, wide),
        *pair,
        Side(
            "RAW NARROW",
            lambda: narrow.fire(now),
            base.set_back_narrow,
            verify_narrow,
            ("narrow_runs", "narrow_schedules"),
        ),
    ]


async def one_size(base: BenchDatabase, stored: int, plan: Plan, report: Report) -> None:
    now = datetime.now(UTC)
    start = perf_counter()
    await base.fill(stored, min(plan.due, stored), now, overlap=plan.overlap)
    await base.fill_narrow()
    report.note(f"{stored:,} schedules stored in {perf_counter() - start:.1f} s, {base.due:,} due at a time")
    store = Database(base.url)
    raws, narrow = [RAW[base.dialect]() for _ in range(1 if base.dialect == "sqlite" else 2)], NARROW[base.dialect]()
    for loop in (*raws, narrow):
        await loop.open(base.url)
    try:
        made = ticker(store, now)
        contenders = sides(base, made, raws, narrow, now)
        # Statements are compiled and prepared, and caches warm, before the clock starts.
        for side in contenders:
            await sample(base, side, base.due)
        for repeat in range(plan.repeats):
            first = repeat % len(contenders)
            for side in contenders[first:] + contenders[:first]:
                watch = await sample(base, side, plan.due)
                count = base.due * max(1, plan.due // base.due)
                report.time(f"{side.name} {stored:,}", count, watch)
                print(f"  {side.name:12}{stored:>10,} stored {count / watch.wall:>10,.0f}/s", flush=True)
        await base.empty("runs")
        # SQLite was filled in this very process, so that its memory says nothing about the ticker's.
        memory = None if base.dialect == "sqlite" else rss_mb()
        report.add(f"FOLIOT {stored:,}", idle_tick_ms=await idle_tick(made), rss_mb=memory)
    finally:
        for loop in (*raws, narrow):
            await loop.close()
        await store.close()


def compare(report: Report, plan: Plan, dialect: str) -> None:
    """Ratios of medians, and the goals they answer."""
    least = {"postgresql": 0.6, "sqlite": 0.4}.get(dialect)
    for size in plan.sizes:
        ours, idle = f"FOLIOT {size:,}", report.middle(f"FOLIOT {size:,}", "idle_tick_ms")
        for other in ("RAW", "RAW x2", "RAW NARROW"):
            ratio = report.ratio(ours, f"{other} {size:,}")
            if ratio is not None:
                report.add(f"FOLIOT : {other} {size:,}", ratio=ratio)
            if least is not None and other != "RAW NARROW" and ratio is not None:
                report.goal(f"P1 at {size:,}: {ratio:.0%} of {other} (at least {least:.0%})", met=ratio >= least)
        if idle is not None:
            report.goal(f"P2 at {size:,}: an idle tick takes {idle:.2f} ms (at most 2)", met=idle <= 2)
    small, large = f"{plan.sizes[0]:,}", f"{plan.sizes[-1]:,}"
    kept = {name: report.ratio(f"{name} {large}", f"{name} {small}") for name in ("FOLIOT", "RAW", "RAW NARROW")}
    if small != large:
        for name, ratio in kept.items():
            report.add(f"{name} {small} -> {large}", ratio=ratio)
        if kept["FOLIOT"] and kept["RAW"]:
            text = f"P2: from {small} to {large} we keep {kept['FOLIOT']:.0%} of the throughput, raw {kept['RAW']:.0%}"
            report.goal(text, met=kept["FOLIOT"] >= kept["RAW"] * 0.95)
    peer = report.ratio(f"FOLIOT {small}", PEER)
    if peer is not None:
        report.add(f"FOLIOT : {PEER}", ratio=peer)
        report.goal(f"P1: {peer:.1f} x {PEER} (at least 12)", met=peer >= 12)


def peer(report: Report, url: str, count: int, repeats: int) -> None:
    if not url.startswith("postgresql"):
        return
    if find_spec("apscheduler") is None or find_spec("psycopg") is None:
        report.note(f"{PEER} is not installed and is left out: pip install -e '.[bench]'")
        return
    for _ in range(repeats):
        answer = child(["peers/apscheduler3.py", url, str(count)])
        report.add(PEER, per_second=answer["per_second"], last_late_s=answer["last_late_s"])
        print(f"  {PEER:12}{count:>10,} stored {answer['per_second']:>10,.0f}/s", flush=True)


def ddl(dialect: str) -> None:
    """The tables of both sides, the statements, the batch and the durability."""
    from sqlalchemy import create_mock_engine

    shown = create_mock_engine(f"{dialect}://", executor=lambda *_: None).dialect
    for table in (schedules, runs):
        print(str(CreateTable(table).compile(dialect=shown)).strip() + ";")
        for index in sorted(table.indexes, key=lambda one: str(one.name)):
            print(str(CreateIndex(index).compile(dialect=shown)) + ";")
    print("\n-- RAW writes the tables above. RAW NARROW:")
    print(";\n".join((*NARROW_TABLES[dialect], NARROW_INDEX)) + ";")
    for name, loop in (("RAW", RAW[dialect]()), ("RAW NARROW", NARROW[dialect]())):
        print(f"\n-- {name}, per batch of {BATCH}:\n" + ";\n".join(loop.statements()) + ";")
    durable = {
        "postgresql": "synchronous_commit and fsync as the server has them (on by default), one commit per batch",
        "sqlite": "journal_mode=WAL, synchronous=FULL, one commit per batch",
        "mysql": "innodb_flush_log_at_trx_commit as the server has it (1 by default), one commit per batch",
    }
    print(f"\n-- All sides: {durable[dialect]}")


async def measure(url: str, plan: Plan, report: Report, *, peer_count: int) -> None:
    async with bench_database(url) as base:
        for stored in plan.sizes:
            await one_size(base, stored, plan, report)
        if peer_count:
            peer(report, url, peer_count, plan.repeats)
        compare(report, plan, base.dialect)


async def measure_lateness(url: str, seconds: int, report: Report) -> None:
    async with bench_database(url) as base:
        await stream(base, seconds, report)
        await burst(base, report)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default=POSTGRESQL, help="created and dropped; its name must contain 'bench'")
    parser.add_argument("--sizes", default="1000,100000,1000000")
    parser.add_argument("--due", type=int, default=DUE, help="schedules fired in one sample")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--overlap", type=Overlap, default=Overlap.SKIP, choices=list(Overlap))
    parser.add_argument("--peer", type=int, default=2000, help="schedules of APScheduler; 0 leaves it out")
    parser.add_argument("--ddl", action="store_true", help="print tables and statements of all sides, and leave")
    parser.add_argument("--stream", action="store_true", help="lateness instead of throughput")
    parser.add_argument("--seconds", type=int, default=60, help="how long the stream lasts")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    dialect = given.database.split(":")[0].split("+")[0]
    if given.ddl:
        ddl(dialect)
        return
    report = Report(f"{'stream' if given.stream else 'firing'}-{dialect}")
    if given.stream:
        uvloop.run(measure_lateness(given.database, given.seconds, report))
    else:
        sizes = sorted(int(size) for size in given.sizes.split(","))
        plan = Plan(sizes, given.due, given.repeats, given.overlap)
        uvloop.run(measure(given.database, plan, report, peer_count=given.peer))
    report.show()
    print(report.write(given.json))


if __name__ == "__main__":
    main()
