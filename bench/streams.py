"""P10: how far the followers of one run fall behind, on one API process.

python bench/streams.py [--followers 1000] [--rate 100] [--seconds 20] [--json PATH]

A real `foliot api` is followed over sockets. This process writes the lines as a worker does: in chunks, twice a second,
and wakes the API through PostgreSQL. A line's age counts from its being said until a follower has its bytes, so half a
second of it is the chunk. Client and server share the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import uvloop
from database import POSTGRESQL, bench_database
from measuring import Report, cpu_seconds, percentile

from foliot.core.access import LOCAL
from foliot.core.ids import RUN, new_id
from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.engine.model.run import EventLine, EventType, Origin
from foliot.engine.model.views import RunRequest
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.runs import SqlRuns
from foliot.wakeups.across_processes import SharedFeed
from foliot.wakeups.feed import run_topic
from foliot.wakeups.postgres import PostgresTransport

CHUNK = 0.5
LATEST = 1.0
PATIENCE = 15
"""Seconds for the last lines to arrive: late and lost are two figures."""
HEADING = b'"message":"said '


@dataclass(slots=True)
class Follower:
    """One reader: counts what comes, and how old it is when it comes."""

    seen: int = 0
    ages: list[float] = field(default_factory=list)
    rest: bytes = b""
    writer: asyncio.StreamWriter | None = None

    async def follow(self, port: int, run_id: str, ready: asyncio.Semaphore) -> None:
        reader, self.writer = await asyncio.open_connection("127.0.0.1", port)
        asked = f"GET /api/runs/{run_id}/events?after=2 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        self.writer.write(f"{asked}Accept: text/event-stream\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(head.decode())
        ready.release()
        while part := await reader.read(1 << 20):
            self._count(part)

    def _count(self, part: bytes) -> None:
        part = self.rest + part
        self.rest = part[1 - len(HEADING) :]
        self.seen += part.count(HEADING)
        # The first of a piece is its oldest.
        said, whole, _ = part.partition(HEADING)[2].partition(b" ")
        if whole:
            self.ages.append(monotonic() - float(said))


async def running(store: Database, clock: StoreClock) -> Any:
    """A run that somebody performs: us."""
    request = RunRequest(
        id=new_id(RUN),
        tenant_id=LOCAL.tenant_id,
        user_id=LOCAL.user_id,
        kind="webhook",
        origin=Origin.MANUAL,
        queue="manual",
        priority=5,
        max_attempts=1,
        timeout_seconds=600,
        schedule_id=None,
        version=None,
        action={"kind": "webhook", "url": "https://example.com/"},
        parent_id=None,
    )
    async with store.begin() as tx:
        await SqlRuns(tx).add([request], clock.now())
    async with store.begin() as tx:
        (claimed,) = await SqlClaims(tx).claim([request.id], "bench", timedelta(minutes=10), clock.now())
    return claimed.fence


async def speak(store: Database, clock: StoreClock, feed: SharedFeed, fence: Any, given: argparse.Namespace) -> int:
    """So many lines a second, written in chunks."""
    loop = asyncio.get_running_loop()
    began, said = loop.time(), 0
    while said < given.rate * given.seconds:
        lines = []
        until = loop.time() + CHUNK
        while loop.time() < until and said < given.rate * given.seconds:
            lines.append(EventLine(clock.now(), EventType.LOG, message=f"said {monotonic():.6f} {'x' * 80}"))
            said += 1
            await asyncio.sleep(max(0.0, began + said / given.rate - loop.time()))
        async with store.begin() as tx:
            await SqlRuns(tx).append([(fence, lines)])
        feed.wake(run_topic(fence.run_id))
    return said


async def measure(given: argparse.Namespace, report: Report) -> None:
    async with bench_database(given.database) as base:
        with tempfile.TemporaryDirectory(prefix="foliot-bench-") as home:
            environ = os.environ | {"DATABASE_URL": base.url, "FOLIOT_HOME": home, "LOG_LEVEL": "warning"}
            api = subprocess.Popen(  # noqa: ASYNC220 -- nothing else happens yet
                [sys.executable, "-m", "foliot", "api", "--port", "0"], env=environ, stdout=subprocess.PIPE, text=True
            )
            try:
                await followed(given, report, base.url, api)
            finally:
                api.terminate()
                api.wait()


async def followed(given: argparse.Namespace, report: Report, url: str, api: subprocess.Popen[str]) -> None:
    assert api.stdout is not None
    found = re.search(r"http://127\.0\.0\.1:(\d+)", api.stdout.readline())
    assert found is not None
    store, clock, feed = Database(url), StoreClock(), SharedFeed(PostgresTransport(url))
    await feed.start()
    fence = await running(store, clock)
    followers, ready = [Follower() for _ in range(given.followers)], asyncio.Semaphore(0)
    tasks = []
    for follower in followers:
        tasks.append(asyncio.create_task(follower.follow(int(found[1]), fence.run_id, ready)))
        await ready.acquire()
    before = cpu_seconds([api.pid])
    began = monotonic()
    said = await speak(store, clock, feed, fence, given)
    took, after = monotonic() - began, cpu_seconds([api.pid])
    for _ in range(PATIENCE * 10):
        if all(follower.seen >= said for follower in followers):
            break
        await asyncio.sleep(0.1)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await feed.close()
    await store.close()
    ages = [age for follower in followers for age in follower.ages]
    whole = sum(follower.seen == said for follower in followers)
    if whole < given.followers:
        report.note(f"seen by the others: {sorted({each.seen for each in followers} - {said})}")
    report.add(
        f"{given.followers} followers",
        lines=said,
        complete_followers=whole,
        pieces_per_second=len(ages) / given.followers / took,
        oldest_p50_s=percentile(ages, 0.5),
        oldest_p99_s=percentile(ages, 0.99),
        oldest_max_s=max(ages, default=float("nan")),
        api_cpu_share=None if before is None or after is None else (after - before) / took,
    )
    report.goal(f"P10: all {given.followers} have all {said} lines", met=whole == given.followers)
    report.goal(f"P10: none behind by more than {LATEST:g} s", met=max(ages, default=99.0) <= LATEST)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default=POSTGRESQL, help="created and dropped; its name must contain 'bench'")
    parser.add_argument("--followers", type=int, default=1000)
    parser.add_argument("--rate", type=int, default=100, help="lines a second")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    report = Report("streams-postgresql")
    uvloop.run(measure(given, report))
    report.show()
    print(f"written to {report.write(given.json)}")
    return 0 if all(report.goals.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
