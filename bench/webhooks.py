"""Q1: webhooks from due to recorded, through a real `foliot up`, beside a durable loop and APScheduler, in one run.

    python bench/webhooks.py [--database URL] [--due 10000] [--repeats 3] [--rates 500,1000] [--seconds 20]

FOLIOT         `foliot up` with its defaults, a process of its own, schedules due at one instant
LOOP           claims, POSTs by aiohttp and finishes in Foliot's own tables, one process, 64 at once (delivery.py)
RAW            the same with prepared bytes on raw connections instead of an HTTP client: printed, not judged by
APScheduler 3  AsyncIOScheduler, jobs on PostgreSQL, webhooks by aiohttp, when installed: pip install -e '.[bench]'

The receiver is a bare asyncio server in another process. FOLIOT counts from the instant to the commit of the last
ending, LOOP and RAW from their first claim to their last commit, APScheduler from the instant to the last answer.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import orjson
import uvloop
from database import POSTGRESQL, BenchDatabase, bench_database
from delivery import AT_ONCE, BATCH, AiohttpSender, Loop, RawSender
from interfaces import Side, free_port, serving
from lateness import TABLES, store_schedules
from measuring import Report, Stopwatch, child, cpu_seconds, percentile

from foliot.db.database import Database

PEER = "APScheduler 3"
LOOPS = {"LOOP": AiohttpSender, "RAW": RawSender}
WARM = 400
"""Webhooks delivered before the clock starts: imports, plans and connections are not what is measured."""
LEAD = timedelta(seconds=6)
SPREAD = 10_000
LEAST = {"postgresql": 0.6, "sqlite": 0.5}
DURABLE = {
    "postgresql": "SELECT current_setting('synchronous_commit') || ', fsync ' || current_setting('fsync')",
    "sqlite": "SELECT 'WAL, FULL'",
}
OPEN = "SELECT count(*) FROM runs WHERE lane IS NOT NULL OR lease_until IS NOT NULL"


def ask(port: int, path: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=30) as answer:
        return orjson.loads(answer.read())


@contextmanager
def foliot_up(base: BenchDatabase) -> Iterator[Side]:
    """As a user starts it, apart from the ports."""
    with tempfile.TemporaryDirectory(prefix="foliot-bench-") as home:
        environ = os.environ | {"DATABASE_URL": base.url, "FOLIOT_HOME": home}
        with serving(["-m", "foliot", "up", "--grpc-port", "0", "--port"], free_port(), environ) as side:
            yield side


def action(port: int) -> dict[str, Any]:
    return {
        "url": f"http://127.0.0.1:{port}/hook",
        "method": "POST",
        "headers": {"X-Source": "orders"},
        "body": {"job": "orders", "full": False},
    }


async def fill(base: BenchDatabase, port: int, firsts: list[datetime], seconds: int) -> None:
    store = Database(base.url)
    await store_schedules(store, firsts, seconds, datetime.now(UTC), action(port))
    await store.close()
    await base.settle("schedules", "versions")
    ask(port, "reset")


async def wait_until(moment: datetime) -> None:
    await asyncio.sleep((moment - datetime.now(UTC)).total_seconds())


async def received(port: int, count: int) -> None:
    async with asyncio.timeout(120):
        while await asyncio.to_thread(ask, port, "count") < count:  # noqa: ASYNC110 -- another process knows
            await asyncio.sleep(0.02)


async def ours(base: BenchDatabase, port: int, due: int, report: Report) -> None:
    """All due at one instant; a few before it, so that the process is warm."""
    await base.empty(*TABLES)
    with foliot_up(base) as side:
        early = datetime.now(UTC) + LEAD
        instant = early + LEAD
        await fill(base, port, [early] * WARM + [instant] * due, 86400)
        await received(port, WARM)
        await wait_until(instant - timedelta(milliseconds=200))
        server = await base.server_cpu()
        used = cpu_seconds([side.pid]) or 0.0
        await wait_until(instant)
        began = perf_counter()
        await received(port, WARM + due)
        while (await base.rows(OPEN))[0][0]:  # noqa: ASYNC110 -- likewise
            await asyncio.sleep(0.01)
        wall = perf_counter() - began
        client = (cpu_seconds([side.pid]) or 0.0) - used
        spent = await base.server_cpu()
        late = ask(port, "late")[WARM:]
    await verify(base, WARM + due, ask(port, "count"))
    report.add(
        "FOLIOT",
        per_second=due / wall,
        last_s=max(late) / 1e3,
        client_cpu_us=client / due * 1e6,
        server_cpu_us=None if spent is None or server is None else (spent - server) / due * 1e6,
    )
    print(f"  FOLIOT        {due / wall:>10,.0f}/s {client / due * 1e6:>8.0f} us", flush=True)


async def verify(base: BenchDatabase, count: int, received: int) -> None:
    """Every webhook was received once, and its run has succeeded with one attempt on record."""
    found = await base.rows("SELECT state, count(*) FROM runs GROUP BY state")
    attempts = (await base.rows("SELECT count(*) FROM attempts"))[0][0]
    if [tuple(row) for row in found] != [("success", count)] or attempts != count or received != count:
        raise AssertionError(f"{count} webhooks: {found}, {attempts} attempts, {received} received")


async def loop(base: BenchDatabase, port: int, due: int, report: Report, name: str) -> None:
    await base.empty(*TABLES)
    made = Loop(base.url, port, LOOPS[name])
    await made.open()
    try:
        await made.claims.enqueue(WARM)
        await made.run()
        await made.claims.enqueue(due)
        await base.settle("runs", "attempts")
        ask(port, "reset")
        watch = Stopwatch()
        watch.start(await base.server_cpu())
        count = await made.run()
        watch.stop()
        watch.charge(await base.server_cpu())
    finally:
        await made.close()
    await verify(base, WARM + due, WARM + ask(port, "count"))
    report.time(name, count, watch)
    report.add(name, last_s=watch.wall)
    print(f"  {name:14}{count / watch.wall:>10,.0f}/s {watch.client / count * 1e6:>8.0f} us", flush=True)


def peer(base: BenchDatabase, port: int, count: int, report: Report) -> None:
    if base.dialect != "postgresql":
        return
    if find_spec("apscheduler") is None or find_spec("psycopg") is None:
        report.note(f"{PEER} is not installed and is left out: pip install -e '.[bench]'")
        return
    answer = child(["peers/apscheduler3_webhooks.py", base.url, str(count), f"http://127.0.0.1:{port}/hook"])
    report.add(PEER, **answer)
    print(f"  {PEER:14}{answer['per_second']:>10,.0f}/s {answer['client_cpu_us']:>8.0f} us", flush=True)


async def stream(base: BenchDatabase, port: int, rate: int, seconds: int, report: Report) -> None:
    """So many instants a second among 10,000 schedules: how late is each POST when it is received?"""
    await base.empty(*TABLES)
    with foliot_up(base) as side:
        first = datetime.now(UTC) + 2 * LEAD
        await fill(base, port, [first + timedelta(seconds=at / rate) for at in range(SPREAD)], SPREAD // rate)
        # The first two seconds warm it up.
        await wait_until(first + timedelta(seconds=2))
        before, used = ask(port, "count"), cpu_seconds([side.pid]) or 0.0
        await asyncio.sleep(seconds)
        client = (cpu_seconds([side.pid]) or 0.0) - used
        late = ask(port, "late")[before:]
    name = f"FOLIOT, {rate:,}/s"
    report.add(name, received_per_second=len(late) / seconds, client_cpu_us=client / max(len(late), 1) * 1e6)
    report.add(name, **{f"late_p{share}_ms": percentile(late, share / 100) for share in (50, 99, 100)})
    print(
        f"  {name:14}{len(late) / seconds:>10,.0f}/s received, late {percentile(late, 0.5):.1f} ms,"
        f" p99 {percentile(late, 0.99):.1f} ms",
        flush=True,
    )


def compare(report: Report, dialect: str) -> None:
    ratio, least = report.ratio("FOLIOT", "LOOP") or 0.0, LEAST[dialect]
    for name in LOOPS:
        cpu_ratio = report.ratio("FOLIOT", name, "client_cpu_us")
        report.add(f"FOLIOT : {name}", ratio=report.ratio("FOLIOT", name), cpu_ratio=cpu_ratio)
    report.goal(f"Q1 {ratio:.0%} of the durable loop with aiohttp (at least {least:.0%})", met=ratio >= least)
    last = report.ratio("FOLIOT", "LOOP", "last_s") or 0.0
    report.goal(f"Q1 the last is received after {last:.2f} x the loop's time (at most 2)", met=last <= 2)
    other = report.ratio("FOLIOT", PEER)
    if other is not None:
        report.add(f"FOLIOT : {PEER}", ratio=other)
        report.goal(f"Q1 {other:.1f} x {PEER} + aiohttp (at least 4)", met=other >= 4)


async def measure(given: argparse.Namespace, report: Report) -> None:
    with serving(["peers/receiver.py"], free_port(), dict(os.environ)) as receiver:
        port = receiver.port
        async with bench_database(given.database) as base:
            durable = (await base.rows(DURABLE[base.dialect]))[0][0]
            report.note(f"all sides: every step committed, {base.dialect} {durable}")
            report.note("FOLIOT: 1 run row inserted, updated twice, 1 attempt, 1 chunk of 2 log lines, 1 cursor")
            report.note(f"LOOP, RAW: 1 run row updated twice, 1 attempt; batches of {BATCH}, {AT_ONCE} at once")
            report.note(f"{PEER}: 1 job row updated; one commit each, {AT_ONCE} at once")
            for _ in range(given.repeats):
                await ours(base, port, given.due, report)
                for name in LOOPS:
                    await loop(base, port, given.due, report, name)
                if given.peer:
                    peer(base, port, given.peer, report)
            for rate in [int(word) for word in given.rates.split(",") if word]:
                await stream(base, port, rate, given.seconds, report)
            compare(report, base.dialect)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default=POSTGRESQL, help="created and dropped; its name must contain 'bench'")
    parser.add_argument("--due", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rates", default="500,1000", help="webhooks a second of the streams; '' leaves them out")
    parser.add_argument("--seconds", type=int, default=20, help="how long a stream lasts")
    parser.add_argument("--peer", type=int, default=2000, help="webhooks of APScheduler; 0 leaves it out")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    report = Report(f"webhooks-{given.database.split(':')[0].split('+')[0]}")
    uvloop.run(measure(given, report))
    report.show()
    print(report.write(given.json))


if __name__ == "__main__":
    main()
