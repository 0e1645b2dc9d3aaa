"""Writes the log lines of running attempts in slices, with a budget per run and for all runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from foliot.core.errors import Unavailable
from foliot.db.database import Database
from foliot.engine.attempts.attempt import RunningAttempt
from foliot.engine.executor import Executor
from foliot.engine.loop import Spacing
from foliot.engine.model.run import EventLine
from foliot.engine.sql.runs import SqlRuns
from foliot.wakeups.feed import LINES_TOPIC, Feed, run_topic

SLICE = 500
"""Lines of one run per round."""
ROUND = 2000
"""Lines of all runs per round, shared by the runs that have many."""
LEAST = 20
"""Lines that each run may write per round, however many there are."""
GAP = 0.1
"""Minimum seconds between two rounds. A run writes at most `SLICE / GAP` lines a second, all runs `ROUND / GAP`."""

Taken = tuple[RunningAttempt, Sequence[EventLine]]

log = structlog.get_logger("foliot.engine")


@dataclass(frozen=True, slots=True)
class LinesWritten:
    """How many lines of how many runs one round wrote."""

    lines: int
    runs: int
    rest: float


@dataclass(slots=True, kw_only=True)
class LogWriter:
    """Lines of an attempt that ends sooner are written with its ending. One that logs more waits for its turn."""

    store: Database
    feed: Feed
    executor: Executor
    period: float = 0.5
    gap: float = GAP
    name: str = "logbook"
    topics: Sequence[str] = (LINES_TOPIC,)
    _spacing: Spacing = field(default_factory=Spacing)

    async def run_once(self) -> LinesWritten:
        early = self._spacing.early(self.gap)
        waiting = [one for one in self.executor.flights.values() if one.lines and (one.performing or one.landing)]
        if not waiting or early:
            return LinesWritten(0, 0, early if waiting else self.period)
        self._spacing.mark()
        share = min(SLICE, max(ROUND // len(waiting), LEAST))
        taken = [(flight, flight.take_lines(share)) for flight in waiting]
        written = asyncio.get_running_loop().create_future()
        for flight in waiting:
            flight.writing = written
        try:
            await self._write(taken)
        finally:
            written.set_result(None)
            for flight in waiting:
                flight.writing = None
        self.feed.wake(*(run_topic(flight.run_id) for flight, _ in taken))
        rest = self.gap if any(flight.lines for flight in waiting) else self.period
        return LinesWritten(sum(len(lines) for _, lines in taken), len(taken), rest)

    async def _write(self, taken: Sequence[Taken]) -> None:
        """All at once; when that is refused, each attempt's alone, so that one does not spoil the others'."""
        try:
            await self._append(taken)
        except BaseException as error:
            if not _refused(error):
                _put_back(taken)
                raise
            log.exception("lines could not be stored together: retrying run by run", action="lines_refused")
            await self._write_singly(taken)

    async def _write_singly(self, taken: Sequence[Taken]) -> None:
        for number, (flight, lines) in enumerate(taken):
            try:
                await self._append([(flight, lines)])
            except BaseException as error:
                if not _refused(error):
                    _put_back(taken[number:])
                    raise
                log.exception("lines could not be stored", action="lines_lost", run_id=flight.run_id, lines=len(lines))
                flight.log(f"{len(lines)} lines could not be stored and are lost", level="warning")

    async def _append(self, taken: Sequence[Taken]) -> None:
        async with self.store.begin() as tx:
            await SqlRuns(tx).append([(flight.claimed.fence, lines) for flight, lines in taken])


def _refused(error: BaseException) -> bool:
    """Whether the lines themselves are at fault; an unreachable database or a cancellation is not."""
    return isinstance(error, Exception) and not isinstance(error, Unavailable)


def _put_back(taken: Sequence[Taken]) -> None:
    for flight, lines in taken:
        flight.give_back(lines)
