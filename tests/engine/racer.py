"""What one process of a race does, until it is killed. Everything it learns goes into a file outside the database."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, count
from typing import Any, cast

from foliot.core.errors import Unavailable
from foliot.db.database import Database, Transaction
from foliot.engine.janitor import Janitor
from foliot.engine.model.run import Outcome, RunState, Succeeded
from foliot.engine.model.views import AttemptEnding, ClaimedRun
from foliot.engine.node_reporter import EngineCounters
from foliot.engine.ports import Action, ActionContext
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.ticker import Ticker
from foliot.wakeups.feed import MemoryFeed

KIND = "mark"
WIDEST = 0.006
"""How long a transaction dawdles at most before its commit: the window in which it is raced, killed and frozen."""

OVERSTAY = 0.02
"""This share of effects outlasts its lease."""


@dataclass(frozen=True, slots=True)
class FastClock:
    """The same fast time in every process, for all count from the same monotonic moment; some run ahead a little."""

    start: datetime
    began: float
    speed: float
    skew: float = 0.0

    def now(self) -> datetime:
        return self.start + timedelta(seconds=(time.monotonic() - self.began) * self.speed + self.skew)

    def monotonic(self) -> float:
        return time.monotonic()


class Mark:
    """An action that no one performs: the race is about rows."""

    kind = KIND
    timeout = timedelta(seconds=60)

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return dict(config)

    async def perform(self, ctx: ActionContext) -> Outcome:
        return Succeeded()


class Marks:
    """All the actions there are in a race."""

    def get(self, kind: str) -> Action | None:
        return Mark() if kind == KIND else None

    def kinds(self) -> Sequence[str]:
        return [KIND]


@dataclass(frozen=True, slots=True)
class Dawdling:
    """The store, whose transactions linger before they commit."""

    inner: Database

    @asynccontextmanager
    async def begin(self, tenant_id: str | None = None) -> AsyncIterator[Transaction]:
        async with self.inner.begin(tenant_id) as tx:
            yield tx
            await asyncio.sleep(random.random() * WIDEST)

    @asynccontextmanager
    async def read(self, tenant_id: str | None = None) -> AsyncIterator[Transaction]:
        async with self.inner.read(tenant_id) as tx:
            yield tx

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[Transaction]:
        async with self.inner.glance() as tx:
            yield tx


@dataclass(frozen=True, slots=True)
class Notes:
    """Lines appended whole, by many processes, to one file."""

    fd: int

    @classmethod
    def open(cls, path: str) -> Notes:
        return cls(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT))

    def write(self, *words: object) -> None:
        os.write(self.fd, (" ".join(str(word) for word in words) + "\n").encode())


# --- roles ------------------------------------------------------------------------------------------------------------


def tick(url: str, clock: FastClock, path: str) -> None:
    """Settle what is due, a few schedules at a time, so that the others find the same ones."""
    asyncio.run(_tick(url, clock, path))


async def _tick(url: str, clock: FastClock, path: str) -> None:
    store = Database(url, pool=2, bind_clock=True)
    ticker = Ticker(
        clock=clock,
        store=cast("Database", Dawdling(store)),
        feed=MemoryFeed(),
        meter=EngineCounters(),
        alarm=ReadyTimes(),
        batch=7,
        longest_rest=0.02,
    )
    notes = Notes.open(path)
    while True:
        try:
            ticked = await ticker.run_once()
        except Unavailable:
            await asyncio.sleep(0.02)
            continue
        except Exception as error:
            notes.write("error", type(error).__name__, *str(error).split()[:40])
            raise
        await asyncio.sleep(min(ticked.rest, 0.02))


def sweep(url: str, clock: FastClock, path: str) -> None:
    """Take back what the dead and the frozen held."""
    asyncio.run(_sweep(url, clock))


async def _sweep(url: str, clock: FastClock) -> None:
    store = Database(url, pool=2)
    janitor = Janitor(
        clock=clock,
        store=cast("Database", Dawdling(store)),
        feed=MemoryFeed(),
        alarm=ReadyTimes(),
        period=0.1,
        retention=None,
    )
    while True:
        with contextlib.suppress(Unavailable):
            await janitor.run_once()
        await asyncio.sleep(0.1)


def claim(url: str, clock: FastClock, path: str, lease: float, overstays: bool) -> None:
    """Claim what is ready, have an effect, and finish it, however late that may be."""
    asyncio.run(_claim(url, clock, Notes.open(path), lease, overstays))


async def _claim(url: str, clock: FastClock, notes: Notes, lease: float, overstays: bool) -> None:
    store = Dawdling(Database(url, pool=2))
    worker = f"racer-{os.getpid()}"
    # The third stays too long, as if frozen, and so do some of the others: their finish must come too late.
    stays = chain([False, False, overstays], (overstays and random.random() < OVERSTAY for _ in count()))
    while True:
        try:
            async with store.read() as tx:
                ready = await SqlClaims(tx).ready(clock.now(), None, 4)
            asked = time.monotonic()
            async with store.begin() as tx:
                claimed = (
                    await SqlClaims(tx).claim(ready, worker, timedelta(seconds=lease), clock.now()) if ready else []
                )
        except Unavailable:
            continue
        if not claimed:
            await asyncio.sleep(0.01)
        for one in claimed:
            stay = lease + 0.5 if next(stays) else random.random() * 0.03
            await _effect(store, one, clock, notes, (asked, lease, stay))


async def _effect(
    store: Dawdling, claimed: ClaimedRun, clock: FastClock, notes: Notes, times: tuple[float, float, float]
) -> None:
    asked, lease, stay = times
    fence, until = claimed.fence, asked + lease
    if time.monotonic() - asked > lease * 0.9:
        # The effect may not begin any more: somebody else will have it.
        return
    notes.write("start", fence.run_id, fence.epoch, fence.token, until, time.monotonic())
    await asyncio.sleep(stay)
    notes.write("end", fence.run_id, fence.epoch, fence.token, until, time.monotonic())
    ending = AttemptEnding(fence=fence, state=RunState.SUCCESS, outcome="success", at=clock.now(), result=fence.token)
    for _ in range(100):
        try:
            async with store.begin() as tx:
                finished = await SqlClaims(tx).finish([ending], clock.now())
            break
        except Unavailable:
            await asyncio.sleep(0.02)
    else:
        return
    word = "accepted" if fence.run_id in finished.accepted else "refused"
    notes.write(word, fence.run_id, fence.epoch, fence.token, until, time.monotonic())
