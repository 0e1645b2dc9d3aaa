"""Pruning keeps the account whole; nodes report; counts count; on every database."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select

from foliot.commands.idempotency import SqlIdempotencyKeys
from foliot.core.access import LOCAL
from foliot.core.histogram import LATENESS_BUCKETS, Histogram
from foliot.db.clock import wall
from foliot.db.database import Database
from foliot.engine.attempts.conclusion import conclude
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.run import AttemptError, EventLine, EventType, Failed, Origin, RunState, Succeeded
from foliot.engine.model.schedule import Overlap
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.tables import attempts, log_chunks
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.testing import open_store
from tests.givens import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    TENANT,
    ask,
    claim,
    finish,
    keep,
    ledger_of,
    ready,
    request,
    row_of,
    runs_of,
    schedule,
    spec,
    sql,
    statements,
    tick,
)


def pruned(first: datetime, last: datetime, count: int) -> LedgerEntry:
    return LedgerEntry(first, last, count, LedgerKind.PRUNED, LedgerReason.RETENTION)


LONG_AFTER = NOON + timedelta(days=365)
"""Later than the clock of any test, and than this machine's, by which ids are made."""


async def prune(store: Database, limit: int = 100, after: str = "") -> int:
    async with store.begin() as tx:
        return (await SqlRetention(tx).prune(LONG_AFTER, limit, after))[0]


async def end(store: Database, *run_ids: str) -> None:
    for held in await claim(store, NOON + HOUR, *run_ids):
        await finish(store, held, Succeeded(), NOON + HOUR)


async def proof(store: Database) -> list[str]:
    return [hole.what for hole in (await LedgerVerifier(store=store).prove(LOCAL)).holes]


async def test_pruned_instants_merge_into_one_line_and_the_account_stays_whole(store: Database) -> None:
    one = schedule(tenant_id=LOCAL.tenant_id)
    await keep(store, one)
    for at in range(8):
        await tick(store, NOON + at * MINUTE)
    await end(store, *await ready(store, NOON + HOUR))

    pruned_ = [await prune(store, limit=3) for _ in range(4)]

    assert pruned_ == [3, 3, 2, 0]
    assert await runs_of(store, one.id) == []
    assert await ledger_of(store, one.id) == [pruned(NOON, NOON + 7 * MINUTE, 8)]
    assert await proof(store) == []


async def test_a_pruned_line_never_reaches_over_what_is_something_else(store: Database) -> None:
    one = schedule(spec(overlap=Overlap.SKIP), tenant_id=LOCAL.tenant_id)
    await keep(store, one)
    for at in range(9):
        await tick(store, NOON + at * MINUTE)
        if at % 3 == 2:
            await end(store, *await ready(store, NOON + HOUR))
    await end(store, *await ready(store, NOON + HOUR))

    assert await prune(store) == 3

    lines = await ledger_of(store, one.id)
    assert [(line.fate, line.count) for line in lines] == [(LedgerKind.PRUNED, 1), (LedgerKind.SKIPPED, 2)] * 3
    assert await proof(store) == []


async def test_open_runs_are_not_pruned_however_old_and_may_go_later(store: Database) -> None:
    one = schedule(tenant_id=LOCAL.tenant_id)
    await keep(store, one)
    for at in range(5):
        await tick(store, NOON + at * MINUTE)
    made = [run["id"] for run in await runs_of(store, one.id)]
    await end(store, *made[:2], *made[3:])

    assert await prune(store) == 4
    assert [run["id"] for run in await runs_of(store, one.id)] == [made[2]]
    assert await proof(store) == []
    await end(store, made[2])
    assert await prune(store) == 1

    assert sum(line.count for line in await ledger_of(store, one.id)) == 5
    assert await proof(store) == []


async def test_the_instants_of_a_damaged_version_are_remembered_one_by_one(store: Database) -> None:
    one = schedule()
    await keep(store, one)
    for at in range(3):
        await tick(store, NOON + at * MINUTE)
    await end(store, *await ready(store, NOON + HOUR))
    await sql(store, "UPDATE versions SET spec = 'rubbish'")

    assert await prune(store) == 3

    assert [line.count for line in await ledger_of(store, one.id)] == [1, 1, 1]


