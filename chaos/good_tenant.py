"""The good tenant of the campaign `isolation`: its schedules, requests and articles, and how late each was."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import aiohttp

from chaos.hostile import HOSTS, MARK

SCHEDULES = 5
"""Each calls once a second."""
ASKED = (
    "/api/runs?limit=20",
    "/api/schedules?limit=20",
    "/api/timeline",
    "/api/attention",
    "/api/endpoints",
    "/api/dead-letters?limit=20",
    "/api/audit?limit=20",
)
PATIENCE = 10.0
"""A request that takes longer counts as refused."""


def share(values: list[float], part: float) -> float:
    """The value below which this part of them lies; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0


@dataclass
class Figures:
    """What the good tenant saw during one stretch of time."""

    name: str
    seconds: float = 0.0
    late: list[float] = field(default_factory=list)
    """Seconds from each instant to the call of its target."""
    answers: list[float] = field(default_factory=list)
    """Seconds that each request took."""
    articles: list[float] = field(default_factory=list)
    """Seconds from submitting an article to its result."""
    refused: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    memory: int = 0
    """Bytes of all processes of Foliot at the most."""

    @property
    def missing(self) -> int:
        """Calls that should have come and have not: each schedule has an instant every second."""
        return max(0, int(self.seconds) * SCHEDULES - len(self.late))

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "seconds": round(self.seconds, 1),
            "calls": len(self.late),
            "missing": self.missing,
            "late_p50": round(share(self.late, 0.5), 3),
            "late_p99": round(share(self.late, 0.99), 3),
            "answer_p50": round(share(self.answers, 0.5), 3),
            "answer_p99": round(share(self.answers, 0.99), 3),
            "article_p99": round(share(self.articles, 0.99), 3),
            "refused": self.refused[:5],
            "memory_mib": self.memory >> 20,
            "wrong": self.wrong,
        }


class GoodTenant:
    """Asks, is called and reads, all the time; what it sees goes to the stretch that is being measured."""

    def __init__(self, port: int, target: int, decoy: int, hostile: int, token: str) -> None:
        self.base, self.target, self.decoy, self.hostile = f"http://127.0.0.1:{port}", target, decoy, hostile
        self.headers = {"Authorization": f"Bearer {token}"}
        self.now = Figures("start")
        self.numbers = itertools.count()
        self.calls: list[tuple[float, float]] = []
        """When each was due, and how late it came."""
        self.callers: set[asyncio.Task[None]] = set()
        self.submitted = time.monotonic()

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[GoodTenant]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.target)
        timeout = aiohttp.ClientTimeout(total=PATIENCE)
        decoy = await asyncio.start_server(self._trespassed, "127.0.0.1", self.decoy)
        async with server, decoy, aiohttp.ClientSession(self.base, headers=self.headers, timeout=timeout) as self.http:
            for number in range(SCHEDULES):
                await self._create(number)
            loops = [asyncio.create_task(loop()) for loop in (self._ask, self._read)]
            try:
                yield self
            finally:
                ending = [*loops, *self.callers]
                for task in ending:
                    task.cancel()
                await asyncio.gather(*ending, return_exceptions=True)

    async def measure(self, name: str, seconds: float, bound: float = 0.0) -> Figures:
        """One stretch: instants that were due in it, and requests that began in it; waits so long for late calls."""
        self.now = figures = Figures(name)
        self.calls.clear()
        began, first = time.monotonic(), time.time()
        await asyncio.sleep(seconds)
        figures.seconds = time.monotonic() - began
        # An article that is not done yet has waited all the same.
        figures.articles.append(time.monotonic() - max(began, self.submitted))
        self.now, last = Figures("between"), time.time()
        deadline = time.monotonic() + bound
        while True:
            figures.late = [late for due, late in self.calls if first <= due < last]
            if not figures.missing or time.monotonic() > deadline:
                return figures
            await asyncio.sleep(0.05)

    async def _create(self, number: int) -> None:
        body = {
            "name": f"good {number}",
            "type": "interval",
            "interval_seconds": 1,
            "overlap": "allow_all",
            "action": {"kind": "webhook", "url": f"http://127.0.0.1:{self.target}/"},
        }
        async with self.http.post("/api/schedules", json=body) as reply:
            if reply.status != 201:
                raise RuntimeError(f"the good tenant could not begin: {await reply.text()}")

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        caller = asyncio.create_task(self._called(reader, writer))
        self.callers.add(caller)
        caller.add_done_callback(self.callers.discard)

    def _trespassed(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.now.wrong.append("G18: a forbidden address was called")
        writer.close()

    async def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
                await reader.readexactly(int(headers.get("content-length", 0)))
                due = datetime.fromisoformat(headers["x-foliot-scheduled-for"].upper())
                self.calls.append((due.timestamp(), time.time() - due.timestamp()))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _ask(self) -> None:
        for path in itertools.cycle(ASKED):
            figures, began = self.now, time.monotonic()
            try:
                async with self.http.get(path) as reply:
                    if MARK in await reply.text():
                        figures.wrong.append(f"G15: {path} answered something of the hostile tenant")
                    if reply.status != 200:
                        figures.refused.append(f"{path}: {reply.status}")
            except (TimeoutError, aiohttp.ClientError) as failure:
                figures.refused.append(f"{path}: {type(failure).__name__}")
            figures.answers.append(time.monotonic() - began)
            await asyncio.sleep(0.05)

    async def _read(self) -> None:
        while True:
            figures, began = self.now, time.monotonic()
            self.submitted = began
            url = f"http://{HOSTS[0]}:{self.hostile}/article/{next(self.numbers)}"
            try:
                done = await self._article(url)
            except (TimeoutError, aiohttp.ClientError) as failure:
                done = type(failure).__name__
            if done:
                figures.refused.append(f"{url}: {done}")
            figures.articles.append(time.monotonic() - began)
            self.submitted = time.monotonic()
            await asyncio.sleep(0.2)

    async def _article(self, url: str) -> str:
        """Nothing, or what went wrong."""
        async with self.http.post("/jobs/submit", json={"articles": [{"url": url, "source": "good"}]}) as reply:
            made = await reply.json()
            if reply.status != 201:
                return str(reply.status)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            async with self.http.get(f"/jobs/{made['job_id']}/status") as reply:
                status = (await reply.json()).get("status")
            if status in {"COMPLETED", "FAILED"}:
                return "" if status == "COMPLETED" else status
            await asyncio.sleep(0.1)
        return f"not done after {PATIENCE:g} s"
