"""A process of Foliot that fetches articles, as `foliot worker` does, without the rest of what that could do.

python bench/scraping.py DATABASE [unread]

Says that it is ready, answers each line with the processor time that it and its readers have used, and ends with its
standard input. `unread`: what was fetched is not read.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from time import process_time

import structlog
import uvloop
from measuring import children_cpu

from foliot.app.use_cases import use_cases
from foliot.cli.process import calm_memory
from foliot.commands.envelope import UseCases
from foliot.config.settings import Settings
from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.loop import EnginePace
from foliot.engine.model.node import NodeRole
from foliot.engine.model.run import AttemptError
from foliot.features.articles.action import ArticlesAction
from foliot.features.articles.actor.extension import article_fetching
from foliot.features.articles.actor.fetcher import FetcherSettings
from foliot.features.articles.model import ClaimedArticle, ExtractedPage
from foliot.features.articles.sql.picks import USE
from foliot.features.articles.wiring import build_articles
from foliot.features.fetching.fetcher import PageFetcher
from foliot.features.fetching.model import FetchFailure, FetchRequest, PageMoved, PageUnchanged, RobotsRules
from foliot.features.fetching.wiring import build_fetching
from foliot.net.client import HttpEgress
from foliot.testing import GivenActions
from foliot.wakeups.across_processes import SharedFeed
from foliot.wakeups.postgres import PostgresTransport

UNREAD = "unread"
SLOTS = 128
"""Requests that a process may have under way."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Fetches as the real one does, and says that every page is an article."""

    fetcher: PageFetcher

    async def robots(self, taken: ClaimedArticle) -> RobotsRules | FetchFailure:
        return RobotsRules("")

    async def scrape(self, taken: ClaimedArticle) -> ExtractedPage | PageUnchanged | PageMoved | FetchFailure:
        page = await self.fetcher.once(FetchRequest(url=taken.url, tenant_id=taken.tenant_id), taken.robots)
        if isinstance(page, FetchFailure | PageMoved):
            return page
        if page.status != 200 or len(page.body) < 10_000:
            return FetchFailure(problem=AttemptError("bench", "This is not the page."), permanent=True)
        return ExtractedPage(title=taken.url)


@dataclass(frozen=True, slots=True)
class Used:
    """Seconds of processor time."""

    own: float
    readers: float

    def since(self, before: Used) -> Used:
        return Used(self.own - before.own, self.readers - before.readers)


@dataclass(frozen=True, slots=True)
class Worker:
    """One of these processes, from outside."""

    process: subprocess.Popen[str]

    @property
    def used(self) -> Used:
        assert self.process.stdin is not None
        print("used", file=self.process.stdin, flush=True)
        return Used(**json.loads(self.heard()))

    def heard(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a process that fetches articles has ended")
        return line


@contextmanager
def workers(many: int, database: str, *, read: bool) -> Iterator[list[Worker]]:
    """So many of them, ready."""
    command = [sys.executable, __file__, database, *([] if read else [UNREAD])]
    pipe = subprocess.PIPE
    made = [Worker(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)) for _ in range(many)]
    try:
        for one in made:
            one.heard()
        yield made
    finally:
        for one in made:
            one.process.communicate(timeout=30)


async def engine(
    stack: AsyncExitStack, url: str, role: NodeRole, *, fetch: bool = False, read: bool = False
) -> UseCases:
    """Everything that Foliot is in this process, until the stack is unwound; it fetches only when told to."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    store, clock, feed = Database(url), StoreClock(), SharedFeed(PostgresTransport(url))
    stack.push_async_callback(store.close)
    await feed.start()
    stack.push_async_callback(feed.close)
    egress = await stack.enter_async_context(HttpEgress(loopback=True, per_host=SLOTS))
    actions = GivenActions.of(ArticlesAction(targets=egress))
    how: FetcherSettings | None = None
    if fetch:
        settings = Settings.load(_unlimited())
        made = build_articles(settings, build_fetching(settings, store, feed, clock, egress, USE), clock)
        stack.push_async_callback(made.close)
        how = made.how if read else replace(made.how, scraper=Unread(PageFetcher(egress=egress)))
    running = Engine(
        node_id=f"bench:{os.getpid()}",
        clock=clock,
        store=store,
        feed=feed,
        actions=actions,
        pace=EnginePace(),
        workers_of=lambda executor: EmbeddedWorkers(executor, 10),
        role=role,
        extensions=[] if how is None else [article_fetching(how)],
    )
    await running.start()
    stack.push_async_callback(running.stop, 5)
    return use_cases(store, clock, feed, actions)


def _unlimited() -> dict[str, str]:
    """No host is spared."""
    limits = {"FOLIOT_HOST_RATE": 0, "FOLIOT_HOST_CONCURRENCY": 1000, "FOLIOT_SCRAPE_CONCURRENCY": SLOTS}
    return {name: str(limit) for name, limit in limits.items()}


async def main(database: str, *, read: bool) -> None:
    async with AsyncExitStack() as stack:
        await engine(stack, database, NodeRole.WORKER, fetch=True, read=read)
        calm_memory()
        print("ready", flush=True)
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps({"own": process_time(), "readers": children_cpu()}), flush=True)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], read=UNREAD not in sys.argv[2:]))
