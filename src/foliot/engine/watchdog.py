"""The watchdog: finds work that is due and does not start, by the monotonic clock and from memory, with the cause."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from foliot.core.errors import Cause, StoreRefusal
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.clock_sync import UnconfirmedStep
from foliot.engine.executor import Executor
from foliot.engine.model.stall import PATIENCE, SlotHolder, Standstill, StandstillReason, joined
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.due_schedules import SqlFiring

LOOK = 2.0
"""Seconds between two rounds."""

LATE = 0.8
"""This share of its patience something is late already when the watchdog begins to count, and it counts the rest by the
monotonic clock: what a step of the clock makes late in a moment begins in that time."""

PASSING, PASSED = frozenset({Cause.AWAY, Cause.BUSY}), 3.0
"""A lost connection or a slow statement is not a stall: these refusals must persist for so many seconds."""

OTHER = "runs without a target"
"""Label of slots whose action names no target."""

log = structlog.get_logger("foliot.engine")


@dataclass(frozen=True, slots=True)
class WatchdogRound:
    """When to check again."""

    rest: float


@dataclass(slots=True, kw_only=True)
class Lookout:
    """Reads from the database what is due, so that the watchdog still knows it when the database no longer answers."""

    clock: Clock
    store: Database
    queues: Collection[str] | None = None
    patience: float = PATIENCE
    period: float = LOOK
    name: str = "lookout"
    topics: Sequence[str] = ()
    next_due: datetime | None = None
    """When the first schedule is due, as far as is known."""
    waiting_since: float | None = None
    """Since when, by the monotonic clock, every round has found a late run that could be claimed."""

    async def run_once(self) -> WatchdogRound:
        late = self.clock.now() - timedelta(seconds=self.patience * LATE)
        async with self.store.glance() as tx:
            self.next_due = await SqlFiring(tx).next_due()
            waits = bool(await SqlClaims(tx).ready(late, self.queues, 1))
        if not waits:
            self.waiting_since = None
        elif self.waiting_since is None:
            self.waiting_since = self.clock.monotonic()
        return WatchdogRound(self.period)


def holders(executor: Executor) -> list[SlotHolder]:
    """The targets that hold the slots of this process, per tenant; an attempt that waits without a slot holds none."""
    return joined([SlotHolder(held.target or OTHER, held.tenant, 1) for held in executor.slots.held.values()])


@dataclass(slots=True, kw_only=True)
class Watchdog:
    """Judges from memory alone and calls nothing, so that no outage can silence it."""

    clock: Clock
    refusal: Callable[[], StoreRefusal | None] = lambda: None
    """What the database refuses this process."""
    doubt: Callable[[], UnconfirmedStep | None] = lambda: None
    """An unconfirmed step of the clock."""
    lookout: Lookout | None = None
    fires: bool = False
    """Whether this process fires schedules."""
    failed: Callable[[], str | None] = lambda: None
    """Why firing fails, if it does."""
    free: Callable[[], int] | None = None
    """How many slots are free; None where nothing is executed."""
    held: Callable[[], Sequence[SlotHolder]] = list
    slots: int = 0
    broker: Callable[[], str | None] = lambda: None
    """Why the broker accepts nothing."""
    takers: Callable[[], tuple[int, int]] | None = None
    """How many workers consume what this process publishes, and how many slots they have free."""
    patience: float = PATIENCE
    period: float = LOOK
    name: str = "watchdog"
    topics: Sequence[str] = ()
    _due_since: float | None = None
    _full: bool = False
    _told: set[StandstillReason] = field(default_factory=set)

    async def run_once(self) -> WatchdogRound:
        """Check each cause, and log stalls that began or ended."""
        self._look()
        found = {one.why: one for one in self.standstills()}
        for why, one in found.items():
            if why not in self._told:
                log.critical("the watchdog found a problem", action="standstill", reason=why.value, said=one.whole())
        for why in self._told - found.keys():
            log.info("the watchdog found the problem gone", action="standstill_over", reason=why.value)
        self._told = set(found)
        return WatchdogRound(self.period)

    def standstills(self) -> list[Standstill]:
        """The current stalls; empty when nothing is due, or it starts."""
        now = self.clock.monotonic()
        stalls = [*self._store(now), *self._clock(now)]
        if not stalls and (reason := self._waiting(self._waits(now))) is not None:
            stalls.append(reason)
        if not stalls and (unfired := self._unfired(now)):
            detail = self.failed() or "a round does not finish"
            message = "schedules are due but do not fire"
            stalls.append(Standstill(why=StandstillReason.SCHEDULER, told=message, seconds=unfired, detail=detail))
        return stalls

    def _look(self) -> None:
        now = self.clock.monotonic()
        due = self.lookout.next_due if self.lookout is not None and self.fires else None
        if due is None or due > self.clock.now() - timedelta(seconds=self.patience * LATE):
            self._due_since = None
        elif self._due_since is None:
            self._due_since = now
        self._full = self.free is not None and self.free() <= 0

    def _store(self, now: float) -> list[Standstill]:
        refused = self.refusal()
        if refused is None or (refused.cause in PASSING and refused.last - refused.since < PASSED):
            return []
        message = f"{refused.cause.told}; nothing fires and no run starts until it does"
        return [Standstill(why=StandstillReason.STORE, told=message, seconds=now - refused.since, detail=refused.error)]

    def _clock(self, now: float) -> list[Standstill]:
        doubt = self.doubt()
        if doubt is None:
            return []
        way = "ahead" if doubt.seconds > 0 else "back"
        jump = f"the clock has jumped {abs(doubt.seconds):.0f} s {way}"
        message = f"{jump}: the previous time is kept until the jump is confirmed"
        return [Standstill(why=StandstillReason.CLOCK, told=message, seconds=now - doubt.since)]

    def _unfired(self, now: float) -> float:
        """For how long an instant has been due, when that is too long."""
        return self._long(now, self._due_since)

    def _waits(self, now: float) -> float:
        """The same for runs that could be claimed."""
        return self._long(now, None if self.lookout is None else self.lookout.waiting_since)

    def _long(self, now: float, since: float | None) -> float:
        """How late it is since then, when it is late for long enough."""
        if since is None or now - since < self.patience * (1 - LATE):
            return 0.0
        return now - since + self.patience * LATE

    def _waiting(self, waits: float) -> Standstill | None:
        """Why runs that could be claimed are not."""
        if not waits:
            return None
        if away := self.broker():
            message = "the broker does not accept runs: they wait until it does"
            return Standstill(why=StandstillReason.BROKER, told=message, seconds=waits, detail=away)
        if self.takers is not None:
            return self._untaken(waits, *self.takers())
        if self._full:
            return self._busy(waits)
        detail = self.failed() or ""
        return Standstill(
            why=StandstillReason.UNKNOWN, told="runs are waiting although slots are free", seconds=waits, detail=detail
        )

    def _untaken(self, waits: float, workers: int, free: int) -> Standstill | None:
        if not workers:
            return Standstill(
                why=StandstillReason.NO_WORKER,
                told="runs are waiting, and no worker is running to take them",
                seconds=waits,
            )
        if not free:
            return Standstill(
                why=StandstillReason.SLOTS, told="runs are waiting, and no worker has a free slot", seconds=waits
            )
        # They live and report, so their way to the database is good: what they miss is what the broker should bring.
        message = "runs are waiting although workers have free slots: the broker delivers nothing"
        return Standstill(why=StandstillReason.BROKER, told=message, seconds=waits)

    def _busy(self, waits: float) -> Standstill:
        found = list(self.held())
        most = max((one.slots for one in found), default=0)
        if self.slots and most * 2 >= self.slots:
            told = "most slots are held by runs to one host, and other runs are waiting"
            return Standstill(why=StandstillReason.HOST, told=told, seconds=waits, holders=found)
        told = "all slots are busy, and runs are waiting"
        return Standstill(why=StandstillReason.SLOTS, told=told, seconds=waits, holders=found)
