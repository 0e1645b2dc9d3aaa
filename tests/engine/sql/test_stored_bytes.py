"""What a tenant has stored: counted with each write, bounded, kept once, and pruned, on each database."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, func, select

from foliot.app.use_cases import use_cases
from foliot.commands.envelope import UseCases
from foliot.commands.limits import Limiter
from foliot.commands.tenants_sql import SqlTenants
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import TooMany
from foliot.core.limits import TenantLimits
from foliot.db.database import Database
from foliot.engine.sql import tenant_limits
from foliot.engine.sql.retention import KEPT, SqlRetention
from foliot.engine.sql.schedules import SqlSchedules
from foliot.engine.sql.tables import spans, stored, versions
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.schedules.usecases.instants import Instants
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.tenants.usecases import Tenants
from tests.world import EVERY_MINUTE, KEYRING, URL, OneAction, World

BIG = 50_000
GLOBEX = Caller("globex", "bob", Role.ADMIN)


def action(number: int = 0, size: int = BIG) -> dict[str, Any]:
    return {"kind": "webhook", "url": URL, "body": {"number": number, "text": "ü" * (size // 2)}}


def limited(world: World, most: int) -> UseCases:
    limiter = Limiter(store=world.store, clock=world.clock, default=TenantLimits(stored_bytes=most))
    return use_cases(world.store, world.clock, world.feed, OneAction(), pepper=KEYRING, vault=KEYRING, limiter=limiter)


async def used(store: Database, tenant_id: str = LOCAL.tenant_id) -> int:
    async with store.read() as tx:
        return await SqlTenants(tx).stored_bytes(tenant_id)


async def recounted(store: Database) -> int:
    async with store.begin() as tx:
        return await tenant_limits.recount(tx.conn, store.dialect, LOCAL.tenant_id)


async def count(store: Database, table: Any) -> int:
    async with store.read() as tx:
        return int(await tx.conn.scalar(select(func.count()).select_from(table)) or 0)


async def thin(store: Database) -> int:
    async with store.begin() as tx:
        gone, place = await SqlRetention(tx).thin_versions("", 20)
    assert place is None
    return gone


async def test_the_sum_moves_with_every_write_as_counting_anew_says(world: World) -> None:
    made = await world.schedule(action=action())
    first = await used(world.store)
    assert 2 * BIG < first < 2 * BIG + 5000, "the schedule, and its first version"
    await world.cases[Schedules].patch(LOCAL, made.id, {"action": action(1, size=BIG // 2)})
    await world.cases[Schedules].run_now(LOCAL, made.id, {})
    await world.cases[Schedules].run_now(LOCAL, made.id, {"payload": {"body": {"text": "x" * 3000}}})
    await world.schedule()

    counted = await used(world.store)
    assert counted == await recounted(world.store) == await used(world.store)
    assert await used(world.store, "globex") == 0


async def test_two_who_recount_at_once_agree(world: World) -> None:
    await world.schedule(action=action())
    once = await recounted(world.store)
    async with world.store.begin() as tx:
        await tx.conn.execute(delete(stored))

    for _ in range(10):
        both = await asyncio.gather(recounted(world.store), recounted(world.store))
        assert list(both) == [once, once]
        assert await used(world.store) == once


async def test_an_edit_that_leaves_the_body_alone_stores_no_second_one(world: World) -> None:
    made = await world.schedule(action=action())
    before = await used(world.store)
    for number in range(10):
        await world.cases[Schedules].patch(LOCAL, made.id, {"priority": 1 + number % 5})
        await world.cases[Schedules].pause(LOCAL, made.id)
        await world.cases[Schedules].resume(LOCAL, made.id)

    assert await used(world.store) - before < BIG // 2
    run = await world.cases[Schedules].run_now(LOCAL, made.id, {})
    (claimed,) = await world.claim(run.id)
    assert claimed.config["body"] == action()["body"]
    await world.cases[Schedules].patch(LOCAL, made.id, {"action": action(1)})
    await world.cases[Schedules].patch(LOCAL, made.id, {"action": action(0)})
    assert await used(world.store) - before < 2 * BIG, "the body of the first version came back"
    async with world.store.read() as tx:
        (found,) = (await SqlSchedules(tx).actions(LOCAL.tenant_id, {(made.id, 33)})).values()
    assert found["body"] == action()["body"]


async def test_a_tenant_at_its_limit_is_refused_with_what_it_uses_and_another_is_not(world: World) -> None:
    cases = limited(world, 5 * BIG + 5000)
    made = await cases[Schedules].create(LOCAL, {**EVERY_MINUTE, "action": action()})
    for number in range(1, 4):
        await cases[Schedules].patch(LOCAL, made.id, {"action": action(number)})
    at = await used(world.store)

    for refused in (
        cases[Schedules].patch(LOCAL, made.id, {"action": action(9)}),
        cases[Schedules].replace(LOCAL, made.id, {**EVERY_MINUTE, "action": action(9)}),
        cases[Schedules].create(LOCAL, {**EVERY_MINUTE, "action": action()}),
        cases[Schedules].run_now(LOCAL, made.id, {"payload": {"body": action(9)["body"]}}),
    ):
        with pytest.raises(TooMany, match=r"255,000 bytes, and this would bring it to [23]\d\d,\d{3}"):
            await refused
    assert await used(world.store) == at, "what was refused is not counted"
    assert cases[Limiter].refused["stored_bytes"] == 4
    await cases[Schedules].create(GLOBEX, {**EVERY_MINUTE, "action": action()})
    await cases[Schedules].pause(LOCAL, made.id)
    await cases[Schedules].run_now(LOCAL, made.id, {})
    use = await cases[Tenants].use(LOCAL)
    assert (use.limits.stored_bytes, use.stored_bytes) == (5 * BIG + 5000, await used(world.store))


async def test_versions_that_nothing_refers_to_go_and_every_instant_stays_accounted_for(world: World) -> None:
    made = await world.schedule()
    await world.pass_time(2)
    for number in range(3 * KEPT):
        world.clock.advance(timedelta(milliseconds=1))
        await world.cases[Schedules].patch(LOCAL, made.id, {"action": action(number, size=2000)})
    await world.pass_time(2)
    asked = (made.id, world.clock.now() - timedelta(hours=1), world.clock.now(), 100)
    instants = await world.cases[Instants].list(LOCAL, *asked)
    before = await recounted(world.store)

    gone = await thin(world.store)

    # The first fired, the newest stay.
    assert gone == 3 * KEPT + 1 - KEPT - 1
    assert (await count(world.store, versions), await count(world.store, spans)) == (KEPT + 1, KEPT + 1)
    assert await recounted(world.store) < before - gone * 2000
    assert await world.cases[Instants].list(LOCAL, *asked) == instants
    assert (await world.cases[LedgerVerifier].prove(LOCAL)).holes == []
    assert await thin(world.store) == 0


async def test_a_version_of_a_run_a_pause_or_another_versions_body_stays(world: World) -> None:
    made = await world.schedule(action=action(size=2000))
    held = await world.cases[Schedules].patch(LOCAL, made.id, {"action": action(1, size=2000)})
    run = await world.cases[Schedules].run_now(LOCAL, made.id, {})
    paused = await world.cases[Schedules].pause(LOCAL, made.id)
    await world.pass_time(2)
    await world.cases[Schedules].resume(LOCAL, made.id)
    for number in range(2 * KEPT):
        await world.cases[Schedules].patch(LOCAL, made.id, {"priority": 1 + number % 5})

    assert await thin(world.store) > 0

    async with world.store.read() as tx:
        left = set((await tx.conn.execute(select(versions.c.version))).scalars())
    assert {1, held.version, paused.version} <= left
    (claimed,) = await world.claim(run.id)
    assert claimed.config["body"] == action(1, size=2000)["body"]
    assert (await world.cases[LedgerVerifier].prove(LOCAL)).holes == []
