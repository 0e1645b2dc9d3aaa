"""Events of a run are numbered without gaps, whichever process wrote them, on every database."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from foliot.db.database import Database
from foliot.engine.model.run import (
    AttemptError,
    Event,
    EventLine,
    EventType,
    Failed,
    Fence,
    HandedBack,
    Lost,
    Succeeded,
)
from foliot.engine.model.views import ClaimedRun
from foliot.engine.sql import log_chunks
from foliot.engine.sql.log_chunks import CHUNK_LINES
from foliot.engine.sql.runs import SqlRuns
from foliot.testing import open_store
from tests.givens import (
    HOUR,
    NO_SPREAD,
    NOON,
    SECOND,
    ask,
    claim,
    events_of,
    finish,
    request,
    row_of,
    run_of,
    spec,
    sql,
    statements,
)

FAILED = Failed(AttemptError("http_500", "no"))


def lines(count: int, word: str = "line") -> list[EventLine]:
    return [EventLine(NOON, EventType.LOG, "info", f"{word} {at}") for at in range(count)]


async def append(store: Database, fence: Fence, written: list[EventLine]) -> set[str]:
    async with store.begin() as tx:
        return await SqlRuns(tx).append([(fence, written)])


async def started(store: Database, run_id: str | None = None) -> ClaimedRun:
    if run_id is None:
        (run_id,) = await ask(store, NOON, request(max_attempts=10))
    (held,) = await claim(store, NOON + HOUR, run_id)
    return replace(held, spec=spec(retry=NO_SPREAD))


async def lived(store: Database) -> str:
    """A run with all that can happen to one: lines, a failure, a hand-back, a retry, lines with the ending."""
    held = await started(store)
    run_id = held.fence.run_id
    await append(store, held.fence, lines(3, "first"))
    await append(store, held.fence, lines(2, "more"))
    await finish(store, held, FAILED, NOON, lines(2, "last"))
    held = await started(store, run_id)
    await finish(store, held, HandedBack(), NOON)
    held = await started(store, run_id)
    await append(store, held.fence, [EventLine(NOON, EventType.PROGRESS, data={"done": 1, "of": 2})])
    await finish(store, held, Succeeded(), NOON + SECOND, lines(1, "end"))
    return run_id


async def test_a_whole_life_has_no_gap(store: Database) -> None:
    run_id = await lived(store)

    events = await events_of(store, run_id)

    assert [event.seq for event in events] == list(range(1, 17))
    assert (await run_of(store, run_id)).event_seq == 16
    assert [event.attempt for event in events if event.state] == [None, 1, 1, 2, 2, 2, 2]


async def test_a_whole_life_is_told_in_order(store: Database) -> None:
    told = [event.state or event.message for event in await events_of(store, await lived(store))]

    assert told == [
        "queued",
        "running",
        *(f"first {at}" for at in range(3)),
        *(f"more {at}" for at in range(2)),
        *(f"last {at}" for at in range(2)),
        "retrying",
        "running",
        "queued",
        "running",
        "",
        "end 0",
        "success",
    ]


async def test_every_reader_resumes_exactly_where_it_stopped(store: Database) -> None:
    run_id = await lived(store)
    whole = await events_of(store, run_id)

    for limit in (1, 2, 3, 7):
        read: list[object] = []
        while page := await events_of(store, run_id, after=len(read), limit=limit):
            assert len(page) <= limit
            read += page
        assert read == whole
    assert await events_of(store, run_id, after=len(whole)) == []
    assert await events_of(store, "run_unheard_of") == []


async def test_a_small_page_has_no_gap_though_the_run_was_tried_many_times(store: Database) -> None:
    held = await started(store)
    run_id = held.fence.run_id
    for at in range(5):
        await append(store, held.fence, lines(1, f"early {at}"))
    for _ in range(8):
        await finish(store, held, FAILED, NOON)
        held = await started(store, run_id)

    page = await events_of(store, run_id, limit=4)

    assert [event.seq for event in page] == [1, 2, 3, 4]


async def test_a_running_and_a_cancelled_run_tell_all_they_did(store: Database) -> None:
    held = await started(store)
    run_id = held.fence.run_id
    await append(store, held.fence, lines(1))
    assert [event.state for event in await events_of(store, run_id)] == ["queued", "running", None]

    await finish(store, held, FAILED, NOON)
    async with store.begin() as tx:
        await SqlRuns(tx).cancel([run_id], NOON + SECOND, "asked")

    told = [(event.seq, event.state) for event in await events_of(store, run_id)]
    assert told == [(1, "queued"), (2, "running"), (3, None), (4, "retrying"), (5, "cancelled")]


async def test_a_run_cancelled_before_it_began_says_so(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    async with store.begin() as tx:
        await SqlRuns(tx).cancel([run_id], NOON, "asked")

    told = [(event.seq, event.state, event.message) for event in await events_of(store, run_id)]
    assert told == [(1, "queued", ""), (2, "cancelled", "asked")]


@pytest.mark.parametrize("with_ending", [False, True])
async def test_many_lines_are_kept_in_chunks_and_read_as_one(store: Database, with_ending: bool) -> None:
    count = 2 * CHUNK_LINES + 7
    held = await started(store)
    run_id = held.fence.run_id
    if with_ending:
        await finish(store, held, Succeeded(), NOON, lines(count))
    else:
        await append(store, held.fence, lines(count))

    events = await events_of(store, run_id)

    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.message for event in events if event.type is EventType.LOG] == [f"line {at}" for at in range(count)]
    resumed = await events_of(store, run_id, after=CHUNK_LINES + 50, limit=3)
    assert [event.seq for event in resumed] == [CHUNK_LINES + 51, CHUNK_LINES + 52, CHUNK_LINES + 53]


async def test_lines_are_kept_as_they_were_written(store: Database) -> None:
    held = await started(store)
    odd = EventLine(NOON, EventType.LOG, "error", "tab\there, \x1b[31mred, 日本, 🕰, \\u0000", {"n": [1.5, None]})

    await append(store, held.fence, [odd])

    event = (await events_of(store, held.fence.run_id))[-1]
    assert (event.at, event.level, event.message, event.data) == (NOON, "error", odd.message, {"n": [1.5, None]})


async def test_lines_of_a_stale_attempt_are_refused(store: Database) -> None:
    held = await started(store)
    run_id = held.fence.run_id
    await finish(store, held, FAILED, NOON)

    assert await append(store, held.fence, lines(1)) == set()
    again = await started(store, run_id)
    assert await append(store, held.fence, lines(1)) == set()
    assert await append(store, replace(again.fence, token="tok_other"), lines(1)) == set()
    assert await append(store, again.fence, lines(1)) == {run_id}
    assert [event.seq for event in await events_of(store, run_id)] == [1, 2, 3, 4, 5]


async def test_many_writers_at_once_leave_no_gap(server_database_url: str) -> None:
    async with open_store(server_database_url) as store:
        held = await started(store)
        await asyncio.gather(*(append(store, held.fence, lines(3, f"w{at}")) for at in range(12)))

        events = await events_of(store, held.fence.run_id)

    assert [event.seq for event in events] == list(range(1, 39))
    assert len({event.message for event in events if event.message}) == 36


async def test_pruned_lines_leave_the_rest_readable(store: Database) -> None:
    run_id = await lived(store)
    await sql(store, "DELETE FROM log_chunks WHERE run_id = :id", id=run_id)

    assert all(event.state for event in await events_of(store, run_id))


# --- bounds -----------------------------------------------------------------------------------------------------------


def words(events: Sequence[Event]) -> list[str]:
    return [event.message for event in events if event.type is EventType.LOG]


async def test_a_run_has_so_many_lines_over_all_its_attempts(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_chunks, "LINES_PER_RUN", 10)
    held = await started(store)
    run_id = held.fence.run_id
    await append(store, held.fence, lines(4, "one"))
    await finish(store, held, FAILED, NOON, lines(2, "end"))
    held = await started(store, run_id)
    await append(store, held.fence, lines(6, "two"))
    await append(store, held.fence, lines(5, "lost"))
    await finish(store, held, Succeeded(), NOON, lines(3, "lost"))

    events = await events_of(store, run_id)

    told = words(events)
    assert told[:10] == [*(f"one {at}" for at in range(4)), "end 0", "end 1", *(f"two {at}" for at in range(4))]
    assert [one.split(":")[0] for one in told[10:]] == ["10 more lines were dropped"]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


@pytest.mark.parametrize("count", [1, 2, 5, 20, 500])
def test_a_chunk_of_any_size_is_read_as_it_was_written(count: int) -> None:
    """Small ones are not compressed; a reader does not notice."""
    told = [
        *lines(count - 1),
        EventLine(NOON + timedelta(microseconds=1), EventType.PROGRESS, "warning", "é", {"a": 1}),
    ]

    events = list(log_chunks.unpack(log_chunks.pack(told), 7))

    assert [event.seq for event in events] == list(range(7, 7 + count))
    assert [EventLine(one.at, one.type, one.level or "", one.message, one.data) for one in events] == told


async def test_a_runs_log_takes_so_much_room_over_all_its_attempts(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = len(log_chunks.pack(lines(3)))
    monkeypatch.setattr(log_chunks, "LOG_BYTES", 2 * kept + 1)
    held = await started(store)
    run_id = held.fence.run_id
    await append(store, held.fence, lines(3))
    await finish(store, held, FAILED, NOON, lines(3))
    held = await started(store, run_id)
    await append(store, held.fence, lines(3, "lost"))
    await append(store, held.fence, lines(1, ""))
    await finish(store, held, Lost(), NOON)

    events = await events_of(store, run_id)

    assert words(events)[:6] == ["line 0", "line 1", "line 2"] * 2
    assert [one.split(":")[0] for one in words(events)[6:]] == ["4 more lines were dropped"]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    row = await row_of(store, run_id)
    assert (row["log_bytes"], row["log_dropped"]) == (2 * kept + 1, 0)


async def test_a_run_without_lines_costs_no_more_to_end(store: Database) -> None:
    held = await started(store)

    with statements(store) as seen:
        await finish(store, held, Succeeded(), NOON)

    assert not [one for one in seen if "log_chunks" in one or "log_bytes =" in one]
