"""A run in flight: its lines, and who may stop it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any

import pytest

from foliot.core.errors import Unavailable
from foliot.engine.attempts import attempt_log as notebooks
from foliot.engine.attempts.attempt import RunningAttempt, StopReason
from foliot.engine.log_writer import GAP, SLICE, LogWriter
from foliot.engine.model.run import LINE_LIMIT, EventLine, EventType, Fence
from foliot.engine.model.views import ClaimedRun
from foliot.engine.sql.log_chunks import pack
from foliot.wakeups.feed import MemoryFeed
from tests.givens import NOON, stopped

CLAIMED = ClaimedRun(
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


@dataclass
class Flights:
    """The attempts that a logbook looks at."""

    flights: dict[str, RunningAttempt]


@dataclass
class Picky:
    """A store that refuses a line, and with it the whole transaction."""

    away: bool = False
    kept: list[tuple[str, list[str]]] = field(default_factory=list)

    @asynccontextmanager
    async def begin(self, tenant_id: str | None = None) -> AsyncIterator[Any]:
        yield self

    async def append(self, batch: Sequence[tuple[Fence, Sequence[EventLine]]]) -> None:
        if self.away:
            raise Unavailable("away")
        if any(line.message == "bad" for _, lines in batch for line in lines):
            raise TypeError("this line cannot be stored")
        self.kept += [(fence.run_id, [line.message for line in lines]) for fence, lines in batch]


@pytest.fixture(autouse=True)
def _statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction of these tests answers the statements itself."""
    monkeypatch.setattr("foliot.engine.log_writer.SqlRuns", lambda tx: tx)


@pytest.fixture
def flight() -> RunningAttempt:
    return RunningAttempt(claimed=CLAIMED, clock=stopped(), claimed_at=0.0, leased_at=0.0, hard_at=60.0, limit=60.0)


def test_lines_are_taken_once_and_in_order(flight: RunningAttempt) -> None:
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


def test_a_long_line_is_cut_and_says_so(flight: RunningAttempt) -> None:
    flight.log("x" * (LINE_LIMIT + 1))
    flight.log("y" * LINE_LIMIT)

    cut, whole = (line.message for line in flight.take_lines())

    assert cut == "x" * LINE_LIMIT + "… (cut)"
    assert whole == "y" * LINE_LIMIT


def test_a_flood_is_bounded_and_says_how_much_was_dropped(flight: RunningAttempt) -> None:
    for _ in range(notebooks.BUFFERED_LINES + 7):
        flight.log("drop")

    taken = flight.take_lines()

    rate = f"about {SLICE / GAP:,.0f} a second of one run are stored, and {notebooks.BUFFERED_LINES:,} buffered"
    assert len(taken) == notebooks.BUFFERED_LINES + 1
    assert (taken[-1].level, taken[-1].message) == ("warning", f"7 more lines came too fast and were dropped: {rate}")


def test_what_cannot_be_written_as_it_is_is_kept_as_text(flight: RunningAttempt) -> None:
    circle: list[object] = []
    circle.append(circle)

    flight.log("half: \ud83d, whole: ü")
    flight.progress(price=Decimal("1.50"), half="\ud83d", much=-(10**400), none=math.nan, when={1: NOON})
    flight.progress(circle=circle)
    taken = flight.take_lines()

    assert taken[0].message == "half: ?, whole: ü"
    assert taken[1].data == {"price": "1.50", "half": "?", "much": -math.inf, "none": None, "when": {"1": str(NOON)}}
    assert taken[2].data == {"unreadable": "what the action logged is not JSON (ValueError)"}
    assert pack(taken)


def test_a_value_to_hide_is_also_taken_out_of_what_became_text(flight: RunningAttempt) -> None:
    flight.hide("hush-hush-hush")
    flight.progress(path=PurePosixPath("/x/hush-hush-hush"))

    assert flight.take_lines()[0].data == {"path": "/x/***"}


async def test_lines_that_cannot_be_stored_spoil_nobody_elses(flight: RunningAttempt) -> None:
    other = RunningAttempt(
        claimed=replace(CLAIMED, fence=Fence("run_2", 1, "tok_2")),
        clock=stopped(),
        claimed_at=0.0,
        leased_at=0.0,
        hard_at=60.0,
        limit=60.0,
    )
    store = Picky()
    executor = Flights({"run_1": flight, "run_2": other})
    logbook = LogWriter(store=store, feed=MemoryFeed(), executor=executor, gap=0)  # type: ignore[arg-type]
    flight.log("bad")
    other.log("good")

    await logbook.run_once()
    await logbook.run_once()

    assert store.kept == [("run_2", ["good"]), ("run_1", ["1 lines could not be stored and are lost"])]


