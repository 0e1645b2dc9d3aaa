"""A process that starts effects elsewhere, until it is killed in the middle of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.loop import EnginePace
from foliot.engine.model.run import Parked
from foliot.engine.ports import ActionContext
from foliot.testing import GivenActions
from foliot.wakeups.feed import MemoryFeed
from tests.watched import Elsewhere

PACE = EnginePace(scale=0.1, tick=0.1, retention=None)
"""A lease holds for three seconds."""


@dataclass
class Stuck(Elsewhere):
    """Writes down what it starts, and never comes to say so: before the start, or after it."""

    track: Path = Path()
    after: bool = False

    async def perform(self, ctx: ActionContext) -> Parked:
        await ctx.note({"job": ctx.run_id, "looked": 0})
        if self.after:
            self._write(f"started {ctx.run_id}")
        self._write(f"stuck {ctx.run_id}")
        await asyncio.Event().wait()
        raise AssertionError

    def _write(self, line: str) -> None:
        with self.track.open("a") as file:
            file.write(f"{line}\n")


def engine(store: Database, action: Elsewhere, node: str, slots: int = 10) -> Engine:
    """Everything that one process runs."""
    return Engine(
        node_id=node,
        clock=StoreClock(),
        store=store,
        feed=MemoryFeed(),
        actions=GivenActions.of(action),
        pace=PACE,
        workers_of=lambda executor: EmbeddedWorkers(executor, slots),
    )


def start_and_get_stuck(url: str, track: Path, *, after: bool) -> None:
    """The process: only being killed ends it."""

    async def live() -> None:
        store = Database(url)
        await engine(store, Stuck(track=track, after=after, every=timedelta(seconds=1)), "doomed").start()
        await asyncio.Event().wait()

    asyncio.run(live())