async def test_everything_about_a_pruned_run_goes_with_it(store: Database) -> None:
    old, kept = await ask(store, NOON, request(), request())
    (held,) = await claim(store, NOON, old)
    await finish(store, held, Succeeded(), NOON, [EventLine(NOON, EventType.LOG, message="x")])
    await claim(store, NOON, kept)

    assert await prune(store) == 1

    async with store.read() as tx:
        for table in (attempts, log_chunks):
            assert await tx.conn.scalar(select(func.count()).select_from(table)) == 0
        assert await SqlRuns(tx).get(TENANT, old) is None
        assert await SqlRuns(tx).get(TENANT, kept) is not None


async def test_what_is_younger_than_asked_stays(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    await end(store, run_id)

    async with store.begin() as tx:
        assert await SqlRetention(tx).prune(wall() - timedelta(minutes=1), 100) == (0, None)
        assert await SqlRetention(tx).prune(NOON, 100) == (0, None)

    assert (await row_of(store, run_id))["state"] == RunState.SUCCESS


async def test_old_keys_are_forgotten_and_young_ones_kept(store: Database) -> None:
    async with store.begin() as tx:
        for at in range(5):
            await SqlIdempotencyKeys(tx).begin(f"tenant_{at % 2}", f"key_{at}", "print", NOON + at * HOUR)
        assert await SqlIdempotencyKeys(tx).prune(NOON + 3 * HOUR, 2) == 2
        assert await SqlIdempotencyKeys(tx).prune(NOON + 3 * HOUR, 9) == 1
        assert await SqlIdempotencyKeys(tx).prune(NOON + 3 * HOUR, 9) == 0


async def letter(store: Database) -> str:
    (run_id,) = await ask(store, NOON)
    (held,) = await claim(store, NOON, run_id)
    await finish(store, held, Failed(AttemptError("x", "y"), permanent=True), NOON)
    return run_id


async def test_a_dead_letter_stays_until_a_replay_of_it_succeeds(store: Database) -> None:
    waiting, resolved = await letter(store), await letter(store)
    replay = request(origin=Origin.REPLAY, parent_id=resolved)
    await ask(store, NOON, replay)
    await end(store, replay.id)

    assert await prune(store) == 2

    assert (await row_of(store, waiting))["state"] == RunState.DEAD_LETTER
    assert await prune(store) == 0


async def test_what_stays_is_walked_past_and_not_looked_at_again_and_again(store: Database) -> None:
    kept = [await letter(store) for _ in range(4)]
    young = await ask(store, NOON, request(), request())
    await end(store, *young)
    places: list[str | None] = [""]

    async with store.begin() as tx:
        while (place := places[-1]) is not None:
            places.append((await SqlRetention(tx).prune(LONG_AFTER, 2, place))[1])

    assert places == ["", kept[1], kept[3], young[1], None]
    for run_id in kept:
        assert await row_of(store, run_id)
    assert await prune(store) == 0


def counted(fired: int) -> dict[str, Any]:
    lateness = Histogram(LATENESS_BUCKETS)
    lateness.observe_all([0.002] * fired)
    return {
        "fired": fired,
        "stale_writes": 1,
        "replaced": 2,
        "lateness": lateness.as_dict(),
        "finished": {"success": 9},
    }


async def test_what_a_node_counted_outlives_it(store: Database) -> None:
    async with store.begin() as tx:
        await SqlRetention(tx).report("n1", "scheduler", NOON, NOON, counted(3))
        await SqlRetention(tx).report("n2", "scheduler", NOON, NOON, counted(4))
        await SqlRetention(tx).report("n3", "scheduler", NOON, NOON + HOUR, counted(5))
        await SqlRetention(tx).report("n4", "scheduler", NOON, NOON, {"lateness": "rubbish", "fired": None})
    async with store.begin() as tx:
        await SqlRetention(tx).leave("n1")
        await SqlRetention(tx).leave("unknown")
    async with store.begin() as tx:
        assert await SqlRetention(tx).forget_nodes(NOON + MINUTE) == 2

    async with store.read() as tx:
        gone, nodes = await SqlRetention(tx).gone(), await SqlRetention(tx).nodes()

    assert [node["id"] for node in nodes] == ["n3"]
    assert (gone["fired"], gone["stale_writes"], gone["replaced"]) == (7, 2, 4)
    lateness = Histogram(LATENESS_BUCKETS)
    lateness.add(gone["lateness"])
    assert (lateness.count, round(lateness.total, 6)) == (7, 0.014)


async def test_nodes_that_leave_at_once_are_all_counted(server_database_url: str) -> None:
    async with open_store(server_database_url) as store:
        async with store.begin() as tx:
            for at in range(6):
                await SqlRetention(tx).report(f"n{at}", "scheduler", NOON, NOON, counted(1))

        async def leave(at: int) -> None:
            async with store.begin() as tx:
                await SqlRetention(tx).leave(f"n{at}")

        await asyncio.gather(*(leave(at) for at in range(6)))

        async with store.read() as tx:
            assert (await SqlRetention(tx).gone())["fired"] == 6


async def test_a_node_is_known_by_its_last_report(store: Database) -> None:
    async with store.begin() as tx:
        await SqlRetention(tx).report("n1", "scheduler", NOON, NOON, {"free": 1})
        await SqlRetention(tx).report("n2", "worker", NOON, NOON + MINUTE, {"free": 2})
        await SqlRetention(tx).report("n1", "scheduler", NOON + HOUR, NOON + 2 * MINUTE, {"free": 3})

        nodes = await SqlRetention(tx).nodes(NOON)
        assert [(node["id"], node["started_at"], node["seen_at"], node["report"]) for node in nodes] == [
            ("n1", NOON, NOON + 2 * MINUTE, {"free": 3}),
            ("n2", NOON, NOON + MINUTE, {"free": 2}),
        ]
        assert [node["id"] for node in await SqlRetention(tx).nodes(NOON + 2 * MINUTE)] == ["n1"]
        assert await SqlRetention(tx).forget_nodes(NOON + 2 * MINUTE) == 1


async def test_counts_are_by_tenant_or_over_all(store: Database) -> None:
    await keep(store, schedule(next_at=NOON + HOUR), schedule(tenant_id="other", next_at=NOON + HOUR))
    await ask(store, NOON, request(queue="manual"), request())
    await ask(store, NOON + SECOND, request(tenant_id="other"))
    (held,) = await claim(store, NOON, *await ready(store, NOON, 1, {"manual"}))
    await finish(store, held, Failed(AttemptError("x", "y"), permanent=True), NOON)

    async with store.read() as tx:
        ours, all_ = await SqlRetention(tx).counts(TENANT), await SqlRetention(tx).counts()

    assert ours == {
        "schedules": {"active": 1},
        "runs": {"queued": 1},
        "queues": {"default": {"depth": 1, "oldest": NOON}},
        "parked": {"count": 0, "oldest": None},
    }
    assert all_["queues"] == {"default": {"depth": 2, "oldest": NOON}}
    assert all_["schedules"] == {"active": 2}


async def test_the_databases_time_is_about_ours(store: Database) -> None:
    async with store.read() as tx:
        assert abs(await SqlRetention(tx).time() - wall()) < timedelta(seconds=30)


async def test_a_read_stands_at_one_moment(store: Database) -> None:
    async with store.read() as tx:
        before = await SqlRetention(tx).counts()
        await ask(store, NOON, request())
        assert await SqlRetention(tx).counts() == before


async def test_pruning_hundreds_takes_a_handful_of_statements(store: Database) -> None:
    made = [schedule(spec(kind="probe")) for _ in range(300)]
    await keep(store, *made)
    await tick(store, NOON)
    held = await claim(store, NOON, *await ready(store, NOON, 500))
    async with store.begin() as tx:
        await SqlClaims(tx).finish([conclude(one, Succeeded(), NOON) for one in held], NOON)

    with statements(store) as seen:
        assert await prune(store, 500) == 300
    assert len(seen) <= 15, "\n".join(seen)
