"""The watchdog: work that is due and does not start is reported with its visible cause, with or without a database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
import structlog

from foliot.core.errors import Cause, StoreRefusal, Unavailable
from foliot.db.database import Database
from foliot.engine.clock_sync import UnconfirmedStep
from foliot.engine.model.stall import PATIENCE, SlotHolder, Standstill, StandstillReason, joined, worst
from foliot.engine.watchdog import LOOK, Lookout, Watchdog
from foliot.testing import StoppedClock


@dataclass
class House:
    """What a watchdog sees, and a store that can be made to refuse."""

    clock: StoppedClock = field(default_factory=StoppedClock)
    next_due: datetime | None = None
    ready_at: datetime | None = None
    away: bool = False
    refused: StoreRefusal | None = None
    doubt: UnconfirmedStep | None = None
    free: int = 10
    held: Sequence[SlotHolder] = ()
    broker: str | None = None
    takers: tuple[int, int] | None = None
    failed: str | None = None

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[Any]:
        if self.away:
            raise Unavailable("away")
        yield self

    async def due(self) -> datetime | None:
        return self.next_due

    async def ready(self, now: datetime, _queues: object, _limit: int) -> list[str]:
        return ["run_1"] if self.ready_at is not None and self.ready_at <= now else []


class Watching:
    """A watchdog and its lookout, driven as the loop drives them."""

    def __init__(self, house: House, **changes: Any) -> None:
        self.house = house
        self.lookout = Lookout(clock=house.clock, store=cast("Database", _Sight(house)))
        self.watchdog = Watchdog(
            clock=house.clock,
            refusal=lambda: house.refused,
            doubt=lambda: house.doubt,
            lookout=self.lookout,
            fires=True,
            failed=lambda: house.failed,
            free=lambda: house.free,
            held=lambda: house.held,
            slots=10,
            broker=lambda: house.broker,
            takers=None if house.takers is None else lambda: house.takers or (0, 0),
            **changes,
        )

    async def watch(self, seconds: float) -> list[Standstill]:
        until = self.house.clock.monotonic() + seconds
        while self.house.clock.monotonic() < until:
            try:
                await self.lookout.run_once()
            except Unavailable:
                """The loop tries again; what was known stays known."""
            await self.watchdog.run_once()
            self.house.clock.advance(LOOK)
        return self.watchdog.standstills()


class _Sight:
    """The database as far as a lookout reads it."""

    def __init__(self, house: House) -> None:
        self.house = house

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[Any]:
        async with self.house.glance() as tx:
            yield _Statements(tx)


class _Statements:
    def __init__(self, house: House) -> None:
        self.ready = house.ready
        self.next_due = house.due


@pytest.fixture(autouse=True)
def _statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction of these tests answers the statements itself."""
    monkeypatch.setattr("foliot.engine.watchdog.SqlFiring", lambda tx: tx)
    monkeypatch.setattr("foliot.engine.watchdog.SqlClaims", lambda tx: tx)


def waiting(house: House) -> House:
    house.ready_at = house.clock.now()
    return house


async def test_nothing_is_told_where_work_begins() -> None:
    house = House()
    watching = Watching(house)
    for _ in range(30):
        # Every slot is busy and something always waits, but never for long.
        house.free, house.ready_at = 0, house.clock.now() - timedelta(seconds=5)
        house.next_due = house.clock.now() + timedelta(seconds=1)
        assert await watching.watch(LOOK) == []


async def test_busy_slots_are_told_within_half_a_minute_with_the_host_that_holds_them() -> None:
    house = waiting(House(free=0, held=[SlotHolder("slow.test", "acme", 8), SlotHolder("good.test", "other", 2)]))
    watching = Watching(house)

    assert await watching.watch(PATIENCE - 4) == []
    (one,) = await watching.watch(8)

    assert one.why is StandstillReason.HOST
    assert PATIENCE <= one.seconds <= 30
    assert "slow.test (8)" in one.whole()
    # A tenant reads of no other's hosts.
    assert "slow.test" not in one.told
    assert "slow.test" not in one.seen_by("other")
    assert one.seen_by("other").endswith("yours: good.test")
    house.ready_at, house.free = None, 10
    assert await watching.watch(LOOK) == []


async def test_slots_that_many_hosts_hold_are_told_as_such() -> None:
    house = waiting(House(free=0, held=[SlotHolder(f"h{n}.test", "acme", 1) for n in range(10)]))

    (one,) = await Watching(house).watch(40)

    assert one.why is StandstillReason.SLOTS


