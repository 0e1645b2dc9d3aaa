"""Results of filter queries: counts, buckets over time, points of a scatter plot, completions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from foliot.engine.model.run import RunState


@dataclass(frozen=True, slots=True)
class BucketWindow:
    """A time range [start, end) in buckets of one width; the last may be shorter."""

    start: datetime
    end: datetime
    width: timedelta

    @property
    def buckets(self) -> int:
        return -((self.start - self.end) // self.width)


@dataclass(frozen=True, slots=True)
class StateCount:
    """How many runs of one bucket are in one state."""

    bucket: int
    state: RunState
    count: int


@dataclass(frozen=True, slots=True)
class TimingCount:
    """How many runs of one bucket have about the same duration and lateness."""

    bucket: int
    late: bool
    took_ms: int | None
    """Rounded to two digits; None for a run that has not ended, or never began."""
    count: int


@dataclass(frozen=True, slots=True)
class RunColumns:
    """Runs that have begun, column by column; in no order."""

    ids: Sequence[str] = ()
    at_ms: Sequence[int] = ()
    """Milliseconds from the start of the window to its creation."""
    took_ms: Sequence[int] = ()
    """For a running one, so far."""
    states: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion of what was typed."""

    field: str
    value: str
    label: str
    hint: str = ""
