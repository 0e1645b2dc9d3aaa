"""Endings are written in groups; nothing is forgotten while the database is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from foliot.core.errors import Unavailable
from foliot.db.database import Database
from foliot.engine.group_writer import GROUP
from foliot.engine.model.run import Fence, RunState
from foliot.engine.model.views import AttemptEnding, EndingsResult
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.recorder import Recorder
from foliot.wakeups.feed import RUNS_TOPIC, MemoryFeed, run_topic
from tests.givens import NOON, SECOND, stopped


def ending(name: str, state: RunState = RunState.SUCCESS, **changes: Any) -> AttemptEnding:
    return AttemptEnding(fence=Fence(name, 1, "tok"), state=state, outcome="success", at=NOON, **changes)


@dataclass
class Ledger:
    """A store that keeps endings, and fails as told."""

    failures: list[Exception] = field(default_factory=list)
    poison: set[str] = field(default_factory=set)
    stale: set[str] = field(default_factory=set)
    kept: list[list[AttemptEnding]] = field(default_factory=list)
    released: int = 0

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Ledger]:
        yield self

    async def finish(self, endings: Sequence[AttemptEnding], _now: object) -> EndingsResult:
        if self.failures:
            raise self.failures.pop(0)
        if any(one.fence.run_id in self.poison and one.result is not None for one in endings):
            raise ValueError("cannot be stored")
        if any("worse" in one.fence.run_id for one in endings):
            raise ValueError("cannot be stored in any form")
        self.kept.append(list(endings))
        states = {one.fence.run_id: one.state for one in endings if one.fence.run_id not in self.stale}
        return EndingsResult(states, frozenset(self.stale) & {one.fence.run_id for one in endings}, self.released)


@pytest.fixture(autouse=True)
def _statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction of these tests answers the statements itself."""
    monkeypatch.setattr("foliot.engine.recorder.SqlClaims", lambda tx: tx)


def recorder(ledger: Ledger, feed: MemoryFeed | None = None, alarm: ReadyTimes | None = None) -> Recorder:
    return Recorder(
        clock=stopped(),
        store=cast("Database", ledger),
        feed=feed or MemoryFeed(),
        alarm=alarm or ReadyTimes(),
        longest_rest=1.0,
    )


async def put(one: Recorder, *endings: AttemptEnding) -> list[asyncio.Task[RunState | None]]:
    tasks = [asyncio.create_task(one.put(each)) for each in endings]
    await asyncio.sleep(0)
    return tasks


async def test_what_gathered_is_written_together_and_each_is_told() -> None:
    ledger = Ledger(stale={"run_2"})
    one = recorder(ledger)
    tasks = await put(one, ending("run_1"), ending("run_2"), ending("run_3"))

    wrote = await one.run_once()

    assert (wrote.written, wrote.stale, wrote.rest) == (3, 1, 1.0)
    assert len(ledger.kept) == 1
    assert await asyncio.gather(*tasks) == [RunState.SUCCESS, None, RunState.SUCCESS]


async def test_more_than_a_group_waits_for_the_next_round() -> None:
    one = recorder(Ledger())
    tasks = await put(one, *(ending(f"run_{at}") for at in range(GROUP + 1)))

    assert (await one.run_once()).rest == 0.0
    assert (await one.run_once()).written == 1
    assert all(await asyncio.gather(*tasks))


async def test_a_group_of_large_responses_is_small() -> None:
    ledger = Ledger()
    one = recorder(ledger)
    tasks = await put(one, *(ending(f"run_{at}", response={"body": "x" * 64 * 1024}) for at in range(40)))

    while not all(task.done() for task in tasks):
        await one.run_once()
        await asyncio.sleep(0)
    assert [len(group) for group in ledger.kept] == [16, 16, 8]


async def test_a_database_that_is_away_loses_nothing_and_keeps_the_order() -> None:
    ledger = Ledger(failures=[Unavailable("away"), Unavailable("away")])
    one = recorder(ledger)
    tasks = await put(one, ending("run_1"), ending("run_2"))
    for _ in range(2):
        with pytest.raises(Unavailable):
            await one.run_once()
    tasks += await put(one, ending("run_3"))

    await one.run_once()

    assert [each.fence.run_id for each in ledger.kept[0]] == ["run_1", "run_2", "run_3"]
    assert all(await asyncio.gather(*tasks))


async def test_an_ending_that_cannot_be_stored_is_kept_bare_and_holds_up_nobody() -> None:
    ledger = Ledger(poison={"run_2"})
    one = recorder(ledger)
    tasks = await put(one, ending("run_1", result=1), ending("run_2", result=2), ending("run_3", result=3))

    await one.run_once()

    assert all(await asyncio.gather(*tasks))
    kept = {each.fence.run_id: each for group in ledger.kept for each in group}
    assert (kept["run_1"].result, kept["run_3"].result) == (1, 3)
    assert kept["run_2"].state is RunState.DEAD_LETTER
    assert (kept["run_2"].error or {})["code"] == "unrecordable"


async def test_an_ending_that_cannot_be_stored_in_any_form_holds_up_nobody() -> None:
    ledger = Ledger()
    one = recorder(ledger)
    tasks = await put(one, ending("worse"), ending("run_2"))

    assert (await one.run_once()).written == 2
    assert await asyncio.gather(*tasks) == [None, RunState.SUCCESS]


async def test_a_database_that_goes_away_between_single_writes_loses_nothing() -> None:
    ledger = Ledger(failures=[ValueError("one of you is bad"), Unavailable("away")])
    one = recorder(ledger)
    tasks = await put(one, ending("run_1"), ending("run_2"))
    with pytest.raises(Unavailable):
        await one.run_once()

    await one.run_once()

    assert all(await asyncio.gather(*tasks))


async def test_those_who_follow_a_run_are_woken_after_it_is_written() -> None:
    feed, alarm = MemoryFeed(), ReadyTimes()
    one = recorder(Ledger(released=1), feed, alarm)
    async with feed.listen(run_topic("run_1")) as follower, feed.listen(RUNS_TOPIC) as dispatcher:
        tasks = await put(one, ending("run_1", RunState.RETRYING, ready_at=NOON + 5 * SECOND))
        assert not await follower.wait(0)

        await one.run_once()

        assert await follower.wait(0)
        assert await dispatcher.wait(0)
        assert await tasks[0]
    assert 5.0 <= alarm.rest(NOON, 60.0) < 5.1


async def test_nothing_to_write_is_a_long_rest() -> None:
    assert (await recorder(Ledger()).run_once()).rest == 1.0
