"""What may need a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ScheduleMoment:
    """A schedule, and the moment that matters about it."""

    schedule_id: str
    name: str
    at: datetime | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class MissedInstants:
    """Instants of one schedule that made no run because nobody was there in time."""

    schedule_id: str
    name: str
    count: int
    first: datetime
    last: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class UnansweredLetters:
    """Dead letters without an answer; `count` stops at what was looked at."""

    count: int
    oldest: datetime
    newest_id: str
    alike: int
    """How many of them failed as most did."""
    message: str
    """How those failed."""
