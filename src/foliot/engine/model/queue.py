"""What is said of queues, and what is under way in them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Queue:
    """What is said of one queue. A queue of which nothing is said runs."""

    name: str
    paused_at: datetime | None = None
    paused_by: str = ""
    reason: str = ""
