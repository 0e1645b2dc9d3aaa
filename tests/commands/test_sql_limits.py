"""Limits that the store itself keeps: schedules counted without a race, and runs at once, on every database."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import text

from foliot.app.use_cases import use_cases
from foliot.commands.envelope import UseCases
from foliot.commands.limits import Limiter
from foliot.commands.tenants_sql import SqlTenants, Tenant
from foliot.core.access import Caller, Role
from foliot.core.errors import Contended, TooMany
from foliot.core.limits import TenantLimits
from foliot.db.database import Database
from foliot.engine.model.run import Succeeded
from foliot.engine.model.views import ClaimedRun, PageRequest
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.tenant_limits import ConcurrencyLimits
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.testing import StoppedClock, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.givens import LEASE, NOON, SECOND, TENANT, ask, claim, finish, ready, request, row_of, sql, statements
from tests.world import EVERY_MINUTE, OneAction

OPERATOR = Caller("acme", "ada", Role.OPERATOR)
LATER = NOON + timedelta(seconds=10)


async def say(store: Database, tenant_id: str = TENANT, **limits: int | None) -> None:
    async with store.begin() as tx:
        await SqlTenants(tx).put(Tenant(tenant_id=tenant_id, limits=limits, updated_by="root", updated_at=NOON))
    store.caches.setdefault(ConcurrencyLimits, ConcurrencyLimits()).read_at = None


# --- the rows ---------------------------------------------------------------------------------------------------------


async def test_what_is_said_of_a_tenant_is_kept_whole(store: Database) -> None:
    said = Tenant(
        tenant_id="acme",
        limits={"schedules": 5, "streams": None},
        egress_allow=("*.example.com",),
        updated_by="root",
        updated_at=NOON,
    )
    async with store.begin() as tx:
        await SqlTenants(tx).put(Tenant(tenant_id="acme", limits={"schedules": 1}, updated_by="x", updated_at=NOON))
        await SqlTenants(tx).put(said)

    async with store.read() as tx:
        assert await SqlTenants(tx).get("acme") == said
        assert await SqlTenants(tx).get("Acme") is None


async def test_tenants_are_listed_in_the_order_of_their_ids(store: Database) -> None:
    for name in ("b", "a", "c"):
        await say(store, name)

    async with store.read() as tx:
        assert [one.tenant_id for one in await SqlTenants(tx).find(PageRequest(2, None))] == ["a", "b"]
        assert [one.tenant_id for one in await SqlTenants(tx).find(PageRequest(2, "b"))] == ["c"]


async def test_damaged_limits_say_nothing_and_a_damaged_list_allows_nothing(store: Database) -> None:
    await say(store, schedules=5)
    await sql(store, "UPDATE tenants SET limits = '{\"schedules\": \"many\"}', egress_allow = 'no list'")

    async with store.read() as tx:
        found = await SqlTenants(tx).get(TENANT)

    assert found is not None
    assert (found.limits, found.egress_allow) == ({}, None)


async def test_a_confined_transaction_may_count_and_wait_but_change_no_limit(server_database_url: str) -> None:
    if not server_database_url.startswith("postgresql"):
        pytest.skip("only PostgreSQL has walls")
    async with open_store(server_database_url) as store:
        await say(store, schedules=5)
        async with store.begin(TENANT) as tx:
            assert await SqlTenants(tx).count_schedules(TENANT, lock=True) == 0
        with pytest.raises(Exception, match="permission denied"):
            async with store.begin(TENANT) as tx:
                await tx.conn.execute(text("UPDATE tenants SET limits = '{}'"))


# --- schedules --------------------------------------------------------------------------------------------------------


def cases_on(store: Database, limits: TenantLimits) -> UseCases:
    clock = StoppedClock(NOON)
    limiter = Limiter(store=store, clock=clock, default=limits)
    return use_cases(store, clock, MemoryFeed(), OneAction(), limiter=limiter)


async def test_only_active_and_paused_schedules_take_a_place(store: Database) -> None:
    cases = cases_on(store, TenantLimits(schedules=2))
    first = await cases[Schedules].create(OPERATOR, EVERY_MINUTE)
    second = await cases[Schedules].create(OPERATOR, EVERY_MINUTE)

    await cases[Schedules].pause(OPERATOR, first.id)
    with pytest.raises(TooMany, match="limit of 2 active"):
        await cases[Schedules].create(OPERATOR, EVERY_MINUTE)
    await cases[Schedules].delete(OPERATOR, second.id)
    third = await cases[Schedules].create(OPERATOR, EVERY_MINUTE)
    await sql(store, "UPDATE schedules SET status = 'completed', next_at = NULL WHERE id = :id", id=third.id)
    await cases[Schedules].create(OPERATOR, EVERY_MINUTE)

    with pytest.raises(TooMany):
        await cases[Schedules].patch(OPERATOR, third.id, {"name": "Once more"})
    assert (await cases[Schedules].get(OPERATOR, third.id)).status == "completed"


async def test_anothers_schedules_take_no_place_of_mine(store: Database) -> None:
    cases = cases_on(store, TenantLimits(schedules=1))
    await cases[Schedules].create(OPERATOR, EVERY_MINUTE)

    await cases[Schedules].create(Caller("globex", "bob", Role.OPERATOR), EVERY_MINUTE)


async def test_a_limit_that_was_lowered_stops_resuming_but_no_edit(store: Database) -> None:
    cases = cases_on(store, TenantLimits())
    one, two = [await cases[Schedules].create(OPERATOR, EVERY_MINUTE) for _ in range(2)]
    await cases[Schedules].pause(OPERATOR, one.id)
    lowered = cases_on(store, TenantLimits(schedules=1))

    with pytest.raises(TooMany):
        await lowered[Schedules].resume(OPERATOR, one.id)
    await lowered[Schedules].patch(OPERATOR, two.id, {"name": "New"})
    await lowered[Schedules].delete(OPERATOR, two.id)
    assert (await lowered[Schedules].resume(OPERATOR, one.id)).status == "active"


async def test_racers_never_pass_the_limit_together(server_database_url: str) -> None:
    """Each racer has a process's worth of its own: a store with its own connections, and its own use cases."""
    async with open_store(server_database_url) as store:
        others = [Database(server_database_url, bind_clock=True) for _ in range(3)]
        racers = [cases_on(one, TenantLimits(schedules=7)) for one in (store, *others)]
        try:
            made = await asyncio.gather(
                *(racers[at % 4][Schedules].create(OPERATOR, EVERY_MINUTE) for at in range(40)), return_exceptions=True
            )
        finally:
            for one in others:
                await one.close()

        refused = [one for one in made if isinstance(one, TooMany)]
        assert (len(made) - len(refused), len(refused)) == (7, 33)
        async with store.read() as tx:
            assert await SqlTenants(tx).count_schedules("acme") == 7


