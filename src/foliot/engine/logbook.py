"""Writes the lines of running attempts down, a few times a second, in chunks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from foliot.engine.executor import Executor
from foliot.ports import Feed, Store, run_topic


@dataclass(frozen=True, slots=True)
class Logged:
    """How many lines of how many runs one round wrote."""

    lines: int
    runs: int
    rest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Logbook:
    """Lines of an attempt that ends sooner travel with its ending instead."""

    store: Store
    feed: Feed
    executor: Executor
    period: float = 0.5
    name: str = "logbook"
    topics: Sequence[str] = ()

    async def run_once(self) -> Logged:
        waiting = [flight for flight in self.executor.flights.values() if flight.lines and flight.performing]
        if not waiting:
            return Logged(0, 0, self.period)
        taken = [(flight, flight.take_lines()) for flight in waiting]
        written = asyncio.get_running_loop().create_future()
        for flight in waiting:
            flight.writing = written
        try:
            async with self.store.begin() as tx:
                await tx.runs.append([(flight.claimed.fence, lines) for flight, lines in taken])
        except BaseException:
            for flight, lines in taken:
                flight.lines[:0] = lines
            raise
        finally:
            written.set_result(None)
            for flight in waiting:
                flight.writing = None
        self.feed.wake(*(run_topic(flight.run_id) for flight, _ in taken))
        return Logged(sum(len(lines) for _, lines in taken), len(taken), self.period)
