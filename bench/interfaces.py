"""Q4, Q6: what a request costs, beside a bare route that writes or reads the same rows.

python bench/interfaces.py [--only crawl,create] [--requests 2000] [--clients 16] [--repeats 3] [--json PATH]

A real `foliot api` and a bare FastAPI app (peers/bare_route.py: a pydantic model and the same statements on raw
connections, concurrent writes grouped as ours are) are asked in turn, on the same PostgreSQL, by the same closed loop
of clients over kept connections; then by one client alone. No token on either side, an audit row on both; after each
sample of a write the rows are counted.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import uvloop
from database import POSTGRESQL, BenchDatabase, bench_database
from measuring import HERE, Report, cpu_seconds

WRITES, READS = 0.8, 0.6
"""The goals: the share of a bare route."""
PATCHED = 500
"""Schedules that patches go to, one after the other."""
KEPT_RUNS = 500
Asked = tuple[str, str, object]
"""Method, path and body of a request."""
Make = Callable[[int], Asked]


def webhook(name: str) -> dict[str, Any]:
    return {
        "name": name,
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
        for _ in range(600):
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


async def send(reader: Any, writer: Any, port: int, asked: Asked) -> tuple[int, Any]:
    method, path, body = asked
    sent = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
    said = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in said.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    return int(said.split()[1]), await reader.readexactly(length)


async def ask(port: int, count: int, clients: int, make: Make) -> float:
    """Requests per second of so many clients, each with one under way."""
    numbers = iter(range(count))

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for number in numbers:
                status, answer = await send(reader, writer, port, make(number))
                if status not in {200, 201, 202}:
                    raise RuntimeError(f"{status}: {answer!r}")
        finally:
            writer.close()

    began = perf_counter()
    await asyncio.gather(*(one() for _ in range(clients)))
    return count / (perf_counter() - began)


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of request: how it is made, the rows that each leaves, and its goal."""

    name: str
    make: Callable[[str, int], Asked]
    leaves: dict[str, int]
    goal: float = WRITES


@dataclass(slots=True)
class World:
    """What requests refer to: schedules that are patched, run and paused, and ended runs that are read."""

    base: BenchDatabase
    port: int
    patched: Sequence[str] = ()
    active: Sequence[str] = ()
    run_id: str = ""

    async def post(self, path: str, body: object) -> Any:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        status, answer = await send(reader, writer, self.port, ("POST", path, body))
        writer.close()
        if status >= 300:
            raise RuntimeError(f"{status}: {answer!r}")
        return json.loads(answer)

    async def schedules(self, count: int) -> list[str]:
        made = await self.post("/api/schedules/batch", {"schedules": [webhook(f"made {n}") for n in range(count)]})
        return [one["id"] for one in made["items"]]

    async def fill(self) -> None:
        self.patched = await self.schedules(PATCHED)
        for number in range(KEPT_RUNS):
            run = await self.post(f"/api/schedules/{self.patched[number]}/run-now", None)
        self.run_id = run["id"]

    def cases(self) -> list[Case]:
        run = {"runs": 1, "trail": 1}
        turned = {"versions": 1, "spans": 1, "trail": 1}
        return [
            Case("crawl", self.crawl, run),
            Case("run-now", lambda *_: ("POST", f"/api/schedules/{self.patched[0]}/run-now", {}), run),
            Case("create", lambda *of: ("POST", "/api/schedules", webhook(f"{of}")), {"schedules": 1, **turned}),
            Case("patch", self.patch, turned),
            Case("pause", lambda _, n: ("POST", f"/api/schedules/{self.active[n]}/pause", None), turned),
            Case("50 runs", lambda *_: ("GET", "/api/runs?limit=50", None), {}, READS),
            Case("50 schedules", lambda *_: ("GET", "/api/schedules?limit=50", None), {}, READS),
            Case("one run", lambda *_: ("GET", f"/api/runs/{self.run_id}", None), {}, READS),
        ]

    def crawl(self, sample: str, number: int) -> Asked:
        urls = [f"http://127.0.0.1:9/{sample}/{number}"]
        return "POST", "/crawl", {"user_id": "ada", "spider": "seo", "start_urls": urls, "depth": 2}

    def patch(self, sample: str, number: int) -> Asked:
        return "PATCH", f"/api/schedules/{self.patched[number % PATCHED]}", {"description": f"{sample} {number}"}


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
                world = World(base, ours.port)
                await world.fill()
                await both(given, report, world, {"FOLIOT": ours, "BARE": bare})