async def test_a_flood_is_written_in_slices_beside_the_few_lines_of_others(flight: RunningAttempt) -> None:
    other = RunningAttempt(
        claimed=replace(CLAIMED, fence=Fence("run_2", 1, "tok_2")),
        clock=stopped(),
        claimed_at=0.0,
        leased_at=0.0,
        hard_at=60.0,
        limit=60.0,
    )
    store = Picky()
    executor = Flights({"run_1": flight, "run_2": other})
    logbook = LogWriter(store=store, feed=MemoryFeed(), executor=executor, gap=0)  # type: ignore[arg-type]
    for number in range(SLICE + 1):
        flight.log(f"{number}")
    other.log("one")

    rounds = [await logbook.run_once(), await logbook.run_once(), await logbook.run_once()]

    assert [(one.lines, one.runs) for one in rounds] == [(SLICE + 1, 2), (1, 1), (0, 0)]
    assert [(run_id, len(lines)) for run_id, lines in store.kept] == [("run_1", SLICE), ("run_2", 1), ("run_1", 1)]


async def test_a_round_soon_after_the_last_one_writes_nothing(flight: RunningAttempt) -> None:
    store = Picky()
    logbook = LogWriter(store=store, feed=MemoryFeed(), executor=Flights({"run_1": flight}), gap=60)  # type: ignore[arg-type]
    flight.log("one")
    await logbook.run_once()
    flight.log("two")

    again = await logbook.run_once()

    assert (again.lines, [lines for _, lines in store.kept]) == (0, [["one"]])
    assert 0 < again.rest <= 60


async def test_whoever_says_much_waits_until_there_is_room(flight: RunningAttempt) -> None:
    called: list[str] = []
    flight.crowded = lambda: called.append("crowded")
    await flight.room()
    for _ in range(notebooks.ROOM_LINES):
        flight.log("x")

    waiting = asyncio.create_task(flight.room())
    await asyncio.sleep(0)
    assert (waiting.done(), called) == (False, ["crowded"])
    flight.take_lines(1)
    await asyncio.wait_for(waiting, 5)


def test_long_lines_fill_a_slice_sooner(flight: RunningAttempt) -> None:
    for _ in range(40):
        flight.log("x" * LINE_LIMIT)

    assert flight.full
    assert len(flight.take_lines(SLICE)) == notebooks.ROOM_TEXT // LINE_LIMIT
    assert flight.text == sum(len(line.message) for line in flight.lines)


def test_a_gap_is_told_where_it_is(flight: RunningAttempt) -> None:
    for _ in range(notebooks.BUFFERED_LINES + 2):
        flight.log("early")
    first = flight.take_lines(SLICE)
    flight.log("late")

    told = [line.message for line in [*first, *flight.take_lines()]]

    assert told[-2] == f"2 more lines came too fast and were dropped: {notebooks.RATE}"
    assert told[-1] == "late"


async def test_lines_wait_while_the_database_is_away(flight: RunningAttempt) -> None:
    store = Picky(away=True)
    logbook = LogWriter(store=store, feed=MemoryFeed(), executor=Flights({"run_1": flight}))  # type: ignore[arg-type]
    flight.log("one")

    with pytest.raises(Unavailable):
        await logbook.run_once()

    assert [line.message for line in flight.take_lines()] == ["one"]


@pytest.mark.parametrize(
    ("reasons", "kept"),
    [
        ([StopReason.CANCEL, StopReason.SHUTDOWN], StopReason.CANCEL),
        ([StopReason.SHUTDOWN, StopReason.CANCEL], StopReason.SHUTDOWN),
        ([StopReason.CANCEL, StopReason.LEASE], StopReason.LEASE),
        ([StopReason.LEASE, StopReason.CANCEL], StopReason.LEASE),
    ],
)
def test_the_first_reason_counts_but_a_lost_lease_beats_all(
    flight: RunningAttempt, reasons: list[StopReason], kept: StopReason
) -> None:
    for reason in reasons:
        flight.halt(reason)

    assert flight.stop is kept


async def test_what_has_been_performed_is_not_interrupted_while_it_is_recorded(flight: RunningAttempt) -> None:
    recorded = asyncio.Event()

    async def records() -> None:
        await recorded.wait()

    flight.task = asyncio.create_task(records())
    flight.performing = False
    flight.halt(StopReason.SHUTDOWN)
    recorded.set()

    await flight.task

    assert not flight.task.cancelled()


async def test_halting_interrupts_the_effect(flight: RunningAttempt) -> None:
    flight.task = asyncio.create_task(asyncio.Event().wait())  # type: ignore[arg-type]
    flight.halt(StopReason.CANCEL)

    with pytest.raises(asyncio.CancelledError):
        await flight.task
