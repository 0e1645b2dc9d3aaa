"""P6, P7 and Q10: no-op runs per second by processes with and without a broker, and runs handed to it, in one run.

    python bench/cluster.py [--database URL] [--rabbitmq URL] [--redis URL] [--results URL] [--runs 5000] [--repeats 3]
    python bench/cluster.py --only-processes --processes 1,2,4,8     Q10 alone

FOLIOT    a scheduler and one worker in processes of their own, every state durable in PostgreSQL
n         so many processes that share the tables and nothing else, as `foliot up --processes n` starts them
n BROKER  a scheduler and n - 1 workers, with RabbitMQ or Redis between them
CELERY    plain Celery on the same broker, two prefork processes, results in Redis
HAND-OVER parcels of 50 ids published and confirmed, beside Celery's apply_async, and RabbitMQ confirmed one by one
Dramatiq on Redis and Procrastinate on PostgreSQL, when installed: pip install -e '.[bench]'

Throughput is measured from the first tenth of the runs to the last, start-up left out, on all sides alike. The Redis
databases must be empty. A repeat takes about a minute; what has been measured is said as it is.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import uvloop
from database import POSTGRESQL, BenchDatabase, bench_database
from engine import PEERS, TABLES, peer
from engine import request as any_request
from handing import hand_over, remove
from measuring import Report, child, cpu_seconds, percentile
from noop import Noop, OneAction

from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.executor import Executor
from foliot.engine.loop import EnginePace
from foliot.engine.model.node import NodeRole
from foliot.engine.model.views import RunRequest
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.wakeups.across_processes import SharedFeed
from foliot.wakeups.feed import RUNS_TOPIC
from foliot.wakeups.postgres import PostgresTransport

QUEUE = "foliot_bench_runs"
"""No other house's worker takes from it: on a shared broker one that takes every queue would take ours too."""
SINGLES, TRICKLE, PAUSE = 60, 200, 0.03
LONGEST = 120.0
RIVALS = ("dramatiq", "procrastinate")


def request() -> RunRequest:
    return replace(any_request(), queue=QUEUE)


async def part(role: NodeRole, database: str, broker: str, slots: int) -> None:
    """One process of the cluster, until its input ends. Without a broker each takes its runs from the database."""
    feed = SharedFeed(PostgresTransport(database))
    node = f"bench-{role}-{os.getpid()}"

    def workers(executor: Executor) -> EmbeddedWorkers:
        return EmbeddedWorkers(executor, slots)

    engine = Engine(
        node_id=node,
        clock=StoreClock(),
        store=Database(database),
        feed=feed,
        actions=OneAction(Noop()),
        pace=EnginePace(),
        workers_of=workers,
        queues=[QUEUE],
        role=role,
        **between(role, broker, slots),
    )
    await feed.start()
    await engine.start()
    await asyncio.to_thread(sys.stdin.read)
    await engine.stop(1)
    await feed.close()


def between(role: NodeRole, broker: str, slots: int) -> dict[str, Any]:
    """This side of the broker."""
    if not broker or role is NodeRole.UP:
        return {}
    if role is NodeRole.SCHEDULER:
        from foliot.cluster.celery.publisher import CeleryBroker

        return {"broker": CeleryBroker(broker)}
    from foliot.cluster.celery.worker import CeleryIntake

    return {"intake": CeleryIntake(broker, name=f"bench-{os.getpid()}@foliot", queues=[QUEUE], slots=slots)}


