"""A database that goes away between two statements is unavailable, whichever driver notices it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress

import pytest
from sqlalchemy import make_url

from chaos.wire import Exchange, Wire
from foliot.core.errors import Unavailable
from foliot.db.database import Database
from foliot.db.migrate import migrate
from foliot.engine.sql.due_schedules import SqlFiring

pytestmark = pytest.mark.services


@pytest.fixture
def wire(server_database_url: str) -> Iterator[Wire]:
    exchange = Exchange()
    parts = make_url(server_database_url)
    yield exchange.wire(parts.port or (5432 if parts.get_backend_name() == "postgresql" else 3306))
    exchange.close()


@pytest.mark.parametrize("kind", ["glance", "read", "begin"])
async def test_a_connection_that_was_cut_is_unavailable_and_the_next_one_works(
    server_database_url: str, wire: Wire, kind: str
) -> None:
    await migrate(server_database_url)
    url = make_url(server_database_url).set(host="127.0.0.1", port=wire.port)
    store = Database(url.render_as_string(hide_password=False))
    try:
        async with getattr(store, kind)() as tx:
            await SqlFiring(tx).next_due()
        wire.cut()
        await asyncio.sleep(0.1)
        with suppress(Unavailable):
            async with getattr(store, kind)() as tx:
                await SqlFiring(tx).next_due()
        async with getattr(store, kind)() as tx:
            await SqlFiring(tx).next_due()
    finally:
        await store.close()


@pytest.mark.parametrize("kind", ["glance", "read", "begin"])
async def test_a_connection_that_dies_while_it_waits_is_unavailable(
    server_database_url: str, wire: Wire, kind: str
) -> None:
    await migrate(server_database_url)
    url = make_url(server_database_url).set(host="127.0.0.1", port=wire.port)
    store = Database(url.render_as_string(hide_password=False))

    async def ask() -> None:
        async with getattr(store, kind)() as tx:
            await SqlFiring(tx).next_due()

    try:
        await ask()
        wire.hold()
        waiting = asyncio.create_task(ask())
        await asyncio.sleep(0.2)
        wire.release(forgotten=True)
        with pytest.raises(Unavailable):
            await waiting
        await ask()
    finally:
        await store.close()
