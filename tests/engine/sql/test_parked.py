"""Parked runs in the store: noted, claimed by one, parked again in one piece, cancelled, and taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from foliot.db.database import Database
from foliot.engine.model.run import (
    AttemptError,
    Cancelled,
    DueParkedRuns,
    Failed,
    Fence,
    HandedBack,
    RunState,
    Succeeded,
)
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.parked import SqlParked
from foliot.engine.sql.run_items import read_items
from foliot.engine.sql.runs import SqlRuns
from foliot.testing import open_store
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
    events_of,
    finish,
    request,
    row_of,
    run_of,
    sql,
    statements,
)


async def cancel(store: Database, run_id: str, now: datetime = NOON) -> None:
    async with store.begin() as tx:
        await SqlRuns(tx).cancel([run_id], now, "enough")


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
    # PostgreSQL writes both counts with one statement; SQLite writes run and attempt in one visit to its thread.
    assert len(seen) == {"postgresql": 3, "sqlite": 3, "mysql": 4}[store.dialect.name], "\n".join(seen)


# --- looked at --------------------------------------------------------------------------------------------------------


async def test_what_is_due_comes_in_order_and_the_next_moment_is_told(store: Database) -> None:
    late = await parked(store, NOON - SECOND)
    due = await parked(store, NOON)
    later = await parked(store, SOON)
    await parked(store, NOON - MINUTE, kind="other")

    found = await coming(store, NOON)
    assert found == DueParkedRuns([late.fence.run_id, due.fence.run_id], SOON)
    assert await coming(store, NOON, 1) == DueParkedRuns([late.fence.run_id], None)
    assert await coming(store, SOON) == DueParkedRuns([one.fence.run_id for one in (late, due, later)], None)
    assert await coming(store, SOON, queues={"elsewhere"}) == DueParkedRuns([], None)
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
    ("outcome", "attempts"), [(Failed(AttemptError("x", "y")), 1), (HandedBack(), 0)], ids=["retry", "handed back"]
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
    assert await coming(store, NOON) == DueParkedRuns([], SOON)
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
    assert await coming(store, NOON) == DueParkedRuns([], NOON + LEASE), "should whoever holds it vanish"
    stopping = parking(looked, SOON, lines=[line("nobody reads this")], handle={"stopping": 1})
    assert await park(store, stopping) == {run_id}
    assert await coming(store, NOON) == DueParkedRuns([], SOON)

    (looked,) = await take(store, SOON, run_id, token="tok_last")
    async with store.begin() as tx:
        assert await SqlParked(tx).let_go([replace(looked.fence, token="tok_look")]) == 0
        assert await SqlParked(tx).let_go([looked.fence]) == 1
    assert await coming(store, SOON + MINUTE) == DueParkedRuns([], None)
    run = await run_of(store, run_id)
    assert (run.state, run.finished_at, run.handle) == (RunState.CANCELLED, NOON, {"stopping": 1})
    states = [event.state for event in await events_of(store, run_id)]
    assert states == ["queued", "running", "cancelled"]


async def test_a_run_that_never_started_an_effect_is_not_looked_at_when_it_is_terminated(store: Database) -> None:
    claimed = await held(store)

    await terminate(store, claimed.fence.run_id)

    assert await coming(store, NOON + MINUTE) == DueParkedRuns([], None)


async def test_the_effect_of_a_terminated_start_is_let_go_of(store: Database) -> None:
    claimed = await held(store)
    await note(store, claimed.fence)

    await terminate(store, claimed.fence.run_id)

    assert (await coming(store, NOON)).due == [claimed.fence.run_id]