def started(role: NodeRole, database: str, broker: str, slots: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--part", role, "--database", database, "--rabbitmq", broker]
    return subprocess.Popen(
        [*command, "--slots", str(slots)],
        cwd=Path(__file__).parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )


@asynccontextmanager
async def processes(database: str, broker: str, slots: int, roles: Sequence[NodeRole]) -> AsyncIterator[list[int]]:
    """Processes of these roles, which end when their input does; their ids."""
    running = [started(role, database, broker, slots) for role in roles]
    try:
        yield [one.pid for one in running]
    finally:
        for one in running:
            try:
                await asyncio.to_thread(one.communicate, timeout=15)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


@dataclass(slots=True)
class Seen:
    """The runs of one sample, looked at from outside."""

    base: BenchDatabase
    store: Database
    clock: StoreClock
    feed: SharedFeed

    async def ask(self, count: int) -> None:
        for start in range(0, count, 1000):
            async with self.store.begin() as tx:
                await SqlRuns(tx).add([request() for _ in range(min(1000, count - start))], self.clock.now())

    async def ended(self) -> int:
        async with self.store.glance() as tx:
            return int((await SqlRetention(tx).gone())["runs"].get("success", 0))

    async def rate(self, count: int, before: int, tenth: Callable[[], Awaitable[None]] | None = None) -> float:
        """From the first tenth to the last. `tenth` is called when the first is done."""
        begun, first, until = 0.0, 0, perf_counter() + LONGEST
        while (found := await self.ended() - before) < count:
            if perf_counter() > until:
                raise SystemExit(f"{found} of {count} were done after {LONGEST:g} s; {await self.open()}")
            if not first and found >= count // 10:
                if tenth is not None:
                    await tenth()
                begun, first = perf_counter(), found
            await asyncio.sleep(0.01)
        return (count - first) / (perf_counter() - begun)

    async def open(self) -> str:
        rows = await self.base.rows("SELECT state, offered_at IS NOT NULL, count(*) FROM runs GROUP BY 1, 2")
        return ", ".join(f"{count} {state}{' with the broker' if offered else ''}" for state, offered, count in rows)

    async def trickle(self, pids: Sequence[int]) -> dict[str, float]:
        """Processor time per run when single runs come one after the other: each wakes every idle process."""
        await asyncio.sleep(1)
        client, server = cpu_seconds(pids) or 0.0, await self.base.server_cpu() or 0.0
        for _ in range(TRICKLE):
            async with self.store.begin() as tx:
                await SqlRuns(tx).add([request()], self.clock.now())
            self.feed.wake(RUNS_TOPIC)
            await asyncio.sleep(PAUSE)
        await asyncio.sleep(1)
        share = TRICKLE / 1e6
        return {
            "trickle_client_us": ((cpu_seconds(pids) or 0.0) - client) / share,
            "trickle_server_us": ((await self.base.server_cpu() or 0.0) - server) / share,
        }

    async def single(self) -> float:
        """One run on an idle cluster: from the moment it was ready to the moment it started, as its row says."""
        one = request()
        async with self.store.begin() as tx:
            await SqlRuns(tx).add([one], self.clock.now())
        self.feed.wake(RUNS_TOPIC)
        for _ in range(1000):
            await asyncio.sleep(PAUSE)
            async with self.store.glance() as tx:
                run = await SqlRuns(tx).get(one.tenant_id, one.id)
            if run is not None and run.started_at is not None:
                return (run.started_at - run.ready_at).total_seconds()
        raise SystemExit("a single run was never started")


async def ours(base: BenchDatabase, name: str, broker: str, given: argparse.Namespace, report: Report) -> None:
    await base.empty(*TABLES, "nodes")
    store, clock = Database(base.url), StoreClock()
    feed = SharedFeed(PostgresTransport(base.url))
    await feed.start()
    async with store.read() as tx:
        clock.adjust(await SqlRetention(tx).time(), clock.monotonic())
    seen = Seen(base, store, clock, feed)
    try:
        before = await seen.ended()
        await seen.ask(given.runs)
        await base.settle("runs", "attempts")
        async with processes(base.url, broker, given.slots, (NodeRole.WORKER, NodeRole.SCHEDULER)):
            report.add(f"FOLIOT {name}", per_second=await seen.rate(given.runs, before))
            await asyncio.sleep(0.5)
            waited = [await seen.single() for _ in range(SINGLES)]
        idle = {f"idle_p{share}_ms": percentile(waited, share / 100) * 1e3 for share in (50, 99)}
        report.add(f"FOLIOT {name}", **idle)
        told(report, f"FOLIOT {name}")
    finally:
        await feed.close()
        await store.close()
        await asyncio.to_thread(remove, QUEUE, broker)


async def side_by_side(
    base: BenchDatabase, count: int, name: str, broker: str, given: argparse.Namespace, report: Report
) -> None:
    """So many processes: rate, and processor time per run on both ends."""
    await base.empty(*TABLES, "nodes")
    store, clock = Database(base.url), StoreClock()
    feed = SharedFeed(PostgresTransport(base.url))
    await feed.start()
    async with store.read() as tx:
        clock.adjust(await SqlRetention(tx).time(), clock.monotonic())
    seen = Seen(base, store, clock, feed)
    roles = [NodeRole.UP] * count if not broker else [NodeRole.SCHEDULER, *[NodeRole.WORKER] * (count - 1)]
    title = f"{count}{f' {name}' if broker else ''}"
    began: list[float] = []
    try:
        before = await seen.ended()
        await seen.ask(given.runs)
        await base.settle("runs", "attempts")
        async with processes(base.url, broker, given.slots, roles) as pids:

            async def tenth() -> None:
                began.extend([cpu_seconds(pids) or 0.0, await base.server_cpu() or 0.0])

            rate = await seen.rate(given.runs, before, tenth)
            share = given.runs * 0.9 / 1e6
            report.add(
                title,
                per_second=rate,
                client_cpu_us=((cpu_seconds(pids) or 0.0) - began[0]) / share,
                server_cpu_us=((await base.server_cpu() or 0.0) - began[1]) / share,
            )
            report.add(title, **await seen.trickle(pids))
        told(report, title)
    finally:
        await feed.close()
        await store.close()
        if broker:
            await asyncio.to_thread(remove, QUEUE, broker)


def share_goals(report: Report, counts: Sequence[int]) -> None:
    if (ratio := report.ratio("2", "1")) is not None:
        report.goal(
            f"Q10: two processes {ratio:.2f} x one (1.6 x; CPU per run says what idle cores would allow)",
            met=ratio >= 1.6,
        )
    for count in counts:
        for name in ("RabbitMQ", "Redis"):
            if (ratio := report.ratio(f"{count} {name}", str(count))) is not None:
                report.goal(f"Q10: {count} processes with {name} {ratio:.2f} x without (1 x)", met=ratio >= 1)


def plain(name: str, broker: str, given: argparse.Namespace, report: Report) -> None:
    """Celery as most people run it."""
    count = str(min(given.runs, 3000))
    report.add(f"CELERY {name}", **child(["peers/celery_queue.py", broker, given.results, count]))
    told(report, f"CELERY {name}")


def told(report: Report, contender: str, metric: str = "per_second") -> None:
    print(f"  {contender:22}{report.figures[contender][metric][-1]:>10,.0f}/s", flush=True)


def goals(report: Report) -> None:
    for name in ("RabbitMQ", "Redis"):
        if ratio := report.ratio(f"FOLIOT {name}", f"CELERY {name}"):
            report.goal(f"P6: {ratio:.1f} x plain Celery on {name} (2 x)", met=ratio >= 2)
        for other in [f"CELERY {name}", *(PEERS[rival][0] for rival in RIVALS)]:
            report.add(f"FOLIOT {name} : {other}", ratio=report.ratio(f"FOLIOT {name}", other))
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
    report.note(f"load before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    brokers = {"RabbitMQ": given.rabbitmq, "Redis": given.redis}
    counts = [int(word) for word in given.processes.split(",")]
    async with bench_database(given.database) as base:
        for _ in range(given.repeats):
            for count in counts:
                await side_by_side(base, count, "", "", given, report)
                for name, url in brokers.items() if count > 1 else ():
                    await side_by_side(base, count, name, url, given, report)
        share_goals(report, counts)
        for _ in range(0 if given.only_processes else given.repeats):
            for name, url in brokers.items():
                await hand_over(name, url, report)
                told(report, f"HAND-OVER {name}", "ids_per_second")
                await ours(base, name, url, given, report)
                await asyncio.to_thread(plain, name, url, given, report)
            for rival in RIVALS if given.peers else ():
                await asyncio.to_thread(peer, rival, base, given.peer_redis, report)
    if not given.only_processes:
        goals(report)
    report.show()
    print(report.write(given.json))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default=POSTGRESQL)
    parser.add_argument("--rabbitmq", default="amqp://guest:guest@127.0.0.1:5672//")
    parser.add_argument("--redis", default="redis://127.0.0.1:6379/12")
    parser.add_argument("--results", default="redis://127.0.0.1:6379/13")
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--slots", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--peer-redis", default="redis://127.0.0.1:6379/14", help="must be empty, and the one after it too"
    )
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="Foliot and plain Celery alone")
    parser.add_argument("--processes", default="1,2,4", help="how many, one after the other")
    parser.add_argument("--only-processes", action="store_true", help="leave out P6 and P7")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        uvloop.run(part(NodeRole(given.part), given.database, given.rabbitmq, given.slots))
    else:
        uvloop.run(measure(given))


if __name__ == "__main__":
    main()
