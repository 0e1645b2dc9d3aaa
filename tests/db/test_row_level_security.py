"""The second wall: who builds it, who may not, and that no table with tenants stands outside."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from sqlalchemy import URL, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from foliot.core.errors import Unavailable
from foliot.db.database import Database
from foliot.db.migrate import migrate
from foliot.features.api_keys.sql import api_keys
from tests import databases
from tests.services import wait_for

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.services)


@pytest.fixture(params=[POSTGRESQL])
def url(request: pytest.FixtureRequest, databases_of_session: Callable[[str, str], URL]) -> URL:
    found = databases_of_session(request.param, "wall")
    wait_for(databases.raze(found))
    return found


@pytest.fixture
async def engine(url: URL) -> AsyncIterator[AsyncEngine]:
    made = create_async_engine(url)
    yield made
    await made.dispose()


async def test_every_table_with_tenants_stands_inside(url: URL, engine: AsyncEngine) -> None:
    await migrate(_text(url))

    async with engine.connect() as conn:
        inside = set(
            (await conn.execute(text("SELECT tablename FROM pg_policies WHERE policyname = 'tenant'"))).scalars()
        )
        switched_on = set((await conn.execute(text("SELECT relname FROM pg_class WHERE relrowsecurity"))).scalars())

    expected = {table.name for table in api_keys.metadata.sorted_tables if "tenant_id" in table.c}
    assert len(expected) >= 15
    assert inside == expected
    assert switched_on == expected


async def test_a_wall_that_stands_is_left_alone(url: URL, engine: AsyncEngine) -> None:
    await migrate(_text(url))
    before = await _policies(engine)

    await migrate(_text(url))

    assert await _policies(engine) == before


async def test_a_migration_repairs_what_was_torn_down(url: URL, engine: AsyncEngine) -> None:
    await migrate(_text(url))
    async with engine.begin() as conn:
        await conn.execute(text("DROP POLICY tenant ON secrets"))

    await migrate(_text(url))

    async with engine.connect() as conn:
        found = await conn.scalar(
            text("SELECT count(*) FROM pg_policies WHERE policyname = 'tenant' AND tablename = 'secrets'")
        )
    assert found == 1


async def test_a_user_who_may_not_take_the_role_goes_on_behind_the_first_wall(url: URL, engine: AsyncEngine) -> None:
    """As on a server where somebody else makes roles; when they have, the next migration builds the wall."""
    name = f"{url.database}_poor"
    async with engine.begin() as conn:
        await conn.execute(text(f"DROP ROLE IF EXISTS {name}"))
        await conn.execute(text(f"CREATE ROLE {name} LOGIN"))
        await conn.execute(text("DROP SCHEMA public CASCADE"))
        await conn.execute(text(f"CREATE SCHEMA public AUTHORIZATION {name}"))
    poor = _text(url.set(username=name))
    try:
        await migrate(poor)
        assert await _walled(poor) is False

        async with engine.begin() as conn:
            await conn.execute(text(f"GRANT foliot_tenant TO {name}"))
        await migrate(poor)
        assert await _walled(poor) is True
    finally:
        wait_for(databases.raze(url))
        async with engine.begin() as conn:
            await conn.execute(text(f"REASSIGN OWNED BY {name} TO CURRENT_USER"))
            await conn.execute(text(f"DROP OWNED BY {name}"))
            await conn.execute(text(f"DROP ROLE {name}"))


async def _walled(url: str) -> bool:
    store = Database(url)
    try:
        return await store.has_row_level_security()
    finally:
        await store.close()


async def _policies(engine: AsyncEngine) -> list[tuple[int, str]]:
    async with engine.connect() as conn:
        rows = await conn.execute(text("SELECT oid::int8, polname FROM pg_policy ORDER BY 1"))
        return [(oid, name) for oid, name in rows]


def _text(url: URL) -> str:
    return url.render_as_string(hide_password=False)


STANDS = text("SELECT current_user, coalesce(current_setting('foliot.tenant', true), '')")


@pytest.mark.parametrize("tenant", ["acme", "o'brien", "x'; RESET ROLE; --", "back\\slash", "'"])
async def test_a_transaction_begins_as_its_tenant_whatever_its_name(url: URL, tenant: str) -> None:
    await migrate(_text(url))
    store = Database(_text(url), pool=1)
    try:
        for scope in (store.read, store.begin, store.read):  # the first of a process asks whether there is a wall
            async with scope(tenant) as tx:
                assert (await tx.conn.execute(STANDS)).one() == ("foliot_tenant", tenant)
    finally:
        await store.close()


async def test_a_transaction_that_never_began_leaves_its_tenant_to_none_after_it(url: URL) -> None:
    await migrate(_text(url))
    store = Database(_text(url), pool=1)
    try:
        async with store.read("acme") as tx:
            await tx.conn.execute(STANDS)
        for scope in (store.read, store.begin):
            async with scope("acme"):
                pass  # not a single statement
            async with scope() as tx:
                assert (await tx.conn.execute(STANDS)).one() == (url.username, "")
            async with scope("beta") as tx:
                assert (await tx.conn.execute(STANDS)).one() == ("foliot_tenant", "beta")
    finally:
        await store.close()


async def test_a_transaction_whose_restriction_fails_does_not_go_on_without(url: URL) -> None:
    await migrate(_text(url))
    store = Database(_text(url), pool=1)
    try:
        async with store.read("acme") as tx:
            await tx.conn.execute(STANDS)
        with pytest.raises(Unavailable):
            async with store.read("\x00") as tx:  # which no statement can carry
                await tx.conn.execute(STANDS)
        async with store.read("acme") as tx:
            assert (await tx.conn.execute(STANDS)).one() == ("foliot_tenant", "acme")
    finally:
        await store.close()
