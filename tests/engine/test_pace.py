"""How long an actor rests: until a moment, after failures, and between two rounds."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from foliot.engine.loop import FINEST, Spacing, backoff, rest_until
from tests.givens import NOON, SECOND


@pytest.mark.parametrize(
    ("wanted", "rest"),
    [
        (None, 5.0),
        (timedelta(seconds=2), 2.0),
        (timedelta(hours=1), 5.0),
        (timedelta(), FINEST),
        (timedelta(seconds=-3), FINEST),
    ],
)
def test_an_actor_rests_until_the_moment_and_no_longer_than_it_may(wanted: timedelta | None, rest: float) -> None:
    assert rest_until(None if wanted is None else NOON + wanted, NOON, 5.0) == rest


def test_what_is_due_leaves_the_shortest_rest_asked_for() -> None:
    assert rest_until(NOON - SECOND, NOON, 5.0, 0.25) == 0.25


def test_each_failure_doubles_the_rest_up_to_the_longest() -> None:
    assert [backoff(times, 0.5, 3.0) for times in (1, 2, 3, 4, 10_000)] == [0.5, 1.0, 2.0, 3.0, 3.0]


async def test_rounds_are_kept_apart_from_the_last_that_was_marked() -> None:
    spacing = Spacing(10.0)
    before = spacing.early()
    spacing.mark()

    assert before == 0.0
    assert 9.0 < spacing.early() <= 10.0
    assert spacing.early(0.0) == 0.0, "another gap, for this once"
    assert 19.0 < spacing.early(20.0) <= 20.0
    spacing.clear()
    assert spacing.early() == 0.0


async def test_what_no_timer_can_tell_apart_is_now() -> None:
    spacing = Spacing()
    spacing._last = asyncio.get_running_loop().time()

    assert spacing.early(FINEST / 2) == 0.0
