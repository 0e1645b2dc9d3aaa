"""Fetchers of several processes around one database, and a site that notes when it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise

from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.engine.loop import Loop
from foliot.features.articles.sql.picks import USE
from foliot.features.fetching.actor import TurnAllocator
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.fetching.model import FetchRequest, PageSource
from foliot.features.fetching.politeness import Politeness
from foliot.net.client import HttpEgress
from foliot.wakeups.feed import MemoryFeed


def answer(status: int = 200, body: bytes = b"<p>hello</p>", **headers: str) -> bytes:
    named = {"Content-Type": "text/html", "Content-Length": str(len(body)), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + body


@dataclass
class TimedSite:
    """Answers by path, and when each request came."""

    answers: dict[str, bytes] = field(default_factory=dict)
    port: int = 0
    asked: list[tuple[float, str]] = field(default_factory=list)
    delay: float = 0.0
    open: int = 0
    most_open: int = 0

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def gaps(self) -> list[float]:
        times = [at for at, _ in self.asked]
        return [later - sooner for sooner, later in pairwise(times)]

    @property
    def pages(self) -> list[str]:
        return [path for _, path in self.asked if path != "/robots.txt"]

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ")[1].decode()
                self.asked.append((asyncio.get_running_loop().time(), path))
                self.open += 1
                self.most_open = max(self.most_open, self.open)
                if self.delay:
                    await asyncio.sleep(self.delay)
                self.open -= 1
                default = answer(404, b"") if path == "/robots.txt" else answer()
                writer.write(self.answers.get(path, default))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def timed_site(answers: Mapping[str, bytes] | None = None, *, delay: float = 0.0) -> AsyncIterator[TimedSite]:
    site = TimedSite(dict(answers or {}), delay=delay)
    server = await asyncio.start_server(site.talk, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


@dataclass(frozen=True)
class FetchProcess:
    """One process that fetches."""

    fetcher: Fetcher
    turns: TurnAllocator

    async def get(self, url: str, tenant: str = "default", caller: str = "") -> int:
        asked = FetchRequest(url=url, tenant_id=tenant, timeout=timedelta(seconds=10), source=PageSource("run", caller))
        page = await self.fetcher.fetch(asked)
        return getattr(page, "status", 0)


@asynccontextmanager
async def processes(
    store: Database, count: int = 1, manners: Politeness | None = None
) -> AsyncIterator[list[FetchProcess]]:
    """So many, each with its own wake-ups, as if they were apart."""
    async with AsyncExitStack() as stack:
        made = []
        for number in range(count):
            clock, feed = StoreClock(), MemoryFeed()
            egress = await stack.enter_async_context(HttpEgress(loopback=True))
            pages = PageFetcher(egress=egress, timeout=timedelta(seconds=10))
            turns = TurnAllocator(
                clock=clock, store=store, feed=feed, holder=f"p{number}", use=USE, manners=manners or Politeness()
            )
            loop = Loop(clock, feed)
            loop.start([turns])
            stack.push_async_callback(loop.stop)
            made.append(FetchProcess(Fetcher(pages=pages, clock=clock, turns=turns), turns))
        yield made
