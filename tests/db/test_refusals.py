"""A database that refuses writes: problems, health, attention and metrics name the cause, on real faults."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event, make_url

from foliot.app.http import create_app
from foliot.app.use_cases import use_cases
from foliot.commands.envelope import UseCases
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Unavailable
from foliot.db.database import Database
from foliot.engine.watchdog import Watchdog
from foliot.features.health import schema as health_schema
from foliot.features.health.usecases import KnownStandstills
from foliot.features.insights import schema as insights_schema
from foliot.features.insights.model.attention import AttentionKind
from foliot.features.insights.usecases.attention import Attention
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.servers.http.schema import Problem
from foliot.testing import StoppedClock
from foliot.wakeups.feed import MemoryFeed
from tests.asgi import Client
from tests.declared import conforms
from tests.world import EVERY_MINUTE, OneAction

TALL = {**EVERY_MINUTE, "payload": {"url": "https://example.com/hook", "body": {"much": "x" * 200_000}}}
TALL.pop("action")


@asynccontextmanager
async def read_only(store: Database) -> AsyncIterator[Database]:
    """The same database through a door that writes do not pass, as an operator or a failover closes it."""
    made = Database(store.url, bind_clock=True)
    name = make_url(store.url).database
    match store.dialect.name:
        case "sqlite":
            async with made.begin() as tx:
                await tx.conn.exec_driver_sql("PRAGMA query_only = ON")
        case "postgresql":
            async with store.begin() as tx:
                await tx.conn.exec_driver_sql(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        case _:
            event.listen(made.engines.write.sync_engine, "connect", _only_read)
    try:
        yield made
    finally:
        await made.close()
        if store.dialect.name == "postgresql":
            async with store.begin() as tx:
                await tx.conn.exec_driver_sql("SET TRANSACTION READ WRITE")
                await tx.conn.exec_driver_sql(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')


def _only_read(connection: Any, _: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("SET SESSION TRANSACTION READ ONLY")
    cursor.close()


def house(store: Database) -> tuple[UseCases, Client]:
    clock = StoppedClock()
    watchdog = Watchdog(clock=_Real(), refusal=store.refusal)
    knowledge = KnownStandstills(store=store, standstills=watchdog.standstills, probes=True)
    cases = use_cases(store, clock, MemoryFeed(), OneAction(), knowledge=knowledge)
    return cases, Client(create_app(cases))


class _Real(StoppedClock):
    """Refusals are counted by the real monotonic clock."""

    def monotonic(self) -> float:
        import time

        return time.monotonic()


async def test_a_read_only_database_is_told_wherever_one_looks(store: Database) -> None:
    async with read_only(store) as closed:
        cases, client = house(closed)

        health = await client.get("/health/detailed")
        refused = await client.post("/api/schedules", EVERY_MINUTE)
        attention = await client.get("/api/attention")
        metrics = await client.get("/metrics")

        conforms(health_schema.HealthReport, health.json)
        assert (health.status, health.json["status"]) == (200, "degraded")
        assert health.json["database"]["status"] == "refuses"
        assert "read-only" in health.json["problems"][0]
        assert [one["reason"] for one in health.json["standstills"]] == ["store"]
        conforms(Problem, refused.json)
        assert (refused.status, refused.json["cause"]) == (503, "read_only")
        assert "read-only" in refused.json["detail"]
        conforms(insights_schema.AttentionReport, attention.json)
        assert [one["id"] for one in attention.json["items"]] == ["standstill:store"]
        assert 'foliot_standstill_seconds{reason="store"} 0.0\n' not in metrics.text
        # A tenant reads why, and nothing of where.
        (told,) = (await cases[Attention].check(Caller("acme", "ada", Role.VIEWER))).items
        assert told.kind is AttentionKind.STANDSTILL
        assert "read-only" in told.reason
        assert "Error" not in told.reason


async def test_a_full_disk_is_told_as_such_while_what_is_there_can_be_read(tmp_path: Any) -> None:
    from foliot.testing import open_store

    async with open_store(f"sqlite+aiosqlite:///{tmp_path}/foliot.db") as store:
        cases, client = house(store)
        good = await client.post("/api/schedules", EVERY_MINUTE)
        async with store.begin() as tx:
            # No page more than there is: what the file says is what a full disk says.
            await tx.conn.exec_driver_sql("PRAGMA max_page_count = 1")

        refused = await client.post("/api/schedules", TALL)
        attention = await client.get("/api/attention")
        health = await client.get("/health/detailed")

        assert (refused.status, refused.json["cause"]) == (503, "disk_full")
        assert refused.json["detail"] == "the database takes no writes: its disk is full"
        assert "its disk is full" in attention.json["items"][0]["reason"]
        assert "its disk is full" in health.json["problems"][0]
        assert (await client.get(f"/api/schedules/{good.json['id']}")).status == 200
        assert [one.id for one in await cases[Schedules].list(LOCAL, _page())] == [good.json["id"]]


def _page() -> Any:
    from foliot.engine.model.views import PageRequest

    return PageRequest(10)


async def test_a_store_that_cannot_even_be_read_leaves_what_the_process_knows(tmp_path: Any) -> None:
    gone = Database(f"sqlite+aiosqlite:///{tmp_path}/no/such/place.db")
    try:
        _, client = house(gone)
        first = await client.get("/api/attention")
        assert (first.status, first.json["cause"]) == (503, "away")

        # After five seconds of it, it is no lost connection any more.
        refused = gone._refusals._read
        assert refused is not None
        gone._refusals._read = replace(refused, since=refused.since - 5)

        attention = await client.get("/api/attention")
        metrics = await client.get("/metrics")

        assert attention.status == 200
        assert [one["id"] for one in attention.json["items"]] == ["standstill:store"]
        assert metrics.status == 200
        assert 'foliot_standstill_seconds{reason="store"}' in metrics.text
        assert "foliot_runs" not in metrics.text
    finally:
        await gone.close()


async def test_what_something_else_refuses_is_no_refusal_of_the_database(store: Database) -> None:
    with pytest.raises(Unavailable):
        async with store._noted(writes=True):
            raise Unavailable("of another kind")
    assert store.refusal() is None
