"""P8: what validation, dedupe, tenants and the audit log cost a request, beside a bare route that writes the same rows.

python bench/doors.py [--requests 3000] [--clients 16] [--repeats 3] [--json PATH]

A real `foliot api` and a bare FastAPI app (peers/bare_route.py: a pydantic model and the same statements on raw
connections) are asked in turn, on the same PostgreSQL, by the same closed loop of clients over kept connections; then
by one client alone. No token on either side, an audit row on both; after each sample the rows are counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import uvloop
from database import POSTGRESQL, BenchDatabase, bench_database
from measuring import HERE, Report, cpu_seconds

SHARE = 0.8
Make = Callable[[int], tuple[str, object]]
WEBHOOK = {
    "name": "far away",
    "type": "cron",
    "cron_expr": "0 0 1 1 *",
    "action": {"kind": "webhook", "url": "http://127.0.0.1:9/"},
}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Side:
    """A server under measurement."""

    port: int
    pid: int


@contextmanager
def serving(command: list[str], port: int, environ: dict[str, str]) -> Iterator[Side]:
    process = subprocess.Popen([sys.executable, *command, str(port)], env=environ, cwd=HERE, stdout=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as knock:
                if knock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if process.poll() is not None:
                raise RuntimeError(f"{command} ended with {process.returncode}")
            process_wait(process)
        yield Side(port, process.pid)
    finally:
        process.terminate()
        process.wait()


def process_wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(0.1)
    except subprocess.TimeoutExpired:
        return


async def post(reader: Any, writer: Any, port: int, path: str, body: object) -> tuple[int, Any]:
    sent = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
    said = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in said.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    return int(said.split()[1]), json.loads(await reader.readexactly(length))


async def ask(port: int, count: int, clients: int, make: Make, expected: int) -> float:
    """Requests per second of so many clients, each with one under way."""
    numbers = iter(range(count))

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for number in numbers:
                status, answer = await post(reader, writer, port, *make(number))
                if status != expected:
                    raise RuntimeError(f"{status}: {answer}")
        finally:
            writer.close()

    began = perf_counter()
    await asyncio.gather(*(one() for _ in range(clients)))
    return count / (perf_counter() - began)


async def measure(given: argparse.Namespace, report: Report) -> None:
    async with bench_database(given.database) as base:
        with tempfile.TemporaryDirectory(prefix="foliot-bench-") as home:
            environ = os.environ | {
                "DATABASE_URL": base.url,
                "FOLIOT_HOME": home,
                "LOG_LEVEL": "warning",
                "SCRAPYD_URL": "http://127.0.0.1:9",
            }
            with (
                serving(["-m", "foliot", "api", "--port"], free_port(), environ) as ours,
                serving(["peers/bare_route.py"], free_port(), environ) as bare,
            ):
                await both(given, report, base, {"FOLIOT": ours, "BARE": bare})
    for what in ("crawl", "run-now"):
        share = report.ratio(f"FOLIOT {what}", f"BARE {what}") or 0.0
        report.goal(f"P8: POST {what} at {share:.0%} of a bare route ({SHARE:.0%})", met=share >= SHARE)


async def both(given: argparse.Namespace, report: Report, base: BenchDatabase, sides: dict[str, Side]) -> None:
    port = sides["FOLIOT"].port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    _, schedule = await post(reader, writer, port, "/api/schedules", WEBHOOK)
    writer.close()

    def crawl(sample: str, number: int) -> tuple[str, object]:
        urls = [f"http://127.0.0.1:9/{sample}/{number}"]
        return "/crawl", {"user_id": "ada", "spider": "seo", "start_urls": urls, "depth": 2}

    def now(*_: object) -> tuple[str, object]:
        return f"/api/schedules/{schedule['id']}/run-now", {}

    for turn in range(given.repeats + 1):
        crowds = ((given.clients, given.requests if turn else 200), (1, given.requests // 10 if turn else 20))
        for what, make, expected in (("crawl", crawl, 200), ("run-now", now, 202)):
            for clients, count in crowds:
                for name, side in sides.items():
                    of = partial(make, f"{name}/{turn}/{clients}")
                    figures = await sample(base, side, (count, clients, of, expected))
                    if turn:
                        asked = what if clients > 1 else f"{what}, one client"
                        report.add(f"{name} {asked}", **figures)
                        print(f"  {name:8}{asked:22}{figures['per_second']:8,.0f}/s", flush=True)


async def sample(base: BenchDatabase, side: Side, asked: tuple[int, int, Make, int]) -> dict[str, float | None]:
    """So many requests, which have made as many runs and entries of the trail when they are answered."""
    count = asked[0]
    before = await _rows(base)
    cpu, server = cpu_seconds([side.pid]), await base.server_cpu()
    per_second = await ask(side.port, *asked)
    spent, spent_there = cpu_seconds([side.pid]), await base.server_cpu()
    made = [now - then for now, then in zip(await _rows(base), before, strict=True)]
    if made != [count, count]:
        raise RuntimeError(f"{count} requests made {made[0]} runs and {made[1]} entries of the trail")
    await base.run("DELETE FROM runs")
    await base.settle("runs", "trail")
    return {
        "per_second": per_second,
        "api_cpu_us": None if cpu is None or spent is None else (spent - cpu) / count * 1e6,
        "server_cpu_us": None if server is None or spent_there is None else (spent_there - server) / count * 1e6,
    }


async def _rows(base: BenchDatabase) -> list[int]:
    return [(await base.rows(f"SELECT count(*) FROM {table}"))[0][0] for table in ("runs", "trail")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default=POSTGRESQL, help="created and dropped; its name must contain 'bench'")
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    report = Report("doors-postgresql")
    uvloop.run(measure(given, report))
    report.show()
    print(f"written to {report.write(given.json)}")
    return 0 if all(report.goals.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
