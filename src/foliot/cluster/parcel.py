"""A broker message: run ids of one queue. A hint; the row decides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

PARCEL = 50
"""Maximum number of run ids per message."""


@dataclass(frozen=True, slots=True)
class BrokerMessage:
    """Run ids of one queue, at the priority of the most urgent."""

    queue: str
    priority: int
    """1 is the most urgent, 10 the least."""
    run_ids: Sequence[str]
    offered_at: datetime
    """The publication mark on their rows: returning them clears this mark, and no later one."""


Receive = Callable[[BrokerMessage], Awaitable[None]]
