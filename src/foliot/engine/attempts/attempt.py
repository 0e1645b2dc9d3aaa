"""A running attempt in this process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum

from foliot.engine.attempts.attempt_log import AttemptLog
from foliot.engine.ports import AttemptTarget

SOFT = 0.9
"""The fraction of its time limit after which an attempt is asked to stop; at the whole of it, it is abandoned."""
_TURN = 0.001
"""Seconds; a call so far ahead comes after all that is ready now."""


class StopReason(StrEnum):
    """Why an attempt is being stopped from outside."""

    CANCEL = "cancel"
    LEASE = "lease"
    SHUTDOWN = "shutdown"
    TIMEOUT = "timeout"
    UNSTARTED = "unstarted"
    """It was claimed ahead of a slot, and did not get one in time."""


@dataclass(slots=True, eq=False, kw_only=True)
class RunningAttempt(AttemptLog):
    """The state of an attempt while it runs."""

    claimed_at: float
    """By the loop's clock."""
    leased_at: float
    limit: float
    hard_at: float = float("inf")
    """When its time limit is over; it counts from the start."""
    target: AttemptTarget | None = None
    task: asyncio.Task[None] | None = None
    stop: StopReason | None = None
    waiting: bool = False
    """Claimed ahead: it has no slot yet, and nothing of it has started."""
    performing: bool = True
    landing: bool = False
    """It has ended with more lines than an ending should carry: the log writer goes on writing them."""
    writing: asyncio.Future[None] | None = None
    """Set while the log writer writes lines of this attempt: its ending must come after them."""

    def expire(self) -> None:
        """Its time is over. Where the loop was late, a shorter deadline of its action ends it first: it says more."""
        asyncio.get_running_loop().call_later(_TURN, self._expired)

    def _expired(self) -> None:
        if self.performing:
            self.halt(StopReason.TIMEOUT)

    def halt(self, reason: StopReason) -> None:
        """Stop the effect, for this reason; the first reason counts, except that a lost lease beats all."""
        if self.stop is None or reason is StopReason.LEASE:
            self.stop = reason
        if self.performing and self.task is not None:
            self.task.cancel()
