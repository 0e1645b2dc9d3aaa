"""Queues: pauses, and the runs of a queue that are published to the broker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class QueuePause:
    """The settings of one queue. A queue without any is not paused."""

    name: str
    paused_at: datetime | None = None
    paused_by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OfferedRun:
    """A run that was marked as published. Its priority includes ageing."""

    run_id: str
    queue: str
    priority: int


@dataclass(frozen=True, slots=True)
class OfferedBatch:
    """The marked runs, the most urgent first, and whether a window was full."""

    runs: Sequence[OfferedRun] = ()
    full: bool = False


@dataclass(frozen=True, slots=True)
class PublishWindow:
    """How many unclaimed runs of a queue the broker may hold, and whether old ones are published again."""

    most: int
    again: bool = True