@pytest.mark.parametrize(
    ("house", "why"),
    [
        (House(broker="refused"), StandstillReason.BROKER),
        (House(takers=(0, 0)), StandstillReason.NO_WORKER),
        (House(takers=(2, 0)), StandstillReason.SLOTS),
        (House(takers=(2, 5)), StandstillReason.BROKER),
        (House(free=3), StandstillReason.UNKNOWN),
        (House(free=0), StandstillReason.SLOTS),
    ],
)
async def test_runs_that_wait_are_told_with_the_reason_that_can_be_seen(house: House, why: StandstillReason) -> None:
    house = House(broker=house.broker, takers=house.takers, free=house.free)

    (one,) = await Watching(waiting(house)).watch(40)

    assert one.why is why


async def test_schedules_that_are_due_and_not_fired_are_told() -> None:
    house = House(failed="KeyError: 'x'")
    house.next_due = house.clock.now()

    (one,) = await Watching(house).watch(40)

    assert (one.why, one.detail) == (StandstillReason.SCHEDULER, "KeyError: 'x'")


async def test_what_was_last_known_due_counts_when_the_store_says_nothing_more() -> None:
    house = House()
    house.next_due = house.clock.now() + timedelta(seconds=10)
    watching = Watching(house)
    await watching.watch(LOOK)
    house.away = True

    (one,) = await watching.watch(50)

    assert one.why is StandstillReason.SCHEDULER


@pytest.mark.parametrize("cause", [Cause.DISK_FULL, Cause.READ_ONLY])
async def test_a_store_that_refuses_writes_is_told_at_once_and_comes_before_other_reasons(cause: Cause) -> None:
    house = waiting(House(free=0, away=True))
    at = house.clock.monotonic()
    house.refused = StoreRefusal(cause, "secret /var/lib/foliot.db", at, at)

    (one,) = await Watching(house).watch(LOOK)

    assert one.why is StandstillReason.STORE
    assert one.told.startswith(cause.told)
    assert "/var/lib" not in one.told
    assert "/var/lib" in one.whole()


async def test_one_lost_connection_is_no_standstill_but_many_in_a_row_are() -> None:
    house, watching = House(), None
    at = house.clock.monotonic()
    house.refused = StoreRefusal(Cause.AWAY, "reset", at, at)
    watching = Watching(house)

    assert await watching.watch(LOOK) == []
    house.refused = StoreRefusal(Cause.AWAY, "reset", at, at + 4)
    (one,) = await watching.watch(LOOK)
    assert one.why is StandstillReason.STORE


async def test_a_step_of_the_clock_is_told_at_once() -> None:
    house = House()
    house.doubt = UnconfirmedStep(86_400.0, house.clock.monotonic())

    (one,) = await Watching(house).watch(LOOK)

    assert one.why is StandstillReason.CLOCK
    assert "86400 s ahead" in one.told


async def test_a_step_that_is_followed_makes_nothing_stand_still() -> None:
    """What was ready a moment ago looks a day late at once, and begins."""
    house = waiting(House())
    watching = Watching(house)
    await watching.watch(LOOK)
    house.clock.set(house.clock.now() + timedelta(days=1))

    assert await watching.watch(LOOK) == []
    house.ready_at = None
    assert await watching.watch(LOOK) == []


async def test_it_says_in_the_log_when_work_stops_and_when_it_goes_on() -> None:
    house = waiting(House(free=0))
    watching = Watching(house)
    with structlog.testing.capture_logs() as said:
        await watching.watch(60)
        house.ready_at = None
        await watching.watch(2 * LOOK)

    assert [(line["action"], line["reason"]) for line in said] == [
        ("standstill", "slots"),
        ("standstill_over", "slots"),
    ]


def test_reports_of_many_processes_become_one_for_each_reason() -> None:
    one = Standstill(why=StandstillReason.HOST, told="x", seconds=30, holders=[SlotHolder("a.test", "t", 3)])
    other = Standstill(
        why=StandstillReason.HOST,
        told="x",
        seconds=50,
        holders=[SlotHolder("a.test", "t", 4), SlotHolder("b.test", "t", 1)],
    )
    read = Standstill.read(other.as_dict(), "node-1")
    assert read is not None

    (made,) = worst([one, read])

    assert (made.seconds, made.node) == (50, "node-1")
    assert list(made.holders) == [SlotHolder("a.test", "t", 7), SlotHolder("b.test", "t", 1)]
    assert joined([]) == []
    assert Standstill.read({"reason": "of a newer version"}, "n") is None
    assert Standstill.read("nonsense", "n") is None
