"""Q7, Q8: what a large database costs those who look at it, and what a server costs while nothing happens.

python bench/idle.py [--database URL] [--schedules 100000] [--runs 1000000] [--readers 1000] [--seconds 30] [--keep]

A real `foliot up` is asked for every list and page by HTTP, first on a database with one schedule, then on one that is
filled set-based (20 entries of the ledger for each schedule): the ratio is that of the processor time that one answer
takes, with the database's on PostgreSQL, the best of `--repeats`. Then its memory is read and its processor time while
it is idle, and both again with half of the readers on WebSockets (`/api/stream`) and half on the events of a run that
does not end (SSE). `--keep` leaves the filled database where it is, and takes it as it is the next time: filling takes
minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import sys
import tempfile
import urllib.request
from pathlib import Path
from time import perf_counter, sleep

from dashboard import seed, serving
from database import BenchDatabase, bench_database
from filling import fill, stay_quiet
from measuring import Report, cpu_seconds
from sqlalchemy import make_url

KEPT = Path(tempfile.gettempdir()) / "foliot-bench.db"
MOST_TIMES = 10
MOST_MB = 180
MOST_IDLE = 0.005
FLAT_MB = 10
"""Growth while readers wait: less than the noise of an allocator."""
ENOUGH = 0.05
"""Seconds of processor time that a sample adds up."""
MOST_ASKED = 200
SLOW = 60
"""Seconds for one answer."""
JUDGED = {
    "attention": "/api/attention",
    "timeline": "/api/timeline",
    "timeline by queue": "/api/timeline?group_by=queue",
    "timeline by tag": "/api/timeline?group_by=tag",
    "calendar": "/api/calendar",
    "ranking": "/api/schedules/ranking?over=7d",
    "series": "/api/runs/series",
}
LISTS = {
    "schedules": "/api/schedules?limit=50",
    "urgency": "/api/schedules?limit=50&sort=urgency",
    "runs": "/api/runs?limit=50",
    "failed runs": "/api/runs?limit=50&state=failed",
    "run search": "/api/runs?limit=50&q=answer",
    "run count": "/api/runs/count",
    "dead letters": "/api/dead-letters",
    "groups": "/api/dead-letters/groups",
    "endpoints": "/api/endpoints",
    "queues": "/api/queues",
    "jobs": "/jobs/?limit=50",
    "audit log": "/api/audit",
    "crawl runs": "/api/runs?limit=50&kind=crawl",
}


def resident_mb(pid: int) -> float:
    """What a process has in memory, with the libraries that it shares with others: some 20 MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def answer(url: str) -> int:
    """The status; an answer that cannot be had is an error."""
    with urllib.request.urlopen(url, timeout=SLOW) as response:
        response.read()
        return int(response.status)


async def look(report: Report, base: BenchDatabase, side: str, address: str, pid: int, repeats: int) -> None:
    """Every list and page; the first answer of each warms caches and is not counted."""

    async def spent() -> float:
        return (cpu_seconds([pid]) or 0.0) + (await base.server_cpu() or 0.0)

    for name, path in {**JUDGED, **LISTS}.items():
        await asyncio.to_thread(answer, address + path)
        best_cpu, best_wall = float("inf"), float("inf")
        for _ in range(repeats):
            before, began = await spent(), perf_counter()
            count, used = 0, 0.0
            # The processor's clock ticks a hundred times a second: ask until it has ticked a few times.
            while count < MOST_ASKED and used < ENOUGH:
                await asyncio.to_thread(answer, address + path)
                count, used = count + 1, await spent() - before
            best_wall = min(best_wall, (perf_counter() - began) / count)
            best_cpu = min(best_cpu, used / count)
        report.add(f"{name}, {side}", processor_ms=best_cpu * 1e3, wall_ms=best_wall * 1e3)
        print(f"  {name:20}{side:8}{best_cpu * 1e3:9.1f} ms {best_wall * 1e3:9.1f} ms", flush=True)


def judge(report: Report) -> None:
    for name in {**JUDGED, **LISTS}:
        times = report.ratio(f"{name}, filled", f"{name}, empty", "wall_ms")
        spent = report.ratio(f"{name}, filled", f"{name}, empty", "processor_ms")
        report.add(name, times_wall=times, times_processor=spent)
        if name in JUDGED:
            text = f"Q7: {name} takes {spent or 0:.1f} x its processor time when empty (at most {MOST_TIMES})"
            report.goal(f"{text}; at the wall {times or 0:.1f} x", met=(spent or 99) <= MOST_TIMES)


