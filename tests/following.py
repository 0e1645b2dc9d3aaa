"""Performs a crawl and looks at it, as the engine does, without the engine: a test sees every step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson

from foliot.core.ports import Clock
from foliot.db.clock import StoreClock
from foliot.engine.model.run import Outcome, Parked
from foliot.engine.ports import ActionContext, ParkedRun, StaleAttempt
from foliot.features.crawls.action.action import CrawlAction, CrawlPace
from foliot.features.crawls.action.scrapyd_client import ScrapydNode
from foliot.features.crawls.action.scrapyd_nodes import ScrapydNodes
from foliot.features.expectations.usecases import DataJudge
from foliot.net.client import HttpEgress

SECONDS = 60.0
PACE = CrawlPace(poll=timedelta(milliseconds=50), lost_after=timedelta(seconds=2), certain=timedelta(seconds=1))


@dataclass(slots=True)
class Followed:
    """One run of a crawl, and what would be kept of it."""

    crawl: CrawlAction
    clock: Clock
    config: dict[str, Any]
    run_id: str = "run_1"
    attempt: int = 1
    limit: timedelta | None = None
    handle: dict[str, Any] | None = None
    notes: list[dict[str, Any]] = field(default_factory=list)
    lines: list[tuple[str, str, datetime | None]] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    cancel: bool = False
    ended: bool = False
    time: timedelta = timedelta(seconds=60)
    """How long one look may take."""
    stale: bool = False
    """Somebody else has the run by now."""
    outcome: Outcome | None = None

    async def start(self) -> Outcome:
        return self._take(await self.crawl.perform(self.context()))

    async def end(self) -> Outcome:
        """Look until it has ended."""
        async with asyncio.timeout(SECONDS):
            while isinstance(await self.look(), Parked):
                await asyncio.sleep(min(self.waits.total_seconds(), 0.1))
        assert self.outcome is not None
        return self.outcome

    async def until(self, state: str) -> None:
        """Look until Scrapyd says so."""
        async with asyncio.timeout(SECONDS):
            while (self.handle or {}).get("state") != state:
                assert isinstance(await self.look(), Parked), self.outcome
                await asyncio.sleep(0.05)

    async def look(self) -> Outcome:
        found = await self.crawl.look([self.asked()])
        return self._take(found[self.run_id])

    def asked(self) -> ParkedRun:
        assert self.handle is not None
        # What is kept is text; whatever does not survive that must not be in a handle.
        handle = orjson.loads(orjson.dumps(self.handle))
        return ParkedRun(
            ctx=self.context(), handle=handle, started_at=self.clock.now(), cancel=self.cancel, ended=self.ended
        )

    @property
    def waits(self) -> timedelta:
        assert isinstance(self.outcome, Parked)
        return self.outcome.after

    @property
    def text(self) -> list[str]:
        return [message for message, _, _ in self.lines]

    def context(self) -> ActionContext:
        return ActionContext(
            run_id=self.run_id,
            tenant_id="acme",
            schedule_id=None,
            kind="crawl",
            attempt=self.attempt,
            max_attempts=4,
            scheduled_for=None,
            config=self.config,
            timeout=self.time,
            now=self.clock.now(),
            log=self._log,
            progress=self._progress,
            note=self._note,
            limit=self.limit,
        )

    def _take(self, outcome: Outcome) -> Outcome:
        self.outcome = outcome
        if isinstance(outcome, Parked):
            self.handle = dict(outcome.handle)
            self.items += outcome.items
        return outcome

    async def _note(self, handle: Any) -> None:
        if self.stale:
            raise StaleAttempt
        self.notes.append(dict(handle))
        self.handle = dict(handle)

    def _log(self, message: str, *, level: str = "info", at: datetime | None = None) -> None:
        self.lines.append((message, level, at))

    def _progress(self, **data: Any) -> None:
        self.steps.append(data)


@dataclass(slots=True)
class Crawling:
    """The action, wired as in production."""

    crawl: CrawlAction
    clock: Clock
    nodes: ScrapydNodes

    def run(self, spider: str, *, run_id: str = "run_1", project: str = "TestBot", **given: Any) -> Followed:
        config = self.crawl.check({"spider": spider, "project": project, **given})
        return Followed(self.crawl, self.clock, config, run_id)


@asynccontextmanager
async def crawling(
    urls: Sequence[str], *, targets: HttpEgress | None = None, pace: CrawlPace = PACE, clock: Clock | None = None
) -> AsyncIterator[Crawling]:
    clock = clock or StoreClock()
    places = [ScrapydNode.of(url) for url in urls]
    async with (
        HttpEgress(allow=[place.place for place in places], ports=()) as egress,
        targets or HttpEgress(loopback=True) as allowed,
    ):
        nodes = ScrapydNodes(places, egress=egress, clock=clock)
        yield Crawling(
            CrawlAction(
                nodes=nodes,
                targets=allowed,
                clock=clock,
                project="TestBot",
                data=DataJudge(store=None, clock=clock),
                pace=pace,
            ),
            clock,
            nodes,
        )
