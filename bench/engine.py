"""P5, Q3: no-op runs per second on embedded workers, every state durable, beside raw queues and peers, in one run.

    python bench/engine.py [--database URL] [--runs 10000] [--slots 100,500]

FOLIOT      the real engine: dispatcher, executor, recorder, keeper and the others
RAW QUEUE   asyncpg: claim and finish in batches of 100, in the smallest table that could be called a queue
RAW SAME    asyncpg: claim, finish and note the attempt in batches of 100, in Foliot's own tables
Dramatiq on Redis, Procrastinate on PostgreSQL and Huey on SQLite, when installed: pip install -e '.[bench]'

Throughput is measured from the first tenth of the runs to the last, start-up left out, on all sides alike.
"""

from __future__ import annotations

import argparse
import asyncio
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import uvloop
from database import POSTGRESQL, BenchDatabase, bench_database
from measuring import Report, Stopwatch, child, percentile, rss_mb
from noop import KIND, Noop, noop_engine
from queues import QUEUES, RawQueue

from foliot.cli.process import calm_memory
from foliot.core.ids import RUN, new_id
from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.engine.model.run import Origin
from foliot.engine.model.views import RunRequest
from foliot.engine.ports import ActionContext
from foliot.engine.sql.runs import SqlRuns
from foliot.wakeups.feed import RUNS_TOPIC, MemoryFeed

DEFAULT_SLOTS = 100
"""Of the product: Q3 is judged here."""
Q3 = {"postgresql": {"RAW SAME": 0.8, "Dramatiq + Redis": 2.5}, "sqlite": {"RAW SAME": 0.6}}
SINGLES = 200
PAUSE = 0.02
TABLES = ("attempts", "runs", "schedules", "versions", "ledger", "log_chunks")
PEERS = {
    "dramatiq": ("Dramatiq + Redis", ("dramatiq", "redis"), 4000),
    "procrastinate": ("Procrastinate", ("procrastinate", "psycopg"), 1500),
    "huey": ("Huey + SQLite", ("huey",), 2000),
}


def request() -> RunRequest:
    """A run as somebody would ask for it."""
    return RunRequest(
        id=new_id(RUN),
        tenant_id="default",
        user_id="someone@example.com",
        kind=KIND,
        origin=Origin.MANUAL,
        queue="manual",
        priority=5,
        max_attempts=4,
        timeout_seconds=None,
        action={"url": "https://hooks.example.com/services/orders"},
    )


async def enqueue(store: Database, clock: StoreClock, count: int) -> None:
    for start in range(0, count, 1000):
        async with store.begin() as tx:
            await SqlRuns(tx).add([request() for _ in range(min(1000, count - start))], clock.now())


async def ours(base: BenchDatabase, count: int, slots: int, report: Report) -> None:
    """Drain a backlog, then start single runs on an idle engine."""
    await base.empty(*TABLES)
    store, clock, feed = Database(base.url), StoreClock(), MemoryFeed()
    started: dict[str, float] = {}

    def note(ctx: ActionContext) -> None:
        if ctx.run_id in started:
            started[ctx.run_id] = perf_counter()

    engine = noop_engine(store, clock, feed, Noop(note), slots)
    try:
        await enqueue(store, clock, count)
        await base.settle("runs", "attempts")
        watch, first = Stopwatch(), count // 10
        await engine.start()
        calm_memory()
        await _finished(engine.meter.finished, first)
        done = sum(engine.meter.finished.values())
        watch.start(await base.server_cpu())
        await _finished(engine.meter.finished, count)
        watch.stop()
        watch.charge(await base.server_cpu())
        await _verify(base, count)
        name = f"FOLIOT, {slots} slots"
        report.time(name, count - done, watch)
        print(f"  {name:22}{(count - done) / watch.wall:>10,.0f}/s", flush=True)
        await _singles(store, clock, feed, started, name, report)
        report.add(name, rss_mb=rss_mb())
    finally:
        await engine.stop(5)
        await store.close()


async def _finished(finished: dict[str, int], count: int) -> None:
    while sum(finished.values()) < count:  # noqa: ASYNC110 -- an event would have to be set by what is measured
        await asyncio.sleep(0.002)


async def _verify(base: BenchDatabase, count: int) -> None:
    """Every run has succeeded, with one attempt on record."""
    found = await base.rows("SELECT state, count(*) FROM runs GROUP BY state")
    attempts = (await base.rows("SELECT count(*) FROM attempts"))[0][0]
    if [tuple(row) for row in found] != [("success", count)] or attempts != count:
        raise AssertionError(f"{count} runs were asked for: {found}, {attempts} attempts")


