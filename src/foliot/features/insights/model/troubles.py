"""Rows of the problems that attention reports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ScheduleMoment:
    """A schedule, and the time that matters about it."""

    schedule_id: str
    name: str
    at: datetime | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class MissedInstants:
    """Instants of one schedule that made no run because no scheduler was running in time."""

    schedule_id: str
    name: str
    count: int
    first: datetime
    last: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class UnansweredLetters:
    """Unresolved dead letters; `count` stops at the limit of what was read."""

    count: int
    oldest: datetime
    newest_id: str
    alike: int
    """How many of them share the most frequent error."""
    message: str
    """That error's message."""
