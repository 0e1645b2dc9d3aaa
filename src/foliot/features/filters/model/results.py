"""What is asked of the store by those who look for things among very many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from foliot.engine.model.run import RunState
from foliot.engine.model.views import RunView
from foliot.features.mutes.model import Mute


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time [start, end), cut into buckets of one width; the last may be cut short."""

    start: datetime
    end: datetime
    width: timedelta

    @property
    def buckets(self) -> int:
        return -((self.start - self.end) // self.width)


@dataclass(frozen=True, slots=True)
class Cell:
    """Runs of one bucket that are in the same state."""

    bucket: int
    state: RunState
    count: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Runs of one bucket that were late alike and took about as long."""

    bucket: int
    late: bool
    took_ms: int | None
    """To two digits; None for a run that has not ended, or never began."""
    count: int


@dataclass(frozen=True, slots=True)
class Points:
    """Runs that have begun, a column for each thing known of them; in no order."""

    ids: Sequence[str] = ()
    at_ms: Sequence[int] = ()
    """Milliseconds from the beginning of the window to when it was made."""
    took_ms: Sequence[int] = ()
    """Of one that goes on, so far."""
    states: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterGroup:
    """Dead letters that failed alike."""

    fingerprint: str
    count: int
    first_at: datetime
    last_at: datetime
    sample: RunView
    """The newest of them."""
    schedules: Sequence[tuple[str, str]]
    """(id, name) of those they come from; the ten with the most."""
    arrivals: Sequence[int]
    """How many came in each of the last hours, oldest first."""
    counted_from: datetime
    """Where the first of those hours begins."""
    mute: Mute | None = None
    """Who wants to hear nothing of it, and until when."""


@dataclass(frozen=True, slots=True)
class Pile:
    """All the letters that a filter matches."""

    groups: int
    letters: int
    oldest_at: datetime | None
    ages: Sequence[int]
    """How many are not older than each of `AGES`, and older than the one before; last, those that are older still."""


AGES = (timedelta(hours=1), timedelta(hours=6), timedelta(days=1), timedelta(days=3), timedelta(days=7))


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One way to go on with what was typed."""

    field: str
    value: str
    label: str
    hint: str = ""