async def _singles(
    store: Database, clock: StoreClock, feed: MemoryFeed, started: dict[str, float], name: str, report: Report
) -> None:
    asked, committed = {}, {}
    for _ in range(SINGLES):
        await asyncio.sleep(PAUSE)
        one = request()
        started[one.id] = 0.0
        asked[one.id] = perf_counter()
        async with store.begin() as tx:
            await SqlRuns(tx).add([one], clock.now())
        committed[one.id] = perf_counter()
        feed.wake(RUNS_TOPIC)
        while not started[one.id]:  # noqa: ASYNC110 -- likewise
            await asyncio.sleep(0.001)
    since = {"commit": committed, "request": asked}
    for word, moments in since.items():
        taken = [(started[run_id] - moment) * 1e3 for run_id, moment in moments.items()]
        metrics = {f"idle_from_{word}_p{share}": percentile(taken, share / 100) for share in (50, 99)}
        report.add(name, **{f"{metric}_ms": value for metric, value in metrics.items()})


async def raw_queue(base: BenchDatabase, made: RawQueue, count: int, report: Report) -> None:
    await base.empty(*TABLES)
    await made.open(base.url)
    try:
        await made.enqueue(count)
        await base.settle(*made.tables)
        watch, done, measured = Stopwatch(), 0, count
        while done < count:
            if done >= count // 10 and not watch.running:
                measured = count - done
                watch.start(await base.server_cpu())
            done += await made.work()
        watch.stop()
        watch.charge(await base.server_cpu())
        await made.verify(count)
    finally:
        await made.close()
    report.time(made.name, measured, watch)
    print(f"  {made.name:22}{measured / watch.wall:>10,.0f}/s", flush=True)


def peer(module: str, base: BenchDatabase, redis: str, report: Report) -> None:
    name, needs, count = PEERS[module]
    if module == "procrastinate" and base.dialect != "postgresql":
        return
    if any(find_spec(need) is None for need in needs):
        note = f"{name} is not installed and is left out: pip install -e '.[bench]'"
        if note not in report.notes:
            report.note(note)
        return
    try:
        answer = child([f"peers/{module}_queue.py", base.url, redis, str(count)])
    except RuntimeError as error:
        report.note(f"{name} did not work and is left out: {str(error).splitlines()[-1]}")
        return
    report.add(name, **answer)
    print(f"  {name:22}{answer['per_second']:>10,.0f}/s", flush=True)


async def measure(given: Any, report: Report) -> None:
    slots = [int(word) for word in given.slots.split(",")]
    async with bench_database(given.database) as base:
        for _ in range(given.repeats):
            for many in slots:
                await ours(base, given.runs, many, report)
            for queue in QUEUES[base.dialect]:
                await raw_queue(base, queue(), given.runs, report)
            for module in PEERS if given.peers else ():
                peer(module, base, given.redis, report)
        compare(report, base.dialect, [f"FOLIOT, {many} slots" for many in slots])


def compare(report: Report, dialect: str, names: list[str]) -> None:
    goals = {"Dramatiq + Redis": 2.0, "Procrastinate": 10.0, "RAW QUEUE": 0.4} if dialect == "postgresql" else {}
    goals |= {"Huey + SQLite": 3.0} if dialect == "sqlite" else {}
    for name in names:
        for other in [*(queue.name for queue in QUEUES[dialect]), *(peer[0] for peer in PEERS.values())]:
            ratio = report.ratio(name, other)
            if ratio is None:
                continue
            report.add(f"{name} : {other}", ratio=ratio)
            if other in goals:
                report.goal(f"P5 {name}: {ratio:.2f} x {other} (at least {goals[other]:g})", met=ratio >= goals[other])
            least = Q3.get(dialect, {}).get(other) if name == f"FOLIOT, {DEFAULT_SLOTS} slots" else None
            if least is not None:
                report.goal(f"Q3 {name}: {ratio:.2f} x {other} (at least {least:g})", met=ratio >= least)
        for word, most in (("commit", 5), ("request", 12)):
            found = report.middle(name, f"idle_from_{word}_p50_ms")
            if found is not None and dialect == "postgresql":
                report.goal(f"P5 {name}: starts {found:.1f} ms after the {word} (at most {most})", met=found <= most)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default=POSTGRESQL, help="created and dropped; its name must contain 'bench'")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--slots", default="100,500", help="runs in flight at once; 100 is the default of the product")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--redis", default="redis://127.0.0.1:6379/13", help="must be empty, and the one after it too")
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    report = Report(f"engine-{given.database.split(':')[0].split('+')[0]}")
    uvloop.run(measure(given, report))
    report.show()
    print(report.write(given.json))


if __name__ == "__main__":
    main()