def rest(report: Report, side: str, pid: int, seconds: float) -> tuple[float, float]:
    """Share of a core and growth in MB of a stretch in which nothing is asked."""
    sleep(3)
    held, before, began = resident_mb(pid), cpu_seconds([pid]) or 0.0, perf_counter()
    sleep(seconds)
    share = ((cpu_seconds([pid]) or 0.0) - before) / (perf_counter() - began)
    grown = resident_mb(pid) - held
    report.add(side, core_share=share, grown_mb=grown, resident_mb=held + grown)
    print(f"  {side:28}{share:8.2%} of a core {held + grown:8.1f} MB {grown:+8.1f} MB", flush=True)
    return share, grown


async def reading(address: str, run_id: str, readers: int) -> list[asyncio.StreamWriter]:
    """Readers that are connected and have their first bytes."""
    host, port = address.removeprefix("http://").split(":")
    key = base64.b64encode(os.urandom(16)).decode()
    socket = (
        f"GET /api/stream HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nOrigin: {address}\r\n\r\n"
    )
    events = f"GET /api/runs/{run_id}/events HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\n\r\n"
    opened: list[asyncio.StreamWriter] = []
    for number in range(readers):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write((socket if number % 2 else events).encode())
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SLOW)
        if not head.startswith((b"HTTP/1.1 101", b"HTTP/1.1 200")):
            raise RuntimeError(head.decode())
        opened.append(writer)
    return opened


def waiting_run(address: str) -> str:
    """A run that stays queued: its queue is paused."""

    def post(path: str, body: object) -> dict[str, object]:
        sent = urllib.request.Request(
            address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(sent, timeout=SLOW) as response:
            found: dict[str, object] = json.loads(response.read() or b"{}")
            return found

    post("/api/queues/manual/pause", {})
    body = {"name": "never", "type": "oneoff", "run_at": "2999-01-01T00:00:00Z"}
    made = post("/api/schedules", {**body, "action": {"kind": "webhook", "url": "http://127.0.0.1:9/"}})
    return str(post(f"/api/schedules/{made['id']}/run-now", {})["id"])


async def measure(given: argparse.Namespace, report: Report, scratch: Path) -> None:
    url = given.database or f"sqlite+aiosqlite:///{KEPT if given.keep else scratch / 'bench.db'}"
    made = make_url(url)
    bare = made.set(database=f"{(made.database or '').removesuffix('.db')}_empty").render_as_string(hide_password=False)
    report.note(f"on {made.get_backend_name()}: {given.schedules:,} schedules, {given.runs:,} runs")
    async with bench_database(bare) as base:
        with serving(scratch / "empty", bare) as (address, pid):
            await asyncio.to_thread(seed, address)
            await look(report, base, "empty", address, pid, given.repeats)
    async with bench_database(url, keep=given.keep) as base:
        if (await base.rows("SELECT count(*) FROM (SELECT 1 FROM runs LIMIT 2) AS first_two"))[0][0] < 2:
            with serving(scratch, url) as (address, pid):
                await asyncio.to_thread(seed, address)
            began = perf_counter()
            await fill(url, given.schedules, given.runs)
            report.note(f"filled in {perf_counter() - began:.0f} s")
        await stay_quiet(url)
        with serving(scratch, url) as (address, pid):
            await look(report, base, "filled", address, pid, given.repeats)
            judge(report)
            await rested(given, report, address, pid)


async def rested(given: argparse.Namespace, report: Report, address: str, pid: int) -> None:
    """Memory after every list, and what is spent while nothing happens."""
    held = resident_mb(pid)
    report.add("after every list", resident_mb=held)
    report.goal(f"Q8: {held:.0f} MB after every list (at most {MOST_MB})", met=held <= MOST_MB)
    share, _ = await asyncio.to_thread(rest, report, "idle", pid, given.seconds)
    report.goal(f"Q8: idle at {share:.2%} of a core (at most {MOST_IDLE:.1%})", met=share <= MOST_IDLE)
    run_id = await asyncio.to_thread(waiting_run, address)
    opened = await reading(address, run_id, given.readers)
    share, grown = await asyncio.to_thread(rest, report, f"{given.readers} readers", pid, given.seconds)
    report.goal(f"Q8: {given.readers} readers, {grown:+.1f} MB while they wait", met=grown <= FLAT_MB)
    for writer in opened:
        writer.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", help="its name must contain 'bench'; a SQLite file unless given")
    parser.add_argument("--schedules", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--readers", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="keep the filled database, and use the one that is kept")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    name = "sqlite" if given.database is None else make_url(given.database).get_backend_name()
    report = Report(f"idle-{name}")
    with tempfile.TemporaryDirectory(prefix="foliot-bench-") as scratch:
        asyncio.run(measure(given, report, Path(scratch)))
    report.show()
    print(f"written to {report.write(given.json)}")
    return 0 if all(report.goals.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