async def both(given: argparse.Namespace, report: Report, world: World, sides: dict[str, Side]) -> None:
    wanted = [case for case in world.cases() if not given.only or case.name in given.only.split(",")]
    for turn in range(given.repeats + 1):
        crowds = ((given.clients, given.requests if turn else 200), (1, given.requests // 10 if turn else 20))
        for case in wanted:
            for clients, count in crowds:
                asked = case.name if clients > 1 else f"{case.name}, one client"
                for name, side in sides.items():
                    if case.name == "pause":
                        world.active = await world.schedules(count)
                    make = partial(case.make, f"{name}/{turn}/{clients}")
                    figures = await sample(world.base, side, (count, clients, make), case.leaves)
                    if turn:
                        report.add(f"{name} {asked}", **figures)
                        cpu = figures["api_cpu_us"] or 0.0
                        print(f"  {name:8}{asked:26}{figures['per_second']:8,.0f}/s {cpu:8,.0f} us", flush=True)
                await tidy(world)
    for case in wanted:
        for asked in (case.name, f"{case.name}, one client"):
            share = report.ratio(f"FOLIOT {asked}", f"BARE {asked}") or 0.0
            spent = report.ratio(f"BARE {asked}", f"FOLIOT {asked}", "api_cpu_us") or 0.0
            text = f"{'Q4' if case.leaves else 'Q6'}: {asked} at {share:.0%} of a bare route ({case.goal:.0%})"
            report.goal(f"{text}; by processor time of the process {spent:.0%}", met=share >= case.goal)


async def sample(
    base: BenchDatabase, side: Side, asked: tuple[int, int, Make], leaves: dict[str, int]
) -> dict[str, float | None]:
    """So many requests, which have left their rows when they are answered."""
    count = asked[0]
    before = await _rows(base, leaves)
    cpu, server = cpu_seconds([side.pid]), await base.server_cpu()
    per_second = await ask(side.port, *asked)
    spent, spent_there = cpu_seconds([side.pid]), await base.server_cpu()
    made = {table: rows - before[table] for table, rows in (await _rows(base, leaves)).items()}
    if made != {table: each * count for table, each in leaves.items()}:
        raise RuntimeError(f"{count} requests left {made}")
    return {
        "per_second": per_second,
        "api_cpu_us": None if cpu is None or spent is None else (spent - cpu) / count * 1e6,
        "server_cpu_us": None if server is None or spent_there is None else (spent_there - server) / count * 1e6,
    }


async def tidy(world: World) -> None:
    """Leave the schedules and runs that cases refer to, and nothing of the last sample."""
    patched = ", ".join(f"'{one}'" for one in world.patched)
    await world.base.run(f"DELETE FROM runs WHERE id > '{world.run_id}'")
    for table, key in (("schedules", "id"), ("versions", "schedule_id"), ("spans", "schedule_id")):
        await world.base.run(f"DELETE FROM {table} WHERE {key} NOT IN ({patched})")
    await world.base.settle("runs", "trail", "schedules", "versions", "spans")


async def _rows(base: BenchDatabase, tables: dict[str, int]) -> dict[str, int]:
    return {table: (await base.rows(f"SELECT count(*) FROM {table}"))[0][0] for table in tables}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default=POSTGRESQL, help="created and dropped; its name must contain 'bench'")
    parser.add_argument("--only", default="", help="kinds of requests, with commas between them")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    report = Report("interfaces-postgresql")
    uvloop.run(measure(given, report))
    report.show()
    print(f"written to {report.write(given.json)}")
    return 0 if all(report.goals.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
