"""Queues: pauses, and counts of what waits and runs in them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class QueuePause:
    """The settings of one queue. A queue without any is not paused."""

    name: str
    paused_at: datetime | None = None
    paused_by: str = ""
    reason: str = ""
