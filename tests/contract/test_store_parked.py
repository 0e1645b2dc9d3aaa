"""Parked runs in the store: noted, claimed by one, parked again in one piece, cancelled, and taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from foliot.commands.tenant import Tenant
from foliot.commands.tenants_sql import SqlTenants
from foliot.db.database import Database
from foliot.engine.janitor import Janitor
from foliot.engine.model.event import EventType, Line
from foliot.engine.model.parked import Coming, Parking
from foliot.engine.model.run import Cancelled, Failed, Fence, HandedBack, Problem, RunState, Succeeded
from foliot.engine.model.views import Claimed
from foliot.engine.ready_times import Alarm
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.endings import cancel_runs
from foliot.engine.sql.parked import OVERDUE, SqlParked
from foliot.engine.sql.retention import SqlUpkeep
from foliot.engine.sql.run_items import read_items
from foliot.engine.sql.runs import SqlRuns
from foliot.testing import open_store
from foliot.wakeups.feed import PARKED_TOPIC
from foliot.wakeups.memory import MemoryFeed
from tests.givens import (
    LEASE,
    MINUTE,
    NOON,
    SECOND,
    TENANT,
    ask,
    claim,
    events_of,
    finish,
    ready,
    request,
    row_of,
    run_of,
    sql,
    statements,
    stopped,
)

HANDLE = {"node": "n1", "job": "j1", "offset": 0}
SOON = NOON + 5 * SECOND


def line(message: str) -> Line:
    return Line(NOON, EventType.LOG, "info", message)


def parking(claimed: Claimed, poll_at: datetime = SOON, **changes: Any) -> Parking:
    return Parking(**{"fence": claimed.fence, "handle": HANDLE, "poll_at": poll_at, "at": NOON, **changes})


async def park(store: Database, *parkings: Parking, now: datetime = NOON) -> set[str]:
    async with store.begin() as tx:
        return await SqlParked(tx).park(parkings, now)


async def note(store: Database, fence: Fence, handle: Mapping[str, Any] = HANDLE) -> bool:
    async with store.begin() as tx:
        return await SqlParked(tx).note(fence, handle)


async def coming(store: Database, now: datetime, limit: int = 100, queues: set[str] | None = None) -> Coming:
    async with store.glance() as tx:
        return await SqlParked(tx).coming("probe", queues, now, limit)


async def take(store: Database, now: datetime, *run_ids: str, token: str = "tok_look") -> list[Claimed]:
    async with store.begin() as tx:
        return await SqlParked(tx).claim(run_ids, "watcher-1", LEASE, now, token)


async def cancel(store: Database, run_id: str, now: datetime = NOON) -> None:
    async with store.begin() as tx:
        await SqlRuns(tx).cancel([run_id], now, "enough")


async def terminate(store: Database, run_id: str, now: datetime = NOON) -> None:
    async with store.begin() as tx:
        await cancel_runs(tx.conn, SqlRuns(tx).dialect, [], now, "replaced", at_once=[run_id])


async def sweep(store: Database, now: datetime) -> None:
    await Janitor(
        clock=stopped(now), store=store, feed=MemoryFeed(), alarm=Alarm(), period=1.0, retention=None
    ).run_once()


async def held(store: Database, **changes: Any) -> Claimed:
    """A run in the hands of a worker."""
    (run_id,) = await ask(store, NOON, request(**changes))
    (claimed,) = await claim(store, NOON, run_id)
    return claimed


async def parked(store: Database, poll_at: datetime = SOON, **changes: Any) -> Claimed:
    """A parked run, as whoever parked it held it."""
    claimed = await held(store, **changes)
    assert await park(store, parking(claimed, poll_at)) == {claimed.fence.run_id}
    return claimed


async def lines_of(store: Database, run_id: str) -> list[str]:
    return [event.message for event in await events_of(store, run_id) if event.type is EventType.LOG]


async def items_of(store: Database, run_id: str, attempt: int = 1) -> Sequence[Any]:
    async with store.read() as tx:
        return (await read_items(tx.conn, (TENANT, run_id, attempt), 0, 1000)).items


# --- noted and parked -------------------------------------------------------------------------------------------------


async def test_a_note_is_kept_for_whoever_holds_the_run_and_for_nobody_else(store: Database) -> None:
    claimed = await held(store)
    fence = claimed.fence

    assert await note(store, fence)
    assert await note(store, fence), "written twice is written once"
    assert not await note(store, replace(fence, epoch=fence.epoch + 1), {"other": 1})
    assert not await note(store, replace(fence, token="tok_other"), {"other": 1})

    run = await run_of(store, fence.run_id)
    assert (run.state, run.handle, run.parked, run.worker) == (RunState.RUNNING, HANDLE, True, "w1")

    await finish(store, claimed, Succeeded(), NOON)
    assert not await note(store, fence, {"too": "late"})


async def test_a_parked_run_is_in_nobodys_hands_and_still_running(store: Database) -> None:
    claimed = await parked(store)

    row = await row_of(store, claimed.fence.run_id)
    assert (row["state"], row["lease_until"], row["worker"]) == ("running", None, None)
    assert (row["handle"], row["poll_at"], row["attempt"]) == (HANDLE, SOON, 1)
    async with store.begin() as tx:
        assert await SqlClaims(tx).extend([claimed.fence], LEASE, NOON) == set(), (
            "nobody renews a lease that there is not"
        )
    assert (await row_of(store, claimed.fence.run_id))["lease_until"] is None


async def test_lines_items_and_handle_move_together(store: Database) -> None:
    claimed = await held(store)
    run_id = claimed.fence.run_id
    brought = parking(claimed, NOON, lines=[line("one"), line("two")], items=[{"n": 1}, {"n": 2}])
    assert await park(store, brought) == {run_id}
    (looked,) = await take(store, NOON, run_id)
    more = parking(looked, lines=[line("three")], items=[{"n": 3}], handle={**HANDLE, "offset": 3})

    async def park_and_fail() -> None:
        async with store.begin() as tx:
            await SqlParked(tx).park([more], NOON)
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        await park_and_fail()
    assert await lines_of(store, run_id) == ["one", "two"]
    assert (await run_of(store, run_id)).handle == HANDLE

    assert await park(store, more) == {run_id}
    assert await lines_of(store, run_id) == ["one", "two", "three"]
    assert await items_of(store, run_id) == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert (await run_of(store, run_id)).handle == {**HANDLE, "offset": 3}
    seqs = [event.seq for event in await events_of(store, run_id)]
    assert seqs == list(range(1, 6)), "created, running, three lines"


async def test_a_parking_written_twice_is_written_once(store: Database) -> None:
    claimed = await held(store)
    run_id = claimed.fence.run_id
    brought = parking(claimed, lines=[line("one")], items=[1])

    assert await park(store, brought) == {run_id}
    assert await park(store, brought) == {run_id}, "the acknowledgement got lost: it is told again"

    assert await lines_of(store, run_id) == ["one"]
    assert await items_of(store, run_id) == [1]


async def test_a_thousand_are_parked_with_a_handful_of_statements(store: Database) -> None:
    run_ids = await ask(store, NOON, *(request() for _ in range(1000)))
    claims = await claim(store, NOON, *run_ids)

    with statements(store) as seen:
        accepted = await park(store, *(parking(one, NOON, lines=[line("a")], items=[1]) for one in claims))

    assert accepted == set(run_ids)
    assert len(seen) <= 6, "\n".join(seen)
    with statements(store) as seen:
        assert len(await take(store, NOON, *run_ids)) == 1000
    assert len(seen) <= 3, "\n".join(seen)


async def test_an_ordinary_run_costs_not_one_statement_more(store: Database) -> None:
    run_ids = await ask(store, NOON, *(request() for _ in range(3)))
    await finish(store, (await claim(store, NOON, run_ids[0]))[0], Succeeded(), NOON)

    with statements(store) as seen:
        claimed = await claim(store, NOON, run_ids[1])
    assert len(seen) == 2, "\n".join(seen)
    with statements(store) as seen:
        await finish(store, claimed[0], Succeeded(), NOON)
    assert len(seen) == 4, "\n".join(seen)


# --- looked at --------------------------------------------------------------------------------------------------------


async def test_what_is_due_comes_in_order_and_the_next_moment_is_told(store: Database) -> None:
    late = await parked(store, NOON - SECOND)
    due = await parked(store, NOON)
    later = await parked(store, SOON)
    await parked(store, NOON - MINUTE, kind="other")

    found = await coming(store, NOON)
    assert found == Coming([late.fence.run_id, due.fence.run_id], SOON)
    assert await coming(store, NOON, 1) == Coming([late.fence.run_id], None)
    assert await coming(store, SOON) == Coming([one.fence.run_id for one in (late, due, later)], None)
    assert await coming(store, SOON, queues={"elsewhere"}) == Coming([], None)
    assert len((await coming(store, SOON, queues={"elsewhere", "default"})).due) == 3


async def test_a_look_goes_on_with_the_attempt(store: Database) -> None:
    claimed = await parked(store, NOON, timeout_seconds=77)
    run_id = claimed.fence.run_id
    before = await row_of(store, run_id)

    (looked,) = await take(store, SOON, run_id)

    assert looked.fence == Fence(run_id, claimed.fence.epoch + 1, "tok_look")
    assert (looked.handle, looked.attempt, looked.started_at) == (HANDLE, 1, NOON)
    assert (looked.timeout_seconds, looked.ended, looked.cancel_requested, looked.fault) == (77, False, False, None)
    row = await row_of(store, run_id)
    assert (row["poll_at"], row["worker"], row["lease_until"]) == (None, "watcher-1", SOON + LEASE)
    untouched = ("attempt", "event_seq", "started_seq", "started_at", "attempt_at", "due_at", "ready_at", "handle")
    assert [row[name] for name in untouched] == [before[name] for name in untouched]
    async with store.read() as tx:
        assert [one.fence for one in await SqlParked(tx).held([run_id], "tok_look")] == [looked.fence]
        assert await SqlParked(tx).held([run_id], "tok_other") == []


async def test_what_is_not_due_or_not_parked_is_not_taken(store: Database) -> None:
    later, running = await parked(store, SOON), await held(store)
    taken = await parked(store, NOON)
    await take(store, NOON, taken.fence.run_id)

    ids = [one.fence.run_id for one in (later, running, taken)]
    assert await take(store, NOON, *ids, token="tok_second") == []


async def test_two_who_race_never_take_the_same_run(store: Database, database_url: str) -> None:
    claims = await claim(store, NOON, *await ask(store, NOON, *(request() for _ in range(60))))
    await park(store, *(parking(one, NOON) for one in claims))
    ids = [one.fence.run_id for one in claims]

    async with open_store(database_url) as second:
        tries = [take(at, NOON, *ids, token=f"tok_{number}") for number, at in enumerate([store, second] * 4)]
        found = [one.fence.run_id for got in await asyncio.gather(*tries) for one in got]
        assert len(found) == len(set(found)), "one run in two hands"
        left = set(ids) - set(found)
        found += [one.fence.run_id for one in await take(store, NOON, *sorted(left), token="tok_last")]

    assert sorted(found) == sorted(ids)


async def test_a_stale_watcher_changes_nothing(store: Database) -> None:
    claimed = await parked(store, NOON)
    run_id = claimed.fence.run_id
    (first,) = await take(store, NOON, run_id, token="tok_first")
    await sweep(store, NOON + 2 * LEASE)
    (second,) = await take(store, NOON + 2 * LEASE, run_id, token="tok_second")

    stale = parking(first, lines=[line("stale")], items=["stale"], handle={"stale": True})
    assert await park(store, stale) == set()
    assert (await finish(store, first, Succeeded(), NOON)).stale == {run_id}
    assert not await note(store, first.fence, {"stale": True})

    assert await park(store, parking(second, handle={"second": 1})) == {run_id}
    assert (await run_of(store, run_id)).handle == {"second": 1}
    assert await lines_of(store, run_id) == []
    assert await items_of(store, run_id) == []


async def test_who_parked_a_run_cannot_end_it_any_more(store: Database) -> None:
    claimed = await parked(store)

    assert (await finish(store, claimed, Succeeded(), NOON)).stale == {claimed.fence.run_id}
    assert (await run_of(store, claimed.fence.run_id)).parked


async def test_a_look_that_finds_the_end_ends_the_attempt(store: Database) -> None:
    claimed = await parked(store, NOON)
    run_id = claimed.fence.run_id
    (looked,) = await take(store, SOON, run_id)

    assert (await finish(store, looked, Succeeded({"items": 3}), SOON)).accepted == {run_id}

    run = await run_of(store, run_id)
    assert (run.state, run.result, run.parked, run.handle) == (RunState.SUCCESS, {"items": 3}, False, HANDLE)
    row = await row_of(store, run_id)
    assert (row["poll_at"], row["lease_until"], row["finished_at"]) == (None, None, SOON)
    states = [event.state for event in await events_of(store, run_id) if event.state]
    assert states == ["queued", "running", "success"], "however often it was looked at"
    async with store.read() as tx:
        (attempt,) = (await SqlRuns(tx).attempts([run_id], whole=True))[run_id]
    assert (attempt.number, attempt.started_at, attempt.ended_at) == (1, NOON, SOON)


@pytest.mark.parametrize(
    ("outcome", "attempts"), [(Failed(Problem("x", "y")), 1), (HandedBack(), 0)], ids=["retry", "handed back"]
)
async def test_the_next_attempt_begins_without_the_handle(
    store: Database, outcome: Failed | HandedBack, attempts: int
) -> None:
    claimed = await parked(store, NOON)
    run_id = claimed.fence.run_id
    (looked,) = await take(store, NOON, run_id)
    await finish(store, looked, outcome, NOON)

    row = await row_of(store, run_id)
    assert (row["handle"], row["poll_at"], row["attempt"]) == (None, None, attempts)
    (again,) = await claim(store, NOON + MINUTE, run_id)
    assert (again.attempt, again.handle) == (attempts + 1, None)


async def test_a_damaged_handle_says_so(store: Database) -> None:
    claimed = await parked(store, NOON)
    await sql(store, "UPDATE runs SET handle = '{oops' WHERE id = :id", id=claimed.fence.run_id)

    (looked,) = await take(store, NOON, claimed.fence.run_id)

    assert looked.fault == "its handle is not JSON"


# --- cancelled, terminated --------------------------------------------------------------------------------------------


async def test_a_cancelled_one_is_looked_at_now(store: Database) -> None:
    claimed = await parked(store, SOON)
    run_id = claimed.fence.run_id

    await cancel(store, run_id)

    run = await run_of(store, run_id)
    assert (run.state, run.cancel_requested) == (RunState.RUNNING, True)
    assert (await coming(store, NOON)).due == [run_id]
    (looked,) = await take(store, NOON, run_id)
    assert looked.cancel_requested
    assert await park(store, parking(looked, SOON, cancelling=True)) == {run_id}, "it is stopping"
    assert await coming(store, NOON) == Coming([], SOON)
    (looked,) = await take(store, SOON, run_id)
    await finish(store, looked, Cancelled(), SOON)
    assert (await run_of(store, run_id)).state is RunState.CANCELLED


async def test_a_cancel_that_comes_during_a_look_brings_the_next_one_forward(store: Database) -> None:
    claimed = await parked(store, NOON)
    run_id = claimed.fence.run_id
    (looked,) = await take(store, NOON, run_id)

    await cancel(store, run_id)
    assert (await row_of(store, run_id))["poll_at"] is None, "somebody holds it"
    assert await park(store, parking(looked, SOON)) == {run_id}

    assert (await coming(store, NOON)).due == [run_id]


async def test_a_cancel_while_it_is_noted_but_held_leaves_it_to_its_holder(store: Database) -> None:
    claimed = await held(store)
    run_id = claimed.fence.run_id
    await note(store, claimed.fence)

    await cancel(store, run_id)

    assert (await row_of(store, run_id))["poll_at"] is None
    async with store.read() as tx:
        assert await SqlClaims(tx).cancels([run_id]) == {run_id}


@pytest.mark.parametrize("looking", [False, True], ids=["parked", "looked at"])
async def test_a_terminated_one_ends_at_once_and_its_effect_is_let_go_of(store: Database, looking: bool) -> None:
    claimed = await parked(store, NOON if looking else SOON)
    run_id = claimed.fence.run_id
    stale = (await take(store, NOON, run_id, token="tok_stale"))[0] if looking else claimed

    await terminate(store, run_id)

    run = await run_of(store, run_id)
    assert (run.state, run.handle, run.parked) == (RunState.CANCELLED, HANDLE, False)
    assert await park(store, parking(stale, lines=[line("late")])) == set()
    assert (await coming(store, NOON)).due == [run_id]
    (looked,) = await take(store, NOON, run_id)
    assert looked.ended
    assert await coming(store, NOON) == Coming([], NOON + LEASE), "should whoever holds it vanish"
    stopping = parking(looked, SOON, lines=[line("nobody reads this")], handle={"stopping": 1})
    assert await park(store, stopping) == {run_id}
    assert await coming(store, NOON) == Coming([], SOON)

    (looked,) = await take(store, SOON, run_id, token="tok_last")
    async with store.begin() as tx:
        assert await SqlParked(tx).let_go([replace(looked.fence, token="tok_look")]) == 0
        assert await SqlParked(tx).let_go([looked.fence]) == 1
    assert await coming(store, SOON + MINUTE) == Coming([], None)
    run = await run_of(store, run_id)
    assert (run.state, run.finished_at, run.handle) == (RunState.CANCELLED, NOON, {"stopping": 1})
    states = [event.state for event in await events_of(store, run_id)]
    assert states == ["queued", "running", "cancelled"]


async def test_a_run_that_never_started_an_effect_is_not_looked_at_when_it_is_terminated(store: Database) -> None:
    claimed = await held(store)

    await terminate(store, claimed.fence.run_id)

    assert await coming(store, NOON + MINUTE) == Coming([], None)


async def test_the_effect_of_a_terminated_start_is_let_go_of(store: Database) -> None:
    claimed = await held(store)
    await note(store, claimed.fence)

    await terminate(store, claimed.fence.run_id)

    assert (await coming(store, NOON)).due == [claimed.fence.run_id]


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
    janitor = Janitor(clock=stopped(lost_at), store=store, feed=woken, alarm=Alarm(), period=1.0, retention=None)

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


async def take_again(store: Database, run_id: str, now: datetime) -> list[Claimed]:
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
    assert await coming(store, now) == Coming([], None)
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
        ours, all_ = await SqlUpkeep(tx).counts(TENANT), await SqlUpkeep(tx).counts()

    assert (ours["parked"], ours["runs"]) == ({"count": 2, "oldest": SOON}, {"running": 3})
    assert (all_["parked"], all_["runs"]) == ({"count": 3, "oldest": NOON}, {"running": 4})


async def test_an_ended_run_whose_effect_nobody_let_go_is_not_pruned(store: Database) -> None:
    claimed = await parked(store)
    await terminate(store, claimed.fence.run_id)
    future = NOON + timedelta(days=365 * 50)

    async def prune() -> int:
        async with store.begin() as tx:
            return (await SqlUpkeep(tx).prune(future, 100))[0]

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
    assert (await lines_of(store, run_id))[-1].startswith("2 more lines were not kept")
