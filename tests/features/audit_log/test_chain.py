"""The trail on every database: it only grows, its chain has no gap and no fork, and every tampering is named."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from foliot.commands.audit_sql import GENESIS, AuditEntry, SqlAuditLog, seal, trail
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import FoliotError, Forbidden
from foliot.core.ids import ENTRY, new_id
from foliot.db.database import Database
from foliot.engine.model.views import PageRequest
from foliot.features.audit_log.actor import AuditChainer
from foliot.features.audit_log.chain import ChainBreak, ChainsVerified, ChainVerifier
from tests.givens import MINUTE, NOON, SECOND, TENANT, statements, stopped
from tests.tampering import tamper


def entry(**changes: Any) -> AuditEntry:
    standing: dict[str, Any] = {
        "id": new_id(ENTRY),
        "tenant_id": TENANT,
        "at": NOON,
        "user_id": "ada",
        "key_id": "key_1",
        "door": "rest",
        "verb": "patch",
        "thing": "schedule",
        "thing_id": "sch_1",
        "was": {"name": "alt"},
        "became": {"name": "neu – ☃", "n": 1.5},
    }
    return AuditEntry(**{**standing, **changes})


async def add(store: Database, *entries: AuditEntry) -> None:
    async with store.begin() as tx:
        await SqlAuditLog(tx).add(entries)


async def chain(store: Database, limit: int = 1000) -> int:
    async with store.begin() as tx:
        return await SqlAuditLog(tx).chain(limit)


async def chained(store: Database, count: int, tenant: str = TENANT) -> list[AuditEntry]:
    """That many entries, each with its place."""
    made = [entry(tenant_id=tenant, thing_id=f"sch_{place}") for place in range(1, count + 1)]
    await add(store, *made)
    await chain(store)
    return made


FIRST_PAGE = PageRequest(100)


async def find(
    store: Database, tenant: str = TENANT, page: PageRequest = FIRST_PAGE, **wanted: Any
) -> list[AuditEntry]:
    async with store.read(tenant) as tx:
        return await SqlAuditLog(tx).find(tenant, page, **wanted)


async def verify(store: Database, now: datetime = NOON) -> ChainsVerified:
    return await ChainVerifier(store=store, clock=stopped(now)).verify(LOCAL)


async def first_break(store: Database) -> ChainBreak:
    (found,) = (await verify(store)).breaks
    return found


# --- growing ----------------------------------------------------------------------------------------------------------


async def test_an_entry_comes_back_as_it_was_written_and_gets_its_place(store: Database) -> None:
    made = entry()
    await add(store, made)
    (waiting,) = await find(store)
    assert waiting == made

    assert await chain(store) == 1

    (placed,) = await find(store)
    assert (placed.seq, len(placed.digest or "")) == (1, 64)
    assert (placed.was, placed.became, placed.at) == (made.was, made.became, made.at)
    assert await chain(store) == 0


async def test_each_tenant_is_numbered_from_one_without_gaps_whatever_the_others_do(store: Database) -> None:
    for _ in range(3):
        await add(store, entry(tenant_id="a"), entry(tenant_id="b"), entry(tenant_id="b"))
        await chain(store, limit=4)
    while await chain(store, limit=2):
        pass

    assert [one.seq for one in await find(store, "a")] == [3, 2, 1]
    assert [one.seq for one in await find(store, "b")] == [6, 5, 4, 3, 2, 1]
    assert (await verify(store)).breaks == []


async def test_a_digest_is_the_same_on_every_database(store: Database) -> None:
    made = entry(id="aud_1", key_id=None, at=NOON + SECOND / 8)
    await add(store, made)
    await chain(store)

    texts = ["aud_1", TENANT, "2027-01-04 12:00:00.125000", "ada", None, "rest", "patch", "schedule", "sch_1"]
    expected = seal(GENESIS, 1, [*texts, '{"name":"alt"}', '{"name":"neu – ☃","n":1.5}'])
    assert [one.digest for one in await find(store)] == [expected]


async def test_a_thousand_entries_are_chained_in_a_handful_of_statements(store: Database) -> None:
    with statements(store) as sent:
        await add(store, *(entry(tenant_id=f"t{place % 5}") for place in range(1000)))
    assert len(sent) == 1

    with statements(store) as sent:
        assert await chain(store) == 1000
    assert len(sent) <= 7, sent

    seen = await verify(store)
    assert (seen.tenants, seen.entries, seen.breaks) == (5, 1000, [])


async def test_the_chainer_looks_once_and_rests_when_nothing_waits(store: Database) -> None:
    chainer = AuditChainer(store=store, period=1.0, batch=2)
    with statements(store) as sent:
        assert (await chainer.run_once()).rest == 1.0
    assert len(sent) == 1

    await add(store, *(entry() for _ in range(3)))
    rounds = [await chainer.run_once() for _ in range(3)]

    assert [(did.entries, did.rest) for did in rounds] == [(2, 0), (1, 1.0), (0, 1.0)]


async def test_many_chainers_at_once_make_one_chain(store: Database) -> None:
    tenants = ["a", "b", "c"]
    done = False

    async def work() -> None:
        chainer = AuditChainer(store=store, period=0, batch=7)
        while not done or (await chainer.run_once()).entries:
            try:
                await chainer.run_once()
            except FoliotError:
                continue

    async def write(tenant: str) -> None:
        for _ in range(30):
            await add(store, entry(tenant_id=tenant), entry(tenant_id=tenant))

    workers = [asyncio.create_task(work()) for _ in range(4)]
    await asyncio.gather(*(write(tenant) for tenant in tenants))
    done = True
    await asyncio.gather(*workers)

    seen = await verify(store)
    assert (seen.entries, seen.breaks) == (180, [])
    assert [(head.tenant_id, head.seq) for head in seen.heads] == [("a", 60), ("b", 60), ("c", 60)]


async def test_a_tenant_whose_head_is_held_is_left_to_its_holder(store: Database) -> None:
    if store.dialect.name == "sqlite":
        pytest.skip("it has one writer")
    await chained(store, 1, "a")
    await chained(store, 1, "b")
    await add(store, entry(tenant_id="a"), entry(tenant_id="b"))

    async with store.begin() as tx:
        await tx.conn.execute(text("SELECT * FROM trail_heads WHERE tenant_id = 'a' FOR UPDATE"))
        assert await chain(store) == 1

    assert [one.seq for one in await find(store, "a")] == [None, 1]
    assert [one.seq for one in await find(store, "b")] == [2, 1]


async def test_what_is_undone_takes_no_number(store: Database) -> None:
    await chained(store, 1)
    async with store.begin() as tx:
        await SqlAuditLog(tx).add([entry()])
        await SqlAuditLog(tx).chain(10)
        await tx.conn.rollback()
    await chained(store, 1)

    assert [one.seq for one in await find(store)] == [2, 1]
    assert (await verify(store)).breaks == []


# --- reading ----------------------------------------------------------------------------------------------------------


async def test_entries_are_found_by_who_what_and_when_newest_first(store: Database) -> None:
    made = [
        entry(user_id="ada", verb="create", at=NOON),
        entry(user_id="bob", verb="pause", at=NOON + MINUTE),
        entry(user_id="ada", verb="create", thing="key", thing_id="key_9", at=NOON + 2 * MINUTE),
        entry(tenant_id="other"),
    ]
    await add(store, *made)

    async def ids(**wanted: Any) -> Sequence[int]:
        return [[one.id for one in made].index(found.id) for found in await find(store, **wanted)]

    assert await ids() == [2, 1, 0]
    assert await ids(user_id="ada") == [2, 0]
    assert await ids(verb="pause") == [1]
    assert await ids(thing="key") == [2]
    assert await ids(thing_id="sch_1", thing="schedule") == [1, 0]
    assert await ids(start=NOON + MINUTE) == [2, 1]
    assert await ids(end=NOON + MINUTE) == [0]
    assert await ids(page=PageRequest(1, made[2].id)) == [1]
    assert await ids(user_id="ADA") == []


# --- append-only ------------------------------------------------------------------------------------------------------

REFUSED = {
    "alter": "UPDATE trail SET user_id = 'eve' WHERE seq = 2",
    "alter the digest": "UPDATE trail SET digest = 'x' WHERE seq = 2",
    "renumber": "UPDATE trail SET seq = 9 WHERE seq = 2",
    "unchain": "UPDATE trail SET seq = NULL, digest = NULL, waiting_of = tenant_id WHERE seq = 2",
    "alter one that waits": "UPDATE trail SET user_id = 'eve' WHERE seq IS NULL",
    "alter while chaining": "UPDATE trail SET user_id = 'eve', waiting_of = NULL, seq = 4, digest = 'x' WHERE seq IS NULL",  # noqa: E501 -- one statement
    "delete": "DELETE FROM trail WHERE seq = 2",
    "delete one that waits": "DELETE FROM trail WHERE seq IS NULL",
    "insert a chained one": "INSERT INTO trail (id, tenant_id, at, user_id, door, verb, thing, thing_id, seq, digest)"
    " SELECT 'aud_x', tenant_id, at, user_id, door, verb, thing, thing_id, 9, digest FROM trail WHERE seq = 2",
    "move the head back": "UPDATE trail_heads SET seq = 1",
    "forge the head": "UPDATE trail_heads SET digest = 'x'",
    "delete the head": "DELETE FROM trail_heads",
}


@pytest.mark.parametrize("name", REFUSED)
async def test_the_database_refuses_to(name: str, store: Database) -> None:
    await chained(store, 3)
    await add(store, entry())

    with pytest.raises((DBAPIError, FoliotError)) as refused:
        async with store.begin() as tx:
            await tx.conn.execute(text(REFUSED[name]))

    assert "audit" in str(refused.value)
    assert [one.seq for one in await find(store)] == [None, 3, 2, 1]
    assert (await verify(store)).breaks == []


async def test_postgresql_refuses_to_truncate(store: Database) -> None:
    if store.dialect.name != "postgresql":
        pytest.skip("the others have no trigger for it")
    await chained(store, 1)
    with pytest.raises(DBAPIError, match="never deleted"):
        async with store.begin() as tx:
            await tx.conn.execute(text("TRUNCATE trail"))


async def test_nobody_waits_in_the_name_of_another_tenant(store: Database) -> None:
    with pytest.raises(DBAPIError):
        async with store.begin() as tx:
            await tx.conn.execute(
                text(
                    "INSERT INTO trail (id, tenant_id, at, user_id, door, verb, thing, thing_id, waiting_of)"
                    " VALUES ('aud_x', 'a', '2027-01-04 12:00:00', 'eve', 'rest', 'v', 't', 'i', 'b')"
                )
            )


# --- tampering --------------------------------------------------------------------------------------------------------

ALTERED = {
    "id": "'aud_other'",
    "at": "'2027-01-04 12:00:01.000000'",
    "user_id": "'eve'",
    "key_id": "NULL",
    "door": "'cli'",
    "verb": "'create'",
    "thing": "'run'",
    "thing_id": "'sch_22'",
    "was": """'{"name": "alt"}'""",
    "became": "NULL",
}


def test_every_column_of_an_entry_is_tampered_with_below() -> None:
    chain_and_place = {"tenant_id", "waiting_of", "seq", "digest"}
    assert set(ALTERED) | chain_and_place == set(trail.columns.keys())


@pytest.mark.parametrize("column", ALTERED)
async def test_an_altered_entry_is_named(column: str, store: Database) -> None:
    await chained(store, 5)
    await tamper(store, f"UPDATE trail SET {column} = {ALTERED[column]} WHERE seq = 3")

    found = await first_break(store)
    (bad,) = [one for one in await find(store) if one.seq == 3]
    assert (found.kind, found.tenant_id, found.seq, found.entry_id) == ("altered", TENANT, 3, bad.id)
    assert f"altered: entry {bad.id} (seq 3)" in found.what


async def test_each_altered_byte_of_a_digest_is_seen(store: Database) -> None:
    made = await chained(store, 3)
    digest = next(one.digest for one in await find(store) if one.seq == 2) or ""
    for place, char in enumerate(digest):
        other = "0" if char != "0" else "1"
        changed = digest[:place] + other + digest[place + 1 :]
        await tamper(store, "UPDATE trail SET digest = :digest WHERE seq = 2", digest=changed)
        found = await first_break(store)
        assert (found.kind, found.seq, found.entry_id) == ("altered", 2, made[1].id)
    await tamper(store, "UPDATE trail SET digest = :digest WHERE seq = 2", digest=digest)
    assert (await verify(store)).breaks == []


async def test_a_missing_entry_is_named(store: Database) -> None:
    await chained(store, 6)
    await tamper(store, "DELETE FROM trail WHERE seq IN (3, 4)")

    found = await first_break(store)
    assert (found.kind, found.seq) == ("missing", 3)
    assert "seq 3 to 4" in found.what


async def test_a_missing_first_entry_is_named(store: Database) -> None:
    await chained(store, 3)
    await tamper(store, "DELETE FROM trail WHERE seq = 1")

    assert (await first_break(store)).what.startswith("missing: seq 1;")


async def test_a_truncated_tail_is_named(store: Database) -> None:
    await chained(store, 4)
    await tamper(store, "DELETE FROM trail WHERE seq = 4")

    found = await first_break(store)
    assert (found.kind, found.what) == ("truncated", "truncated: the head says seq 4, the last entry is seq 3")


async def test_a_trail_that_was_emptied_is_named(store: Database) -> None:
    await chained(store, 2)
    await tamper(store, "DELETE FROM trail")

    assert (await first_break(store)).what == "truncated: the head says seq 2, there are no entries"


SWAPS = {
    "their places": (
        "UPDATE trail SET seq = -1 WHERE seq = 2",
        "UPDATE trail SET seq = 2 WHERE seq = 3",
        "UPDATE trail SET seq = 3 WHERE seq = -1",
    ),
    "their places, and the digests left where they were": (
        "UPDATE trail SET seq = -1 WHERE seq = 2",
        "UPDATE trail SET seq = 2, digest = :second WHERE seq = 3",
        "UPDATE trail SET seq = 3, digest = :third WHERE seq = -1",
    ),
}


@pytest.mark.parametrize("name", SWAPS)
async def test_two_swapped_entries_are_named(name: str, store: Database) -> None:
    made = await chained(store, 4)
    digests = {one.seq: one.digest for one in await find(store)}
    await tamper(store, *SWAPS[name], **({"second": digests[2], "third": digests[3]} if ":" in SWAPS[name][1] else {}))

    found = await first_break(store)
    assert (found.kind, found.seq, found.entry_id) == ("reordered", 2, made[2].id)
    assert f"entry {made[1].id} belongs at seq 2 and is at seq 3" in found.what


async def test_a_forged_head_is_named(store: Database) -> None:
    await chained(store, 3)
    for forged in ("digest = '" + "f" * 64 + "'", "seq = 2"):
        await tamper(store, f"UPDATE trail_heads SET {forged}")
        assert (await first_break(store)).kind == "head"
    await tamper(store, "DELETE FROM trail_heads")
    assert (await first_break(store)).what == "head: it is missing; the last entry is seq 3"


async def test_an_entry_before_the_first_is_named(store: Database) -> None:
    made = await chained(store, 3)
    await tamper(store, "UPDATE trail SET seq = 0 WHERE seq = 2")

    found = await first_break(store)
    assert (found.kind, found.what) == (
        "reordered",
        f"reordered: entry {made[1].id} is at seq 0, which no chain has",
    )


async def test_an_entry_given_to_another_tenant_is_missing_there_and_wrong_here(store: Database) -> None:
    await chained(store, 3, "a")
    await chained(store, 1, "b")
    await tamper(store, "UPDATE trail SET tenant_id = 'b' WHERE tenant_id = 'a' AND seq = 2")

    seen = await verify(store)
    assert [(one.tenant_id, one.kind, one.seq) for one in seen.breaks] == [("a", "missing", 2), ("b", "altered", 2)]


async def test_entries_that_nobody_chains_are_named_after_a_minute(store: Database) -> None:
    await chained(store, 1)
    await add(store, entry(at=NOON))

    assert (await verify(store, NOON + MINUTE)).breaks == []
    (found,) = (await verify(store, NOON + MINUTE + SECOND)).breaks
    assert found.kind == "waiting"
    assert "2027-01-04T12:00:00Z" in found.what


async def test_a_break_beyond_the_first_page_is_found(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foliot.features.audit_log.chain.PAGE", 3)
    await chained(store, 10)
    assert (await verify(store)).entries == 10

    await tamper(store, "UPDATE trail SET user_id = 'eve' WHERE seq = 8")
    assert (await first_break(store)).seq == 8


async def test_only_the_house_verifies_every_tenant(store: Database) -> None:
    with pytest.raises(Forbidden):
        await ChainVerifier(store=store, clock=stopped()).verify(Caller("acme", "ada", Role.ADMIN))


def test_a_digest_is_sha_256_over_the_one_before_the_number_and_every_value() -> None:
    written = b"64:" + b"0" * 64 + b"1:7" + b"3:a\xc3\xa4" + b"-" + b"0:"

    assert seal(GENESIS, 7, ["aä", None, ""]) == hashlib.sha256(written).hexdigest()


def test_a_digest_covers_nothing_and_an_empty_text_and_where_one_value_ends() -> None:
    assert len({seal(GENESIS, 1, values) for values in (["", None], [None, ""], ["a", "bc"], ["ab", "c"])}) == 4


async def test_hot_questions_of_the_trail_find_their_indexes(store: Database) -> None:
    if store.dialect.name != "postgresql":
        pytest.skip("asked where statistics can be trusted")
    await add(store, *(entry(tenant_id=f"t{place % 20}", thing_id=f"sch_{place % 500}") for place in range(4000)))
    while await chain(store):
        pass
    async with store.begin() as tx:
        await tx.conn.execute(text("ANALYZE trail"))
        for query, index in (
            (select(trail.c.id).where(trail.c.waiting_of.is_not(None)).limit(1), "ix_trail_waiting"),
            (
                select(trail.c.id).where(trail.c.tenant_id == "t1", trail.c.thing_id == "sch_21").order_by(trail.c.id),
                "ix_trail_tenant_id_thing_id_id",
            ),
        ):
            made = str(query.compile(store.engines.write.sync_engine, compile_kwargs={"literal_binds": True}))
            plan = (await tx.conn.execute(text("EXPLAIN " + made))).scalars()
            assert index in "\n".join(plan)
