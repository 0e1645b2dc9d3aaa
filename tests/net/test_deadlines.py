"""Deadlines that share timers."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from foliot.net.deadlines import Deadlines, TaskDeadline


async def test_what_does_not_end_in_time_expires_and_what_ends_does_not() -> None:
    deadlines, expired = Deadlines(), list[str]()
    began = [deadlines.begin(0.02, partial(expired.append, name)) for name in "abc"]
    deadlines.end(began[1])
    await asyncio.sleep(0.1)
    assert expired == ["a", "c"]


async def test_those_of_other_durations_have_their_own_time() -> None:
    deadlines, expired = Deadlines(), list[str]()
    deadlines.begin(0.1, lambda: expired.append("late"))
    deadlines.begin(0.02, lambda: expired.append("soon"))
    await asyncio.sleep(0.05)
    assert expired == ["soon"]
    await asyncio.sleep(0.1)
    assert expired == ["soon", "late"]


async def test_a_later_one_of_the_same_duration_has_its_whole_time() -> None:
    loop, deadlines, expired = asyncio.get_running_loop(), Deadlines(), list[float]()
    first = deadlines.begin(0.5, lambda: expired.append(-1))
    await asyncio.sleep(0.05)
    began = loop.time()
    deadlines.begin(0.5, lambda: expired.append(loop.time() - began))
    deadlines.end(first)
    async with asyncio.timeout(20):
        while not expired:
            await asyncio.sleep(0.05)
    assert len(expired) == 1
    assert expired[0] >= 0.499


async def test_nothing_is_left_of_those_that_ended() -> None:
    deadlines = Deadlines()
    for seconds in range(1, 1000):
        deadlines.end(deadlines.begin(float(seconds), lambda: None))
    ended = deadlines.begin(1.0, lambda: None)
    deadlines.end(ended)
    deadlines.end(ended)
    assert not deadlines._queues


async def test_a_task_whose_time_is_over_fails_with_a_timeout_and_goes_on() -> None:
    deadlines = Deadlines()
    with pytest.raises(TimeoutError):
        async with TaskDeadline(deadlines, 0.01):
            await asyncio.sleep(10)
    # It is not cancelled any more.
    await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()
    assert not deadlines._queues


async def test_an_error_of_the_task_itself_passes() -> None:
    with pytest.raises(KeyError):
        async with TaskDeadline(Deadlines(), 10):
            raise KeyError


async def test_the_inner_of_two_deadlines_is_the_one_that_fails() -> None:
    deadlines = Deadlines()
    async with TaskDeadline(deadlines, 10):
        with pytest.raises(TimeoutError):
            async with TaskDeadline(deadlines, 0.01):
                await asyncio.sleep(10)
        await asyncio.sleep(0)


async def test_a_cancellation_from_elsewhere_at_the_same_time_wins() -> None:
    deadline = TaskDeadline(Deadlines(), 10)

    async def work() -> None:
        async with deadline:
            await asyncio.sleep(10)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    deadline._expire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
