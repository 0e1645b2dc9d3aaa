"""A run in flight: one attempt, performed in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from foliot.domain.event import LINE_LIMIT, EventType, Line
from foliot.domain.redact import Redactor
from foliot.domain.run import Cancelled, Failed, HandedBack, Lost, Outcome, Problem, Succeeded
from foliot.ports import Claimed, Clock

BUFFERED_LINES = 10_000
"""Lines that may wait for the logbook; what comes faster than it can write is counted, not kept."""


class Stop(StrEnum):
    """Why an attempt is being stopped from outside."""

    CANCEL = "cancel"
    LEASE = "lease"
    SHUTDOWN = "shutdown"


@dataclass(slots=True, eq=False)
class Flight:
    """What the engine knows about an attempt while it runs."""

    claimed: Claimed
    clock: Clock
    leased_at: float
    hard_at: float
    limit: float
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None
    stop: Stop | None = None
    performing: bool = True
    writing: asyncio.Future[None] | None = None
    """Set while the logbook writes lines of this attempt: its ending must come after them."""
    lines: list[Line] = field(default_factory=list)
    dropped: int = 0
    hidden: tuple[str, ...] = field(default=(), repr=False)
    redactor: Redactor = field(default_factory=Redactor, repr=False)

    @property
    def run_id(self) -> str:
        return self.claimed.fence.run_id

    def halt(self, reason: Stop) -> None:
        """Stop the effect, for this reason; the first reason counts, except that a lost lease beats all."""
        if self.stop is None or reason is Stop.LEASE:
            self.stop = reason
        if self.performing and self.task is not None:
            self.task.cancel()

    def log(self, message: str, *, level: str = "info") -> None:
        """Add a line for people who read the run."""
        message = self.redactor.text(message)
        text = message if len(message) <= LINE_LIMIT else message[:LINE_LIMIT] + "… (cut)"
        self._add(Line(self.clock.now(), EventType.LOG, level, text))

    def progress(self, **data: Any) -> None:
        """Add a step of progress."""
        self._add(Line(self.clock.now(), EventType.PROGRESS, data=self.redactor.document(data)))

    def hide(self, *values: str) -> None:
        """Keep these values out of everything that is kept of this attempt."""
        self.hidden += values
        self.redactor = Redactor.of(self.hidden)

    def redacted(self, outcome: Outcome) -> Outcome:
        """The outcome without the hidden values."""
        if not self.hidden:
            return outcome
        document = self.redactor.document
        match outcome:
            case Succeeded():
                return replace(outcome, result=document(outcome.result), response=document(outcome.response))
            case Failed(problem):
                clean = Problem(problem.code, self.redactor.text(problem.message))
                return replace(outcome, problem=clean, response=document(outcome.response))
            case Cancelled() | HandedBack() | Lost():
                return outcome

    def _add(self, line: Line) -> None:
        if len(self.lines) >= BUFFERED_LINES:
            self.dropped += 1
        else:
            self.lines.append(line)

    def take_lines(self) -> Sequence[Line]:
        """The lines that wait to be written; a flood is bounded and says so."""
        lines, self.lines = self.lines, []
        if self.dropped:
            said = f"{self.dropped} more lines came too fast and were not kept"
            lines.append(Line(self.clock.now(), EventType.LOG, "warning", said))
            self.dropped = 0
        return lines