# --- runs at once -----------------------------------------------------------------------------------------------------


async def test_a_capped_tenant_is_offered_what_it_has_room_for_and_the_others_are_not_delayed(store: Database) -> None:
    await say(store, concurrent_runs=3)
    mine = await ask(store, NOON, *(request() for _ in range(6)))
    others = await ask(store, NOON, *(request(tenant_id="globex") for _ in range(6)))
    await claim(store, NOON, mine[0])

    offered = await ready(store, NOON, limit=100)

    assert len(set(offered) & set(mine)) == 2
    assert set(others) <= set(offered)


async def test_a_full_tenant_leaves_its_places_to_the_others(store: Database) -> None:
    await say(store, concurrent_runs=0)
    await ask(store, NOON, *(request() for _ in range(50)))
    others = await ask(store, NOON, *(request(tenant_id="globex") for _ in range(10)))

    assert set(await ready(store, NOON, limit=10)) == set(others)


async def test_the_cap_is_one_for_all_queues(store: Database) -> None:
    await say(store, concurrent_runs=3)
    for queue in ("default", "manual", "scraping"):
        await ask(store, NOON, *(request(queue=queue) for _ in range(5)))

    assert len(await ready(store, NOON, limit=100)) == 3


async def test_the_claim_itself_keeps_to_the_cap_and_takes_the_most_urgent(store: Database) -> None:
    await say(store, concurrent_runs=2)
    runs = await ask(store, NOON, *(request() for _ in range(5)))

    taken = await claim(store, NOON, *runs)

    assert {one.fence.run_id for one in taken} == set(runs[:2])
    assert await claim(store, NOON, *runs[2:]) == []
    assert [(await row_of(store, run_id))["state"] for run_id in runs[2:]] == ["queued"] * 3


