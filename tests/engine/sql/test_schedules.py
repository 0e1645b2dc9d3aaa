"""Schedules, idempotency keys and pages, on every database."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy.exc import IntegrityError

from foliot.commands.idempotency import SqlIdempotencyKeys
from foliot.core.time.trigger import Cron
from foliot.db.database import Database
from foliot.engine.model.ledger import VersionSpan
from foliot.engine.model.run import RunState, Succeeded
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.model.views import PageRequest, StoredResponse
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
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
    new_version,
    request,
    run_of,
    runs_of,
    schedule,
    schedule_row,
    spec,
    sql,
    tick,
)

# --- schedules --------------------------------------------------------------------------------------------------------


async def test_a_schedule_reads_as_it_was_written(store: Database) -> None:
    one = schedule(
        spec(Cron("0 9 * * 1-5", "Europe/Berlin"), end_at=NOON + HOUR, max_runs=9),
        name="Größe 📏",
        description="line\nline",
        tags=("a", "a b", "ü"),
        action={"kind": "probe", "deep": {"list": [1, None, "x"]}},
    )
    async with store.begin() as tx:
        await SqlSchedules(tx).add([one])

    async with store.read() as tx:
        assert await SqlSchedules(tx).get(TENANT, one.id) == one
        assert await SqlSchedules(tx).get("other", one.id) is None
        assert await SqlSchedules(tx).specs(one.id) == {1: one.spec}


async def test_ids_and_tenants_are_compared_byte_by_byte(store: Database) -> None:
    await keep(store, schedule(id="sch_a", tenant_id="acme"), schedule(id="sch_A", tenant_id="ACME"))

    async with store.read() as tx:
        for tenant, key in (("acme", "sch_a"), ("ACME", "sch_A")):
            assert await SqlSchedules(tx).get(tenant, key) is not None
        assert await SqlSchedules(tx).get("Acme", "sch_a") is None
        assert await SqlSchedules(tx).get("acme", "sch_A") is None


async def test_an_edit_keeps_the_old_version_and_starts_a_new_line_in_the_ledger(store: Database) -> None:
    one = schedule()
    await keep(store, one)
    await sql(store, "UPDATE schedules SET gap_reason = 'overlap', gap_first = next_at")
    edited = replace(one, version=2, spec=spec(priority=1), updated_at=NOON + HOUR)

    async with store.begin() as tx:
        await new_version(tx, edited)

    async with store.read() as tx:
        assert await SqlSchedules(tx).specs(one.id) == {1: one.spec, 2: edited.spec}
        assert await SqlSchedules(tx).get(TENANT, one.id) == edited
    row = await schedule_row(store, one.id)
    assert (row["gap_first"], row["gap_reason"]) == (None, None)


async def test_spans_follow_one_another_and_only_one_is_open(store: Database) -> None:
    one = schedule()
    await keep(store, one)
    async with store.begin() as tx:
        await SqlSchedules(tx).turn_span(one, NOON + HOUR, active=False, reason="holidays")
        await SqlSchedules(tx).turn_span(replace(one, version=2), NOON + 2 * HOUR, active=True)
        await SqlSchedules(tx).end_span(one.id, NOON + 3 * HOUR)
        await SqlSchedules(tx).end_span(one.id, NOON + 9 * HOUR)

    async with store.read() as tx:
        assert await SqlSchedules(tx).spans(one.id) == [
            VersionSpan(NOON - SECOND, NOON + HOUR, 1, True),
            VersionSpan(NOON + HOUR, NOON + 2 * HOUR, 1, False, "holidays"),
            VersionSpan(NOON + 2 * HOUR, NOON + 3 * HOUR, 2, True),
        ]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, "dcb"),
        ({"status": "deleted"}, "a"),
        ({"status": "paused"}, "b"),
        ({"type": "cron"}, "c"),
        ({"kind": "other"}, "d"),
        ({"tag": "x_y"}, "b"),
        ({"tag": "x"}, ""),
        ({"tag": "%"}, ""),
        ({"q": "SECOND"}, "b"),
        ({"q": "100%"}, "c"),
        ({"q": "_"}, ""),
    ],
)
async def test_schedules_are_found_by_what_they_are(store: Database, filters: dict[str, str], found: str) -> None:
    await keep(
        store,
        schedule(id="sch_a", next_at=None, status=ScheduleStatus.DELETED),
        schedule(id="sch_b", next_at=None, status=ScheduleStatus.PAUSED, name="The Second", tags=("x_y", "z")),
        schedule(spec(Cron("* * * * *", "UTC")), id="sch_c", name="100% sure", tags=("xay",)),
        schedule(spec(kind="other"), id="sch_d"),
        schedule(id="sch_e", tenant_id="other"),
    )

    async with store.read() as tx:
        names = [one.id[-1] for one in await SqlSchedules(tx).find(TENANT, PageRequest(), **filters)]

    assert "".join(names) == found


async def test_every_schedule_can_be_walked_through_by_id(store: Database) -> None:
    made = [schedule(tenant_id=f"t{at % 2}") for at in range(5)]
    await keep(store, *made)

    async with store.read() as tx:
        first = await SqlSchedules(tx).ids("", 3)
        rest = await SqlSchedules(tx).ids(first[-1][1], 3)
        assert [*first, *rest] == [(one.tenant_id, one.id) for one in made]
        assert await SqlSchedules(tx).ids("", 9, "t1") == [("t1", made[1].id), ("t1", made[3].id)]


async def test_instants_are_read_in_order_with_their_runs(store: Database) -> None:
    one = schedule()
    await keep(store, one)
    for at in range(4):
        await tick(store, NOON + at * MINUTE)
    made = await runs_of(store, one.id)

    async with store.read() as tx:
        found = await SqlSchedules(tx).instants(one.id, NOON + MINUTE, NOON + 3 * MINUTE, 10)
        assert found == [(run["scheduled_for"], run["id"], RunState.QUEUED) for run in made[1:3]]
        assert len(await SqlSchedules(tx).instants(one.id, NOON, NOON + HOUR, 2)) == 2


# --- pages ------------------------------------------------------------------------------------------------------------


async def test_pages_stay_whole_while_runs_are_added_and_change(store: Database) -> None:
    first = await ask(store, NOON, *(request() for _ in range(7)))
    seen: list[str] = []
    page = PageRequest(limit=3)
    while True:
        async with store.read() as tx:
            found = await SqlRuns(tx).find(TENANT, page)
        if not found:
            break
        seen += [run.id for run in found]
        page = PageRequest(limit=3, cursor=seen[-1])
        await ask(store, NOON, request(), request(tenant_id="other"))
        await claim(store, NOON, first[0])

    assert seen == first[::-1]


async def test_schedules_have_pages_too(store: Database) -> None:
    made = [schedule() for _ in range(5)]
    await keep(store, *made)

    async with store.read() as tx:
        first = await SqlSchedules(tx).find(TENANT, PageRequest(limit=2))
        rest = await SqlSchedules(tx).find(TENANT, PageRequest(limit=9, cursor=first[-1].id))

    assert [one.id for one in [*first, *rest]] == [one.id for one in made[::-1]]


async def test_runs_are_found_by_what_they_are(store: Database) -> None:
    one = schedule()
    await keep(store, one)
    await tick(store, NOON)
    (of_schedule,) = await runs_of(store, one.id)
    (manual,) = await ask(store, NOON, request(queue="manual", kind="other"))
    (held,) = await claim(store, NOON, manual)
    await finish(store, held, Succeeded(), NOON)

    async with store.read() as tx:

        async def found(**filters: str) -> list[str]:
            return [run.id for run in await SqlRuns(tx).find(TENANT, PageRequest(), **filters)]

        assert await found() == [manual, of_schedule["id"]]
        assert await found(state="success") == [manual]
        assert await found(state="success,queued") == [manual, of_schedule["id"]]
        assert await found(schedule_id=one.id) == [of_schedule["id"]]
        assert await found(kind="other", queue="manual") == [manual]
        assert await found(kind="other", queue="default") == []
        assert await SqlRuns(tx).find("other", PageRequest()) == []
        assert await SqlRuns(tx).open_ids(one.id, waiting_only=True) == [of_schedule["id"]]


async def test_a_run_knows_its_neighbours_however_many_there_are(store: Database) -> None:
    one, other = schedule(), schedule()
    await keep(store, one, other)
    made = await ask(store, NOON, *(request(schedule_id=one.id, version=1) for _ in range(150)))
    await ask(store, NOON, request(schedule_id=other.id, version=1))

    async with store.read() as tx:
        assert await SqlRuns(tx).neighbours(TENANT, one.id, made[0]) == (None, made[1])
        assert await SqlRuns(tx).neighbours(TENANT, one.id, made[20]) == (made[19], made[21])
        assert await SqlRuns(tx).neighbours(TENANT, one.id, made[-1]) == (made[-2], None), "another schedule's is none"
        assert await SqlRuns(tx).neighbours("other", one.id, made[20]) == (None, None)


async def test_the_waiting_runs_of_a_schedule_are_told_from_the_running(store: Database) -> None:
    one = schedule()
    await keep(store, one)
    running, waiting = await ask(store, NOON, *(request(schedule_id=one.id, version=1) for _ in range(2)))
    await claim(store, NOON, running)

    async with store.read() as tx:
        assert await SqlRuns(tx).open_ids(one.id, waiting_only=False) == [running, waiting]
        assert await SqlRuns(tx).open_ids(one.id, waiting_only=True) == [waiting]


async def test_a_run_belongs_to_its_tenant(store: Database) -> None:
    (run_id,) = await ask(store, NOON)

    assert (await run_of(store, run_id)).tenant_id == TENANT
    async with store.read() as tx:
        assert await SqlRuns(tx).get("other", run_id) is None


# --- idempotency keys -------------------------------------------------------------------------------------------------


async def test_a_key_is_reserved_once_and_remembers_its_answer(store: Database) -> None:
    async with store.begin() as tx:
        assert await SqlIdempotencyKeys(tx).begin(TENANT, "k", "print", NOON) is None
        await SqlIdempotencyKeys(tx).answer(TENANT, "k", 201, '{"id": "x"}', {"ETag": '"1"'})

    async with store.begin() as tx:
        kept = StoredResponse("print", 201, '{"id": "x"}', {"ETag": '"1"'})
        assert await SqlIdempotencyKeys(tx).begin(TENANT, "k", "print", NOON) == kept
        assert await SqlIdempotencyKeys(tx).begin(TENANT, "k", "other", NOON) == kept
        assert await SqlIdempotencyKeys(tx).begin("other", "k", "print", NOON) is None
        assert await SqlIdempotencyKeys(tx).begin(TENANT, "K", "print", NOON) is None


async def test_a_key_whose_effect_failed_is_free_again(store: Database) -> None:
    async def fails() -> None:
        async with store.begin() as tx:
            await SqlIdempotencyKeys(tx).begin(TENANT, "k", "print", NOON)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fails()

    async with store.begin() as tx:
        assert await SqlIdempotencyKeys(tx).begin(TENANT, "k", "print", NOON) is None


async def test_of_two_at_once_the_second_waits_and_hears_the_firsts_answer(server_database_url: str) -> None:
    async with open_store(server_database_url) as store:
        inside, go = asyncio.Event(), asyncio.Event()

        async def first() -> None:
            async with store.begin() as tx:
                assert await SqlIdempotencyKeys(tx).begin(TENANT, "k", "print", NOON) is None
                inside.set()
                await go.wait()
                await SqlIdempotencyKeys(tx).answer(TENANT, "k", 200, "done")

        async def second() -> StoredResponse | None:
            await inside.wait()
            async with store.begin() as tx:
                asyncio.get_running_loop().call_soon(go.set)
                return await SqlIdempotencyKeys(tx).begin(TENANT, "k", "print", NOON)

        _, answer = await asyncio.gather(first(), second())

    assert answer == StoredResponse("print", 200, "done")


# --- what the database refuses ----------------------------------------------------------------------------------------

FORBIDDEN = {
    "an unknown state": "UPDATE runs SET state = 'sleeping'",
    "an ended run that can be claimed": "UPDATE runs SET state = 'success', finished_at = created_at, open_of = NULL",
    "a run that ended without an end": "UPDATE runs SET state = 'success', lane = NULL, open_of = NULL",
    "an end of a run that goes on": "UPDATE runs SET finished_at = created_at",
    "a lease on a waiting run": "UPDATE runs SET lease_until = created_at",
    "more attempts than allowed": "UPDATE runs SET attempt = max_attempts + 1",
    "fewer attempts than none": "UPDATE runs SET attempt = -1",
    "a buffered run in a lane": "UPDATE runs SET buffered_of = open_of",
    "a priority beyond ten": "UPDATE runs SET priority = 11",
    "a run of no tenant": "UPDATE runs SET tenant_id = ''",
    "an unknown origin": "UPDATE runs SET origin = 'rumour'",
    "an open run that ended": "UPDATE runs SET state = 'cancelled', lane = NULL, finished_at = created_at",
    "a cursor on a paused schedule": "UPDATE schedules SET status = 'paused'",
    "an unknown status": "UPDATE schedules SET status = 'asleep', next_at = NULL",
    "an unknown type": "UPDATE schedules SET type = 'whenever'",
    "an open span with an end": "UPDATE spans SET end_at = start_at",
    "a span that is neither open nor ended": "UPDATE spans SET open_of = NULL",
    "a line of nothing": "UPDATE ledger SET count = 0",
    "a line that ends before it begins": "UPDATE ledger SET last_at = (SELECT min(created_at) FROM schedules)",
    "an unknown fate": "UPDATE ledger SET fate = 'forgotten'",
}


@pytest.fixture
async def furnished(store: Database) -> Database:
    """A schedule, a waiting run, a span and a line in the ledger."""
    one = schedule()
    await keep(store, one)
    await tick(store, NOON)
    await sql(
        store,
        "INSERT INTO ledger (schedule_id, first_at, fate, tenant_id, last_at, count, version, reason)"
        " SELECT id, next_at, 'missed', tenant_id, next_at, 1, 1, 'catchup_none' FROM schedules",
    )
    return store


@pytest.mark.parametrize("what", FORBIDDEN)
async def test_the_database_refuses(furnished: Database, what: str) -> None:
    with pytest.raises(IntegrityError, match=r"(?i)check|constraint"):
        await sql(furnished, FORBIDDEN[what])


async def test_a_schedule_has_one_open_span(furnished: Database) -> None:
    with pytest.raises(IntegrityError):
        await sql(
            furnished,
            "INSERT INTO spans (id, schedule_id, open_of, tenant_id, start_at, version, active)"
            " SELECT 'spa_2', schedule_id, open_of, tenant_id, start_at, 2, active FROM spans",
        )
