"""P6 and P7: no-op runs per second through a broker, and runs handed to it per second, beside plain Celery, in one run.

    python bench/cluster.py [--database URL] [--rabbitmq URL] [--redis URL] [--results URL] [--runs 5000] [--repeats 3]

FOLIOT    a scheduler and one worker in processes of their own, every state durable in PostgreSQL
CELERY    plain Celery on the same broker, two prefork processes, results in Redis
HAND-OVER parcels of 50 ids published and confirmed, beside Celery's apply_async, and RabbitMQ confirmed one by one

Throughput is measured from the first tenth of the runs to the last, start-up left out, on all sides alike. Both Redis
databases must be empty.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import uvloop
from database import POSTGRESQL, BenchDatabase, bench_database
from engine import TABLES, request
from measuring import Report, child, percentile
from noop import Noop, OneAction

from foliot.domain.ids import RUN, new_id
from foliot.domain.node import Role
from foliot.engine.engine import Engine, Pace
from foliot.engine.executor import Executor
from foliot.feed.postgres import PostgresLine
from foliot.feed.shared import SharedFeed
from foliot.ports import PARCEL, RUNS_TOPIC, Parcel
from foliot.store.clock import StoreClock
from foliot.store.database import Database
from foliot.workers.embedded import EmbeddedWorkers

QUEUE = "manual"
SINGLES, PAUSE = 100, 0.05
HANDED = 20_000
LONGEST = 120.0


async def part(role: Role, database: str, broker: str, slots: int) -> None:
    """One process of the cluster, until its input ends."""
    from foliot.workers.celery.publisher import CeleryBroker
    from foliot.workers.celery.worker import CeleryIntake

    feed = SharedFeed(PostgresLine(database))
    scheduler = role is Role.SCHEDULER

    def workers(executor: Executor) -> EmbeddedWorkers:
        return EmbeddedWorkers(executor, slots)

    engine = Engine(
        node_id=f"bench-{role}",
        clock=StoreClock(),
        store=Database(database),
        feed=feed,
        actions=OneAction(Noop()),
        pace=Pace(),
        workers_of=workers,
        queues=[QUEUE],
        role=role,
        broker=CeleryBroker(broker) if scheduler else None,
        intake=None if scheduler else CeleryIntake(broker, name="bench@foliot", queues=[QUEUE], slots=slots),
    )
    await feed.start()
    await engine.start()
    await asyncio.to_thread(sys.stdin.read)
    await engine.stop(1)
    await feed.close()


def started(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, cwd=Path(__file__).parent, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)


@asynccontextmanager
async def processes(database: str, broker: str, slots: int) -> AsyncIterator[None]:
    commands = [
        [sys.executable, __file__, "--part", role, "--database", database, "--rabbitmq", broker, "--slots", str(slots)]
        for role in (Role.WORKER, Role.SCHEDULER)
    ]
    running = list(map(started, commands))
    try:
        yield
    finally:
        for one in running:
            one.communicate(timeout=30)


async def ours(base: BenchDatabase, name: str, broker: str, given: argparse.Namespace, report: Report) -> None:
    await base.empty(*TABLES, "nodes")
    store, clock = Database(base.url), StoreClock()
    feed = SharedFeed(PostgresLine(base.url))
    await feed.start()
    async with store.read() as tx:
        clock.adjust(await tx.upkeep.time(), clock.monotonic())

    async def ended() -> int:
        async with store.glance() as tx:
            return int((await tx.upkeep.gone())["runs"].get("success", 0))

    try:
        before = await ended()
        for start in range(0, given.runs, 1000):
            async with store.begin() as tx:
                await tx.runs.add([request() for _ in range(min(1000, given.runs - start))], clock.now())
        await base.settle("runs", "attempts")
        async with processes(base.url, broker, given.slots):
            report.add(f"FOLIOT {name}", per_second=await rate(given.runs, before, ended))
            await asyncio.sleep(1)
            waited = [await single(store, clock, feed) for _ in range(SINGLES)]
            report.add(
                f"FOLIOT {name}", idle_p50_ms=percentile(waited, 0.5) * 1e3, idle_p99_ms=percentile(waited, 0.99) * 1e3
            )
    finally:
        await feed.close()
        await store.close()


async def rate(count: int, before: int, ended: object) -> float:
    begun, first, until = 0.0, 0, perf_counter() + LONGEST
    while (found := await ended() - before) < count:  # type: ignore[operator]
        if perf_counter() > until:
            raise SystemExit(f"only {found} of {count} were done after {LONGEST:g} s")
        if not first and found >= count // 10:
            begun, first = perf_counter(), found
        await asyncio.sleep(0.005)
    return (count - first) / (perf_counter() - begun)


async def single(store: Database, clock: StoreClock, feed: SharedFeed) -> float:
    """One run on an idle cluster: from the moment it was ready to the moment it started, as its row says."""
    one = request()
    async with store.begin() as tx:
        await tx.runs.add([one], clock.now())
    feed.wake(RUNS_TOPIC)
    for _ in range(1000):
        await asyncio.sleep(PAUSE / 10)
        async with store.glance() as tx:
            run = await tx.runs.get(one.tenant_id, one.id)
        if run is not None and run.started_at is not None:
            await asyncio.sleep(PAUSE)
            return (run.started_at - run.ready_at).total_seconds()
    raise SystemExit("a single run was never started")


async def hand_over(name: str, url: str, report: Report) -> None:
    """What the near side alone can do; the marks in the database are not part of it."""
    from kombu import Connection

    from foliot.workers.celery.app import TASK, make_app, options, queue_of
    from foliot.workers.celery.publisher import CeleryBroker

    queue = "foliot_bench_parcels"
    broker = CeleryBroker(url)
    run_ids = [new_id(RUN) for _ in range(HANDED)]
    now = datetime.now(UTC)
    parcels = [Parcel(queue, 5, run_ids[start : start + PARCEL], now) for start in range(0, HANDED, PARCEL)]
    await broker.check()
    began = perf_counter()
    for start in range(0, len(parcels), 20):
        await broker.publish(parcels[start : start + 20])
    report.add(f"HAND-OVER {name}", ids_per_second=HANDED / (perf_counter() - began))
    singles = [Parcel(queue, 5, [run_id], now) for run_id in run_ids[:1000]]
    began = perf_counter()
    await broker.publish(singles)
    report.add(f"HAND-OVER {name}", single_messages_per_second=len(singles) / (perf_counter() - began))
    if name == "RabbitMQ":
        began = perf_counter()
        for parcel in singles[:300]:
            await broker.publish([parcel])
        report.add("CONFIRM EACH", ids_per_second=300 / (perf_counter() - began))
    await broker.close()
    app = make_app(url, [queue])
    began = perf_counter()
    for run_id in run_ids[:1000]:
        app.send_task(TASK, [[run_id]], queue=queue)
    report.add(f"apply_async {name}", ids_per_second=1000 / (perf_counter() - began))
    with Connection(url, transport_options=options(url)) as connection:
        queue_of(queue, url).bind(connection.channel()).delete()


def goals(report: Report) -> None:
    for name in ("RabbitMQ", "Redis"):
        if ratio := report.ratio(f"FOLIOT {name}", f"CELERY {name}"):
            report.goal(f"P6: {ratio:.1f} x plain Celery on {name} (2 x)", met=ratio >= 2)
    for name, other, times, least in (
        ("RabbitMQ", "CONFIRM EACH", 5, 5_000),
        ("Redis", "apply_async Redis", 20, 20_000),
    ):
        rate_ = report.middle(f"HAND-OVER {name}", "ids_per_second") or 0
        ratio = report.ratio(f"HAND-OVER {name}", other, "ids_per_second") or 0
        text = f"P7: {rate_:,.0f} runs/s to {name}, {ratio:.0f} x {other} ({times} x, {least:,}/s)"
        report.goal(text, met=rate_ >= least and ratio >= times)


async def measure(given: argparse.Namespace) -> None:
    report = Report("cluster")
    brokers = {"RabbitMQ": given.rabbitmq, "Redis": given.redis}
    async with bench_database(given.database) as base:
        for _ in range(given.repeats):
            for name, url in brokers.items():
                await hand_over(name, url, report)
                await ours(base, name, url, given, report)
                plain = ["peers/celery_queue.py", url, given.results, str(min(given.runs, 3000))]
                report.add(f"CELERY {name}", **await asyncio.to_thread(child, plain))
    goals(report)
    report.show()
    print(report.write())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default=POSTGRESQL)
    parser.add_argument("--rabbitmq", default="amqp://guest:guest@127.0.0.1:5672//")
    parser.add_argument("--redis", default="redis://127.0.0.1:6379/12")
    parser.add_argument("--results", default="redis://127.0.0.1:6379/13")
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--slots", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        uvloop.run(part(Role(given.part), given.database, given.rabbitmq, given.slots))
    else:
        uvloop.run(measure(given))


if __name__ == "__main__":
    main()
