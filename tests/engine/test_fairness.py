"""One tenant's flood and another's few runs, under the real engine: who starts when, and how many at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from foliot.commands.tenants_sql import SqlTenants, Tenant
from foliot.db.database import Database
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.loop import EnginePace
from foliot.engine.model.run import Outcome, Succeeded
from foliot.engine.ports import ActionContext
from foliot.engine.sql.retention import SqlRetention
from foliot.testing import GivenActions, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.givens import NOON, ask, keep, request, schedule, stopped

FLOOD, QUIET = 4900, 100
SLOTS = 100


@dataclass
class Watch:
    """Does nothing, and notes whose run started, in order, and how many of a tenant's were under way at once."""

    enough: int
    pause: float = 0.0
    kind: str = "probe"
    timeout: timedelta = timedelta(seconds=60)
    started: list[str] = field(default_factory=list)
    inside: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return dict(config)

    async def perform(self, ctx: ActionContext) -> Outcome:
        self.started.append(ctx.tenant_id)
        self.inside[ctx.tenant_id] += 1
        self.most[ctx.tenant_id] = max(self.most[ctx.tenant_id], self.inside[ctx.tenant_id])
        await asyncio.sleep(self.pause)
        self.inside[ctx.tenant_id] -= 1
        if len(self.started) >= self.enough:
            self.done.set()
        return Succeeded()


def engine_of(store: Database, watch: Watch, name: str = "n1") -> Engine:
    return Engine(
        node_id=name,
        clock=stopped(),
        store=store,
        feed=MemoryFeed(),
        actions=GivenActions.of(watch),
        pace=EnginePace(retention=None, tick=0.1),
        workers_of=lambda executor: EmbeddedWorkers(executor, SLOTS),
    )


@asynccontextmanager
async def running(engine: Engine) -> AsyncIterator[None]:
    await engine.start()
    try:
        yield
    finally:
        await engine.stop(5)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Database]:
    async with open_store(database_url) as opened:
        yield opened


async def test_a_flood_of_runs_does_not_delay_anothers(store: Database) -> None:
    await ask(store, NOON, *(request(tenant_id="flood") for _ in range(FLOOD)))
    await ask(store, NOON, *(request(tenant_id="quiet") for _ in range(QUIET)))
    watch = Watch(enough=1000)

    async with running(engine_of(store, watch)):
        await asyncio.wait_for(watch.done.wait(), 50)

    assert watch.started.count("quiet") == QUIET
    last = max(at for at, tenant in enumerate(watch.started) if tenant == "quiet")
    assert watch.started[:last].count("flood") < 300


async def test_a_flood_of_due_schedules_fires_in_one_go_with_anothers(store: Database) -> None:
    """The ticker does not rest before all that is due has become runs; then the others' start at once."""
    await keep(store, *(schedule(tenant_id="flood") for _ in range(FLOOD)))
    await keep(store, *(schedule(tenant_id="quiet") for _ in range(QUIET)))
    watch = Watch(enough=600)
    engine = engine_of(store, watch)
    ticker, *_ = engine._firing()

    rounds = 1
    while (await ticker.run_once()).rest == 0.0:
        rounds += 1
    async with store.read() as tx:
        made = {tenant_id: await SqlRetention(tx).queues(tenant_id) for tenant_id in ("flood", "quiet")}
    async with running(engine):
        await asyncio.wait_for(watch.done.wait(), 50)

    assert {tenant_id: queues["default"]["depth"] for tenant_id, queues in made.items()} == {
        "flood": FLOOD,
        "quiet": QUIET,
    }
    assert rounds <= 5
    assert watch.started.count("quiet") == QUIET
    last = max(at for at, tenant in enumerate(watch.started) if tenant == "quiet")
    assert watch.started[:last].count("flood") < 300


async def test_a_capped_tenant_never_runs_more_at_once_on_two_nodes_and_loses_nothing(store: Database) -> None:
    async with store.begin() as tx:
        said = Tenant(tenant_id="flood", limits={"concurrent_runs": 5}, updated_by="root", updated_at=NOON)
        await SqlTenants(tx).put(said)
    await ask(store, NOON, *(request(tenant_id="flood") for _ in range(60)))
    await ask(store, NOON, *(request(tenant_id="quiet") for _ in range(60)))
    watch = Watch(enough=120, pause=0.02)
    other = store if store.url.startswith("sqlite") else Database(store.url, bind_clock=True)

    async with running(engine_of(store, watch)), running(engine_of(other, watch, "n2")):
        await asyncio.wait_for(watch.done.wait(), 50)
    if other is not store:
        await other.close()

    assert watch.most["flood"] == 5
    assert watch.most["quiet"] > 5
    assert Counter(watch.started) == {"flood": 60, "quiet": 60}
    # The others were through long before the capped ones.
    last = max(at for at, tenant in enumerate(watch.started) if tenant == "quiet")
    assert watch.started[:last].count("flood") < 30
