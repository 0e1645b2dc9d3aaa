"""What is asked of the store by those who look for things among very many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from foliot.engine.model.run import RunState


@dataclass(frozen=True, slots=True)
class BucketWindow:
    """A stretch of time [start, end), cut into buckets of one width; the last may be cut short."""

    start: datetime
    end: datetime
    width: timedelta

    @property
    def buckets(self) -> int:
        return -((self.start - self.end) // self.width)


@dataclass(frozen=True, slots=True)
class StateCount:
    """Runs of one bucket that are in the same state."""

    bucket: int
    state: RunState
    count: int


@dataclass(frozen=True, slots=True)
class TimingCount:
    """Runs of one bucket that were late alike and took about as long."""

    bucket: int
    late: bool
    took_ms: int | None
    """To two digits; None for a run that has not ended, or never began."""
    count: int


@dataclass(frozen=True, slots=True)
class RunColumns:
    """Runs that have begun, a column for each thing known of them; in no order."""

    ids: Sequence[str] = ()
    at_ms: Sequence[int] = ()
    """Milliseconds from the beginning of the window to when it was made."""
    took_ms: Sequence[int] = ()
    """Of one that goes on, so far."""
    states: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """One way to go on with what was typed."""

    field: str
    value: str
    label: str
    hint: str = ""
