"""API keys and tickets in the store, on each database."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from foliot.app.upkeep import UPKEEP
from foliot.auth.identity import KeyDigest, KeyRecord, StoredTicket
from foliot.core.access import Caller, Role
from foliot.core.ids import KEY, new_id
from foliot.db.database import Database
from foliot.engine.janitor import Janitor
from foliot.engine.model.views import PageRequest
from foliot.engine.ready_times import ReadyTimes
from foliot.features.api_keys.sql import SqlKeys
from foliot.features.api_keys.usecases import MOST, ApiKeys
from foliot.testing import StoppedClock
from foliot.wakeups.feed import MemoryFeed
from tests.givens import HOUR, MINUTE, NOON, SECOND, TENANT
from tests.world import World

OTHER = "globex"


def key(**changes: Any) -> KeyRecord:
    standing: dict[str, Any] = {
        "id": new_id(KEY),
        "tenant_id": TENANT,
        "name": "deploys",
        "role": Role.OPERATOR,
        "scopes": None,
        "hint": "flt_00000000",
        "created_by": "ada",
        "created_at": NOON,
    }
    return KeyRecord(**{**standing, **changes})


async def added(store: Database, digest: str = "d1", **changes: Any) -> KeyRecord:
    made = key(**changes)
    async with store.begin(made.tenant_id) as tx:
        await SqlKeys(tx).add(made, KeyDigest("p1", digest))
    return made


async def read(store: Database, one: KeyRecord) -> KeyRecord:
    async with store.read(one.tenant_id) as tx:
        found = await SqlKeys(tx).get(one.tenant_id, one.id)
    assert found is not None
    return found


async def test_a_key_reads_back_as_it_was_written(store: Database) -> None:
    full = await added(store, "d1", scopes=frozenset({"run:read", "schedule:read"}), expires_at=NOON + HOUR)
    plain = await added(store, "d2", name="Über-Schlüssel")

    assert await read(store, full) == full
    assert await read(store, plain) == plain


async def test_keys_are_listed_newest_first_page_by_page_and_by_tenant(store: Database) -> None:
    mine = [await added(store, f"d{number}") for number in range(3)]
    await added(store, "foreign", tenant_id=OTHER)

    async with store.read(TENANT) as tx:
        first = await SqlKeys(tx).find(TENANT, PageRequest(2))
        rest = await SqlKeys(tx).find(TENANT, PageRequest(2, first[-1].id))

    assert [one.id for one in first + rest] == [one.id for one in reversed(mine)]


async def test_a_foreign_key_is_not_there(store: Database) -> None:
    foreign = await added(store, tenant_id=OTHER)

    async with store.begin(TENANT) as tx:
        assert await SqlKeys(tx).get(TENANT, foreign.id) is None
        assert not await SqlKeys(tx).revoke(TENANT, foreign.id, NOON, "eve")
    assert (await read(store, foreign)).revoked_at is None


async def test_a_digest_finds_its_key_whoever_it_belongs_to(store: Database) -> None:
    mine, theirs = await added(store, "d1"), await added(store, "d2", tenant_id=OTHER)

    async with store.glance() as tx:
        assert await SqlKeys(tx).by_digests(["d1", "nobody's"]) == [(mine, KeyDigest("p1", "d1"))]
        assert await SqlKeys(tx).by_digests(["d2"]) == [(theirs, KeyDigest("p1", "d2"))]
        assert await SqlKeys(tx).by_digests(["D1"]) == []
        assert await SqlKeys(tx).by_id(theirs.id) == theirs


async def test_two_keys_never_share_a_digest(store: Database) -> None:
    await added(store, "d1")

    with pytest.raises(IntegrityError):
        await added(store, "d1", tenant_id=OTHER)


async def test_a_digest_is_replaced_unless_somebody_did_it_first(store: Database) -> None:
    one = await added(store, "old")

    async with store.begin() as tx:
        await SqlKeys(tx).reprint(one.id, KeyDigest("p1", "old"), KeyDigest("p2", "new"))
        await SqlKeys(tx).reprint(one.id, KeyDigest("p1", "old"), KeyDigest("p3", "newer"))

    async with store.glance() as tx:
        assert await SqlKeys(tx).by_digests(["old", "newer"]) == []
        assert await SqlKeys(tx).by_digests(["new"]) == [(one, KeyDigest("p2", "new"))]


async def test_a_key_is_revoked_once(store: Database) -> None:
    one = await added(store)

    async with store.begin(TENANT) as tx:
        assert await SqlKeys(tx).revoke(TENANT, one.id, NOON, "ada")
        assert not await SqlKeys(tx).revoke(TENANT, one.id, NOON + HOUR, "eve")

    found = await read(store, one)
    assert (found.revoked_at, found.revoked_by) == (NOON, "ada")
    assert not found.counts(NOON)


async def test_only_keys_that_count_are_counted(store: Database) -> None:
    revoked = await added(store, "d1")
    await added(store, "d2", expires_at=NOON)
    await added(store, "d3", expires_at=NOON + SECOND)
    await added(store, "d4")
    await added(store, "d5", tenant_id=OTHER)

    async with store.begin(TENANT) as tx:
        await SqlKeys(tx).revoke(TENANT, revoked.id, NOON, "ada")
        assert await SqlKeys(tx).lock_live(TENANT, NOON) == 2


async def test_the_last_use_of_many_keys_is_noted_and_never_goes_back(store: Database) -> None:
    keys = [await added(store, f"d{number}") for number in range(3)]

    async def note(used: dict[str, datetime]) -> None:
        async with store.begin() as tx:
            await SqlKeys(tx).note_use(used)

    await note({one.id: NOON for one in keys})
    await note({keys[0].id: NOON + MINUTE, keys[1].id: NOON - MINUTE})
    await note({})

    assert [(await read(store, one)).last_used_at for one in keys] == [NOON + MINUTE, NOON, NOON]


async def test_many_who_create_at_once_do_not_pass_the_limit(store: Database) -> None:
    world = World.on(store)
    caller = Caller(TENANT, "ada", Role.ADMIN)
    for number in range(MOST - 2):
        await added(store, f"d{number}")

    wanted = (world.cases[ApiKeys].create(caller, {"name": "x", "role": "viewer"}) for _ in range(8))
    made = await asyncio.gather(*wanted, return_exceptions=True)

    assert sorted(type(one).__name__ for one in made) == ["IssuedKey"] * 2 + ["TooMany"] * 6


# --- tickets ----------------------------------------------------------------------------------------------------------


async def put(store: Database, digest: str = "t1", **changes: Any) -> StoredTicket:
    standing: dict[str, Any] = {"tenant_id": TENANT, "caller": {"user_id": "ada"}, "expires_at": NOON + MINUTE}
    ticket = StoredTicket(**{**standing, **changes})
    async with store.begin(ticket.tenant_id) as tx:
        await SqlKeys(tx).put_ticket(digest, ticket)
    return ticket


async def take(store: Database, *digests: str) -> StoredTicket | None:
    async with store.begin() as tx:
        return await SqlKeys(tx).take_ticket(digests)


async def test_a_ticket_is_taken_once(store: Database) -> None:
    ticket = await put(store)

    assert await take(store, "other", "t1") == ticket
    assert await take(store, "t1") is None


async def test_of_many_who_want_a_ticket_at_once_one_gets_it(store: Database) -> None:
    for number in range(20):
        ticket = await put(store, f"t{number}")

        taken = await asyncio.gather(*(take(store, f"t{number}") for _ in range(8)))

        assert [one for one in taken if one is not None] == [ticket]


async def test_a_ticket_whose_taking_was_undone_is_still_there(store: Database) -> None:
    ticket = await put(store)

    async def stumble() -> None:
        async with store.begin() as tx:
            await SqlKeys(tx).take_ticket(["t1"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await stumble()

    assert await take(store, "t1") == ticket


async def test_only_expired_tickets_are_pruned_so_many_at_a_time(store: Database) -> None:
    for number in range(5):
        await put(store, f"old{number}", expires_at=NOON - SECOND)
    fresh = await put(store, "fresh", expires_at=NOON)

    async def prune() -> int:
        async with store.begin() as tx:
            return await SqlKeys(tx).prune_tickets(NOON, 3)

    assert [await prune(), await prune(), await prune()] == [3, 2, 0]
    assert await take(store, "fresh") == fresh


async def test_the_janitor_forgets_tickets_that_nobody_took(store: Database) -> None:
    await put(store, "old", expires_at=NOON - SECOND)
    await put(store, "fresh")
    clock, feed = StoppedClock(NOON), MemoryFeed()
    janitor = Janitor(
        clock=clock, store=store, feed=feed, alarm=ReadyTimes(), period=1.0, retention=None, upkeep=UPKEEP
    )

    await janitor.run_once()

    async with store.begin() as tx:
        assert (await tx.conn.execute(text("SELECT digest FROM tickets"))).scalars().all() == ["fresh"]


async def test_a_key_with_damaged_scopes_may_nothing(store: Database) -> None:
    one = await added(store, scopes=frozenset({"run:read"}))

    async with store.begin() as tx:
        await tx.conn.execute(text("UPDATE api_keys SET scopes = '[\"run:read'"))

    assert (await read(store, one)).scopes == frozenset()