async def test_a_run_that_ends_makes_room_for_the_next(store: Database) -> None:
    await say(store, concurrent_runs=1)
    first, second = await ask(store, NOON, request(), request())
    (claimed,) = await claim(store, NOON, first)
    assert await ready(store, NOON, limit=10) == []

    await finish(store, claimed, Succeeded(), NOON + SECOND)

    assert await ready(store, NOON + SECOND, limit=10) == [second]
    assert len(await claim(store, NOON + SECOND, second)) == 1


async def test_the_settings_cap_everybody_who_says_nothing_else(store: Database) -> None:
    store.caches[ConcurrencyLimits] = ConcurrencyLimits(1)
    await say(store, "free", concurrent_runs=None)
    await say(store, "more", concurrent_runs=2)
    for tenant in ("free", "more", "plain"):
        await ask(store, NOON, *(request(tenant_id=tenant) for _ in range(4)))

    offered = await ready(store, NOON, limit=100)

    tenants = [(await row_of(store, run_id))["tenant_id"] for run_id in offered]
    assert sorted(tenants) == ["free"] * 4 + ["more"] * 2 + ["plain"]


async def test_a_changed_cap_is_followed_after_five_seconds(store: Database) -> None:
    runs = await ask(store, NOON, *(request() for _ in range(4)))
    assert len(await ready(store, NOON, limit=10)) == 4
    async with store.begin() as tx:
        said = Tenant(tenant_id=TENANT, limits={"concurrent_runs": 1}, updated_by="root", updated_at=NOON)
        await SqlTenants(tx).put(said)

    assert len(await ready(store, NOON + 4 * SECOND, limit=10)) == 4
    assert len(await ready(store, NOON + 5 * SECOND, limit=10)) == 1
    assert len(await claim(store, NOON + 5 * SECOND, *runs)) == 1


async def test_without_any_cap_no_statement_is_spent_on_caps(store: Database) -> None:
    await say(store, schedules=5)
    runs = await ask(store, NOON, *(request() for _ in range(4)))
    await ready(store, NOON, limit=10)

    with statements(store) as seen:
        assert await ready(store, NOON + SECOND, limit=10)
        await claim(store, NOON + SECOND, *runs)

    assert len(seen) == 4, seen
    # Whether a queue is paused is asked in the same breath.
    asked = [one.replace("(SELECT count(*) AS count_1 FROM queues", "") for one in seen]
    assert not [one for one in asked if "turns" in one or "tenants" in one or "count(" in one.lower()]


async def test_nodes_that_race_never_start_more_than_the_cap(server_database_url: str) -> None:
    async with open_store(server_database_url) as store:
        await say(store, concurrent_runs=5)
        capped = await ask(store, NOON, *(request() for _ in range(60)))
        free = await ask(store, NOON, *(request(tenant_id="globex") for _ in range(60)))
        nodes = [Database(server_database_url, bind_clock=True) for _ in range(4)]
        try:
            most = 0
            for _ in range(3):
                taken = await asyncio.gather(*(take(node, at, capped, free) for node in nodes for at in range(5)))
                async with store.read() as tx:
                    most = max(most, await SqlTenants(tx).count_running(TENANT))
                for one in (each for batch in taken for each in batch if each.tenant_id == TENANT):
                    await finish(store, one, Succeeded(), LATER)
        finally:
            for node in nodes:
                await node.close()

        assert most == 5
        async with store.read() as tx:
            assert await SqlTenants(tx).count_running("globex") == 60


async def take(node: Database, at: int, capped: list[str], free: list[str]) -> list[ClaimedRun]:
    for _ in range(5):
        try:
            async with node.begin() as tx:
                mine = [*capped[at * 12 : at * 12 + 12], *free[at * 12 : at * 12 + 12]]
                return list(await SqlClaims(tx).claim(mine, f"node-{at}", LEASE, NOON))
        except Contended:
            continue
    raise AssertionError("contended five times")


async def test_a_node_that_stands_still_in_a_claim_holds_up_nobody_else(server_database_url: str) -> None:
    async with open_store(server_database_url) as store:
        await say(store, concurrent_runs=5)
        mine = await ask(store, NOON, *(request() for _ in range(4)))
        others = await ask(store, NOON, *(request(tenant_id="globex") for _ in range(2)))
        await claim(store, NOON, mine[3])
        async with store.begin() as tx:
            await SqlClaims(tx).claim(mine[:1], "frozen", LEASE, NOON)

            taken = await asyncio.wait_for(claim(store, NOON, mine[1], *others), 3)

        assert {one.fence.run_id for one in taken} == set(others)
        assert len(await claim(store, NOON, mine[1], mine[2])) == 2
