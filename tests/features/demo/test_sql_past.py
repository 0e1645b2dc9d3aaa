"""Runs that were written down afterwards, beside runs that lived: the same rows, on every database."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import select

from foliot.core.access import LOCAL
from foliot.core.ids import RUN, id_at, new_id
from foliot.db.database import Database
from foliot.engine.attempts.conclusion import conclude
from foliot.engine.model.run import AttemptError, Cancelled, Ended, EventLine, EventType, Failed, RunState, Succeeded
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.settle import DueSchedule, settle
from foliot.engine.model.views import ClaimedRun
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.engine.sql.tables import attempts, log_chunks
from foliot.features.demo.model.week import PastAccount, PastAttempt, PastRun
from foliot.features.demo.sql import SqlPast
from foliot.features.ledger.usecases import LedgerVerifier
from tests.givens import (
    MINUTE,
    NOON,
    SECOND,
    TENANT,
    ask,
    claim,
    events_of,
    finish,
    keep,
    ledger_of,
    request,
    runs_of,
    schedule,
    schedule_row,
    tick,
)

AGAIN = Failed(AttemptError("http_503", "The target answered 503."), response={"status": 503})
GONE = Failed(AttemptError("http_410", "The target answered 410."), permanent=True)
LIVES: dict[str, list[Ended]] = {
    "well": [Succeeded({"status": 200}, response={"status": 200})],
    "partly": [Succeeded({"stored": 5}, partial=True)],
    "at last": [AGAIN, AGAIN, Succeeded({"status": 200})],
    "never": [AGAIN] * 4,
    "at once not": [GONE],
    "stopped": [Cancelled("asked")],
}
# What differs because it is another run of another schedule.
OWN = {"id", "schedule_id", "token", "run_id"}


def said(at: datetime, attempt: int) -> list[EventLine]:
    return [
        EventLine(at, EventType.LOG, "info", f"attempt {attempt}"),
        EventLine(at + SECOND, EventType.LOG, "error", "oh"),
    ]


async def live(store: Database, one: Schedule, outcomes: list[Ended]) -> str:
    """The long way: fire, claim, finish, as long as it takes."""
    await tick(store, NOON)
    (row,) = await runs_of(store, one.id)
    at = NOON + SECOND
    for number, outcome in enumerate(outcomes, 1):
        (held,) = await claim(store, at, row["id"], worker="demo")
        await finish(store, held, outcome, at + MINUTE, said(at, number))
        ready: datetime = (await runs_of(store, one.id))[0]["ready_at"]
        at = ready + SECOND
    return str(row["id"])


def written(one: Schedule, outcomes: list[Ended]) -> PastAccount:
    """The short way: what came of it, all at once."""
    due = DueSchedule(one.id, one.tenant_id, one.user_id, one.version, one.spec.dump(), one.spec.anchor, next_at=NOON)
    plan = settle(due, NOON)
    run_id = id_at(RUN, NOON)
    made: list[PastAttempt] = []
    at = NOON + SECOND
    for number, outcome in enumerate(outcomes, 1):
        held = ClaimedRun(**standing(one, run_id, number, at))
        ending = replace(conclude(held, outcome, at + MINUTE), lines=said(at, number))
        made.append(PastAttempt(at, "demo", ending))
        at = (ending.ready_at or at) + SECOND
    run = PastRun(id=run_id, schedule=one, new=plan.runs[0], created_at=NOON, attempts=made)
    return PastAccount([run], plan.ledger, plan)


def standing(one: Schedule, run_id: str, number: int, at: datetime) -> dict[str, Any]:
    from dataclasses import MISSING, fields

    from foliot.engine.model.run import Fence

    known: dict[str, Any] = {
        "fence": Fence(run_id, number, new_id("tok")),
        "tenant_id": one.tenant_id,
        "attempt": number,
        "max_attempts": one.spec.retry.max_attempts,
        "spec": one.spec,
        "config": one.action,
    }
    needed = [each.name for each in fields(ClaimedRun) if each.default is MISSING and each.default_factory is MISSING]
    return {**dict.fromkeys(needed), **known}


async def rows(store: Database, run_id: str) -> dict[str, list[dict[str, Any]]]:
    """Everything that tells of a run, but its names."""
    async with store.read() as tx:
        found = {}
        for table in (attempts, log_chunks):
            query = select(table).where(table.c.run_id == run_id).order_by(*table.primary_key.columns)
            found[table.name] = [_plain(dict(row._mapping)) for row in await tx.conn.execute(query)]
    return found


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in OWN}


@pytest.mark.parametrize("outcomes", LIVES.values(), ids=LIVES)
async def test_a_run_that_is_written_down_afterwards_is_as_one_that_lived(
    store: Database, outcomes: list[Ended]
) -> None:
    first, second = schedule(), schedule()
    await keep(store, first)
    lived = await live(store, first, outcomes)
    await keep(store, second)
    async with store.begin() as tx:
        await SqlPast(tx).write([written(second, outcomes)])

    (a,), (b,) = await runs_of(store, first.id), await runs_of(store, second.id)
    assert _plain(dict(b)) == _plain(dict(a))
    assert await rows(store, b["id"]) == await rows(store, lived)
    assert await events_of(store, b["id"]) == await events_of(store, lived)
    one, other = await schedule_row(store, first.id), await schedule_row(store, second.id)
    assert {name: other[name] for name in ("next_at", "fired", "last_run_at", "status", "gap_first")} == {
        name: one[name] for name in ("next_at", "fired", "last_run_at", "status", "gap_first")
    }


async def test_a_past_leaves_no_hole_in_the_account(store: Database) -> None:
    one = schedule()
    await keep(store, one)
    account = written(one, LIVES["well"])
    async with store.begin() as tx:
        await SqlPast(tx).write([account])

    assert (await LedgerVerifier(store=store).prove(LOCAL)).holes == []


async def test_a_run_that_is_made_while_somebody_erases_goes_too(store: Database) -> None:
    gone = schedule()
    await keep(store, gone)

    async def erase() -> None:
        async with store.begin(TENANT) as tx:
            await SqlPast(tx).erase(TENANT, [gone.id])

    async with store.begin(TENANT) as tx:
        await SqlSchedules(tx).get(TENANT, gone.id, lock=True)
        erasing = asyncio.create_task(erase())
        await asyncio.wait([erasing], timeout=0.3)
        await SqlPast(tx).write([written(gone, LIVES["well"])])
    await erasing

    assert await runs_of(store, gone.id) == []


async def test_whoever_erases_takes_all_of_it_and_nothing_of_anybody_else(store: Database) -> None:
    gone, stays = schedule(), schedule()
    await keep(store, gone, stays)
    await tick(store, NOON)
    (kept,) = await runs_of(store, stays.id)
    for one in (gone, stays):
        (row,) = await runs_of(store, one.id)
        (held,) = await claim(store, NOON, row["id"])
        await finish(store, held, Succeeded(), NOON + SECOND, said(NOON, 1))
    alone = (await ask(store, NOON, request(tenant_id=TENANT)))[0]
    before = [await rows(store, kept["id"]), await runs_of(store, stays.id), await schedule_row(store, stays.id)]

    async with store.begin(TENANT) as tx:
        counted = await SqlPast(tx).count_runs(TENANT, [gone.id])
        foreign = await SqlPast(tx).erase("other", [stays.id])
        erased = await SqlPast(tx).erase(TENANT, [gone.id])

    assert (counted, foreign.runs, foreign.schedules) == (1, 0, 0)
    assert (erased.schedules, erased.runs) == (1, 1)
    assert await runs_of(store, gone.id) == []
    assert await ledger_of(store, gone.id) == []
    assert [
        await rows(store, kept["id"]),
        await runs_of(store, stays.id),
        await schedule_row(store, stays.id),
    ] == before
    async with store.read() as tx:
        assert await SqlRuns(tx).get(TENANT, alone) is not None
        assert (await SqlRetention(tx).gone())["runs"] == {RunState.SUCCESS.value: 1}
    assert (await LedgerVerifier(store=store).prove(LOCAL)).schedules == 1
