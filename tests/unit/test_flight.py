"""A run in flight: its lines, and who may stop it."""

from __future__ import annotations

import asyncio

import pytest

from foliot.domain.event import LINE_LIMIT, EventType
from foliot.domain.run import Fence
from foliot.engine import notebook as notebooks
from foliot.engine.flight import Flight, Stop
from foliot.ports import Claimed
from tests.givens import NOON, stopped

CLAIMED = Claimed(
    fence=Fence("run_1", 1, "tok_1"),
    tenant_id="acme",
    schedule_id=None,
    kind="probe",
    attempt=1,
    max_attempts=3,
    timeout_seconds=None,
    scheduled_for=None,
    ready_at=NOON,
    started_at=NOON,
    cancel_requested=False,
    spec=None,
    config={},
)


@pytest.fixture
def flight() -> Flight:
    return Flight(claimed=CLAIMED, clock=stopped(), leased_at=0.0, hard_at=60.0, limit=60.0)


def test_lines_are_taken_once_and_in_order(flight: Flight) -> None:
    flight.log("one")
    flight.progress(done=1, of=2)
    flight.log("two", level="warning")

    taken = flight.take_lines()

    assert [(line.type, line.level, line.message, line.data) for line in taken] == [
        (EventType.LOG, "info", "one", None),
        (EventType.PROGRESS, "info", "", {"done": 1, "of": 2}),
        (EventType.LOG, "warning", "two", None),
    ]
    assert flight.take_lines() == []


def test_a_long_line_is_cut_and_says_so(flight: Flight) -> None:
    flight.log("x" * (LINE_LIMIT + 1))
    flight.log("y" * LINE_LIMIT)

    cut, whole = (line.message for line in flight.take_lines())

    assert cut == "x" * LINE_LIMIT + "… (cut)"
    assert whole == "y" * LINE_LIMIT


def test_a_flood_is_bounded_and_says_how_much_was_dropped(flight: Flight) -> None:
    for _ in range(notebooks.BUFFERED_LINES + 7):
        flight.log("drop")

    taken = flight.take_lines()

    assert len(taken) == notebooks.BUFFERED_LINES + 1
    assert (taken[-1].level, taken[-1].message) == ("warning", "7 more lines came too fast and were not kept")


@pytest.mark.parametrize(
    ("reasons", "kept"),
    [
        ([Stop.CANCEL, Stop.SHUTDOWN], Stop.CANCEL),
        ([Stop.SHUTDOWN, Stop.CANCEL], Stop.SHUTDOWN),
        ([Stop.CANCEL, Stop.LEASE], Stop.LEASE),
        ([Stop.LEASE, Stop.CANCEL], Stop.LEASE),
    ],
)
def test_the_first_reason_counts_but_a_lost_lease_beats_all(flight: Flight, reasons: list[Stop], kept: Stop) -> None:
    for reason in reasons:
        flight.halt(reason)

    assert flight.stop is kept


async def test_what_has_been_performed_is_not_interrupted_while_it_is_recorded(flight: Flight) -> None:
    recorded = asyncio.Event()

    async def records() -> None:
        await recorded.wait()

    flight.task = asyncio.create_task(records())
    flight.performing = False
    flight.halt(Stop.SHUTDOWN)
    recorded.set()

    await flight.task

    assert not flight.task.cancelled()


async def test_halting_interrupts_the_effect(flight: Flight) -> None:
    flight.task = asyncio.create_task(asyncio.Event().wait())  # type: ignore[arg-type]
    flight.halt(Stop.CANCEL)

    with pytest.raises(asyncio.CancelledError):
        await flight.task
