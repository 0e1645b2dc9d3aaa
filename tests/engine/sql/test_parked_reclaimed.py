"""Parked runs are taken back from dead watchers, and stay beside the others."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from foliot.commands.tenants_sql import SqlTenants, Tenant
from foliot.db.database import Database
from foliot.engine.janitor import Janitor
from foliot.engine.model.run import DueParkedRuns, RunState, Succeeded
from foliot.engine.model.views import ClaimedRun
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.sql.parked import OVERDUE, SqlParked
from foliot.engine.sql.retention import SqlRetention
from foliot.wakeups.feed import PARKED_TOPIC, MemoryFeed
from tests.engine.sql.parked_runs import (
    HANDLE,
    SOON,
    coming,
    held,
    line,
    lines_of,
    note,
    park,
    parked,
    parking,
    sweep,
    take,
    terminate,
)
from tests.givens import (
    LEASE,
    MINUTE,
    NOON,
    SECOND,
    TENANT,
    ask,
    claim,
    finish,
    ready,
    request,
    row_of,
    run_of,
    sql,
    stopped,
)

# --- taken back -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["worker", "watcher"])
async def test_when_its_holder_vanishes_it_is_parked_again_and_no_attempt_is_lost(store: Database, by: str) -> None:
    claimed = await held(store, max_attempts=1)
    run_id = claimed.fence.run_id
    if by == "worker":
        await note(store, claimed.fence)
    else:
        await park(store, parking(claimed, NOON))
        (claimed,) = await take(store, NOON, run_id)
    lost_at = NOON + LEASE + SECOND
    woken = MemoryFeed()
    janitor = Janitor(clock=stopped(lost_at), store=store, feed=woken, alarm=ReadyTimes(), period=1.0, retention=None)

    async with woken.listen(PARKED_TOPIC) as waiter:
        swept = await janitor.run_once()
        assert await waiter.wait(0)

    assert swept.lost == 1
    row = await row_of(store, run_id)
    assert (row["state"], row["attempt"], row["poll_at"], row["handle"]) == ("running", 1, lost_at, HANDLE)
    assert (row["lease_until"], row["worker"], row["token"]) == (None, None, None)
    assert row["epoch"] == claimed.fence.epoch + 1
    assert await ready(store, lost_at) == [], "nobody starts it again"
    assert await park(store, parking(claimed)) == set(), "its old holder cannot write any more"
    assert (await coming(store, lost_at)).due == [run_id]


async def test_one_that_may_have_cost_a_watcher_its_life_is_looked_at_alone(store: Database) -> None:
    suspects = [await parked(store, NOON), await parked(store, NOON)]
    await take(store, NOON, *(one.fence.run_id for one in suspects))
    later = NOON + 2 * LEASE
    await sweep(store, later)
    safe = [await parked(store, NOON), await parked(store, NOON)]
    due = (await coming(store, later)).due
    assert len(due) == 4

    groups = [[one.fence.run_id for one in await take(store, later, *due, token=f"tok_{at}")] for at in range(4)]

    assert sorted(groups[0]) == sorted(one.fence.run_id for one in safe)
    assert sorted(groups[1] + groups[2]) == sorted(one.fence.run_id for one in suspects)
    assert [len(group) for group in groups] == [2, 1, 1, 0]
    (looked,) = await take_again(store, groups[1][0], later)
    assert await park(store, parking(looked, later)) == {looked.fence.run_id}
    assert (await row_of(store, looked.fence.run_id))["lost_looks"] == 0, "it survived: nothing is held against it"


async def test_a_suspect_does_not_wait_for_ever_while_others_are_due(store: Database) -> None:
    suspect = await parked(store, NOON)
    await take(store, NOON, suspect.fence.run_id)
    lost_at = NOON + 2 * LEASE
    await sweep(store, lost_at)
    later = lost_at + OVERDUE
    safe = await parked(store, NOON)

    (first,) = await take(store, later, suspect.fence.run_id, safe.fence.run_id, token="tok_1")

    assert first.fence.run_id == suspect.fence.run_id


async def take_again(store: Database, run_id: str, now: datetime) -> list[ClaimedRun]:
    async with store.read() as tx:
        return [one for at in range(4) for one in await SqlParked(tx).held([run_id], f"tok_{at}")]


async def test_one_that_costs_every_watcher_its_life_is_given_up(store: Database) -> None:
    claimed = await parked(store, NOON)
    run_id, now = claimed.fence.run_id, NOON
    for _ in range(4):
        (looked,) = await take(store, now, run_id)
        now += 2 * LEASE
        await sweep(store, now)
        assert (await run_of(store, run_id)).parked
    (looked,) = await take(store, now, run_id)
    now += 2 * LEASE
    await sweep(store, now)

    run = await run_of(store, run_id)
    assert (run.state, (run.error or {})["code"], run.attempt) == (RunState.DEAD_LETTER, "watcher_lost", 1)
    assert await coming(store, now) == DueParkedRuns([], None)
    assert await park(store, parking(looked)) == set()
    assert (await finish(store, looked, Succeeded(), now)).stale == {run_id}


async def test_a_lost_run_without_a_handle_still_costs_its_attempt(store: Database) -> None:
    claimed, noted = await held(store), await held(store)
    await note(store, noted.fence)

    await sweep(store, NOON + 2 * LEASE)

    assert (await run_of(store, claimed.fence.run_id)).state is RunState.RETRYING
    assert (await run_of(store, noted.fence.run_id)).state is RunState.RUNNING


# --- beside the others ------------------------------------------------------------------------------------------------


async def test_a_parked_run_takes_nothing_of_its_tenants_cap(store: Database) -> None:
    async with store.begin() as tx:
        await SqlTenants(tx).put(
            Tenant(tenant_id=TENANT, limits={"concurrent_runs": 1}, updated_by="root", updated_at=NOON)
        )
    first, second, third = await ask(store, NOON, request(), request(), request())
    (claimed,) = await claim(store, NOON, first)
    assert await claim(store, NOON, second) == []

    await park(store, parking(claimed, NOON))
    assert await ready(store, NOON) == [second]
    assert len(await claim(store, NOON, second)) == 1
    await take(store, NOON, first)
    assert await claim(store, NOON, third) == [], "the second holds the place"
    await sql(store, "UPDATE runs SET handle = '{}' WHERE id = :id", id=second)
    assert len(await claim(store, NOON, third)) == 1, "two that are noted or looked at hold none"


async def test_what_is_parked_is_counted(store: Database) -> None:
    await parked(store, SOON)
    await parked(store, NOON, tenant_id="other")
    looked = await parked(store, NOON - SECOND)
    gone = await parked(store, NOON - MINUTE)
    await held(store)
    await take(store, NOON, looked.fence.run_id)
    await terminate(store, gone.fence.run_id)

    async with store.read() as tx:
        ours, all_ = await SqlRetention(tx).counts(TENANT), await SqlRetention(tx).counts()

    assert (ours["parked"], ours["runs"]) == ({"count": 2, "oldest": SOON}, {"running": 3})
    assert (all_["parked"], all_["runs"]) == ({"count": 3, "oldest": NOON}, {"running": 4})


async def test_an_ended_run_whose_effect_nobody_let_go_is_not_pruned(store: Database) -> None:
    claimed = await parked(store)
    await terminate(store, claimed.fence.run_id)
    future = NOON + timedelta(days=365 * 50)

    async def prune() -> int:
        async with store.begin() as tx:
            return (await SqlRetention(tx).prune(future, 100))[0]

    assert await prune() == 0
    (looked,) = await take(store, NOON, claimed.fence.run_id)
    async with store.begin() as tx:
        await SqlParked(tx).let_go([looked.fence])
    assert await prune() == 1


async def test_the_lines_of_many_looks_do_not_make_room_for_more(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foliot.engine.sql.log_chunks.LINES_PER_RUN", 10)
    claimed = await held(store)
    run_id = claimed.fence.run_id
    await park(store, parking(claimed, NOON, lines=[line(f"{n}") for n in range(6)]))
    for _ in range(3):
        (claimed,) = await take(store, NOON, run_id)
        await park(store, parking(claimed, NOON, lines=[line("more"), line("more")]))

    assert len(await lines_of(store, run_id)) == 10
    (claimed,) = await take(store, NOON, run_id)
    await finish(store, claimed, Succeeded(), NOON)
    assert (await lines_of(store, run_id))[-1].startswith("2 more lines were dropped")
