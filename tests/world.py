"""A small Foliot without engine or network: a store in memory, a stopped clock, and the use cases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from foliot.app.use_cases import use_cases
from foliot.auth.keyring import Keyring
from foliot.commands.envelope import UseCases
from foliot.core.access import LOCAL
from foliot.core.egress import OutgoingRequest, OutgoingResponse
from foliot.db.database import Database
from foliot.engine.model.run import Outcome, RunState, Succeeded
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.settle import settle
from foliot.engine.model.views import AttemptEnding, ClaimedRun
from foliot.engine.ports import Action, ActionContext
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.due_schedules import SqlFiring
from foliot.features.articles.config import read_config as read_articles
from foliot.features.crawls.action.config import read_config as read_crawl
from foliot.features.expectations.usecases import DataJudge
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.presets.model import all_presets
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.stored_pages.bodies import LocalBodies
from foliot.features.stored_pages.keeper import PageKeeper
from foliot.features.watches.action import WatchAction
from foliot.features.watches.wiring import build_watches
from foliot.features.webhooks.config import read_config
from foliot.testing import StoppedClock, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.scripted_site import ScriptedSite, read_here
from tests.taskbook import catalogue, greet, run_task

KEYRING = Keyring.of(["a master key that only tests know"])
URL = "https://example.com/hook"
HOURLY: dict[str, Any] = {"name": "Hourly", "type": "cron", "cron_expr": "0 * * * *", "payload": {"url": URL}}
EVERY_MINUTE: dict[str, Any] = {
    "name": "Often",
    "type": "interval",
    "interval_seconds": 60,
    "action": {"kind": "webhook", "url": URL},
    "catchup": {"mode": "all", "max_runs": 1000, "window_seconds": 86_400},
    "overlap": "allow_all",
}


class NoEgress:
    """Lets every http URL be named, and no request leave."""

    def check(self, url: object) -> None:
        from foliot.core.errors import Invalid

        if not isinstance(url, str) or not url.startswith(("http://", "https://")) or "\x00" in url:
            raise Invalid("url", "must be an http or https URL", got=url)

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        raise AssertionError("no request leaves a test")

    async def admit(self, url: str, tenant_id: str) -> None:
        raise AssertionError("no name is looked up")


class Webhook:
    """The real reading of a webhook's configuration, without the sending."""

    kind = "webhook"
    timeout = timedelta(seconds=300)

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return read_config(config, NoEgress())

    async def perform(self, ctx: ActionContext) -> Outcome:
        return Succeeded()


class Crawl:
    """The real reading of a crawl's configuration, without a Scrapyd."""

    kind = "crawl"
    timeout = timedelta(seconds=60)

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return read_crawl(config, NoEgress(), "DiscoveryBot")

    async def perform(self, ctx: ActionContext) -> Outcome:
        return Succeeded()


class Articles:
    """The real reading of what a job of articles wants, without the fetching."""

    kind = "articles"
    timeout = timedelta(seconds=60)

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return read_articles(config, NoEgress())

    async def perform(self, ctx: ActionContext) -> Outcome:
        return Succeeded()


@dataclass(frozen=True)
class OneAction:
    """All there is: one, another for those who ask for crawls, and tasks where a test has some."""

    task: Action | None = None
    watch: Action | None = None

    def get(self, kind: str) -> Action | None:
        known: dict[str, Action | None] = {
            "webhook": Webhook(),
            "crawl": Crawl(),
            "articles": Articles(),
            "task": self.task,
            "watch": self.watch,
        }
        return known.get(kind)

    def kinds(self) -> Sequence[str]:
        more = {"task": self.task, "watch": self.watch}
        return sorted(["articles", "crawl", "webhook", *(kind for kind, action in more.items() if action is not None)])


@dataclass
class World:
    """What a test holds."""

    store: Database
    clock: StoppedClock
    cases: UseCases
    feed: MemoryFeed
    site: ScriptedSite = field(default_factory=ScriptedSite)
    """What watched pages answer."""
    watching: WatchAction | None = None

    async def schedule(self, raw: Mapping[str, Any] = EVERY_MINUTE, **changes: Any) -> Schedule:
        return await self.cases[Schedules].create(LOCAL, {**raw, **changes})

    async def tick(self) -> int:
        """What the ticker does."""
        now = self.clock.now()
        async with self.store.begin() as tx:
            due, _ = await SqlFiring(tx).lock_due(now, 1000)
            open_runs = await SqlFiring(tx).open_runs([one.id for one in due])
            recorded = await SqlFiring(tx).record([settle(one, now, open_runs.get(one.id, ())) for one in due], now)
        return recorded.runs

    async def pass_time(self, minutes: int) -> datetime:
        """Minute by minute, ticking."""
        for _ in range(minutes):
            self.clock.advance(60)
            await self.tick()
        return self.clock.now()

    async def claim(self, *run_ids: str) -> list[ClaimedRun]:
        async with self.store.begin() as tx:
            return await SqlClaims(tx).claim(run_ids, "worker-1", timedelta(seconds=30), self.clock.now())

    async def end(self, run_id: str, state: RunState, error: Mapping[str, Any] | None = None) -> None:
        """Claim a run and let it end like this."""
        (claimed,) = await self.claim(run_id)
        await self.finish(claimed, state, error)

    async def finish(
        self, claimed: ClaimedRun, state: RunState = RunState.SUCCESS, error: Mapping[str, Any] | None = None
    ) -> None:
        now = self.clock.now()
        ending = AttemptEnding(
            fence=claimed.fence, state=state, outcome=state.value, at=now, error=error, result={"ok": True}
        )
        async with self.store.begin() as tx:
            finished = await SqlClaims(tx).finish([ending], now)
        assert finished.accepted == {claimed.fence.run_id}

    async def sql(self, text: str, **values: Any) -> None:
        """Damage the database behind Foliot's back."""
        from sqlalchemy import text as statement

        async with self.store.begin() as tx:
            await tx.conn.execute(statement(text), values)

    @classmethod
    def on(cls, store: Database, site: ScriptedSite | None = None) -> World:
        clock, feed = StoppedClock(), MemoryFeed()
        known = catalogue(store, clock, greet)
        site = ScriptedSite() if site is None else site
        watching = build_watches(
            store,
            clock,
            feed,
            Fetcher(pages=PageFetcher(egress=site), clock=clock),
            read_here,
            NoEgress(),
            DataJudge(store=store, clock=clock),
        )
        actions = OneAction(run_task(known), watching.action)
        cases = use_cases(
            store,
            clock,
            feed,
            actions,
            pepper=KEYRING,
            vault=KEYRING,
            tasks=known,
            presets=all_presets(),
            visitor=watching.visitor,
            keeper=PageKeeper(store=store, clock=clock, bodies=LocalBodies(Path("unused")), quota=1_000_000),
        )
        return cls(store, clock, cases, feed, site, watching.action)


@asynccontextmanager
async def open_world(site: ScriptedSite | None = None) -> AsyncIterator[World]:
    async with open_store() as store:
        yield World.on(store, site)
