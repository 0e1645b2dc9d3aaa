"""Runs offered to the broker, and how many of a queue may lie there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
