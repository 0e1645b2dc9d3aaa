"""Aggregates of runs over time, for the timeline, the calendar and change detection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from foliot.engine.model.ledger import LedgerEntry
from foliot.engine.model.run import RunState
from foliot.features.insights.model.timeline import TimelineGrouping


@dataclass(frozen=True, slots=True)
class HistoryWindow:
    """A time range [start, end) in buckets of so many seconds, and what runs are grouped by."""

    start: datetime
    end: datetime
    width: int
    by: TimelineGrouping = TimelineGrouping.SCHEDULE


@dataclass(frozen=True, slots=True)
class HistoryBar:
    """The runs of one group that were created in the same bucket and are in the same state."""

    key: str | None
    """A schedule's id, a queue, or tags, each between line feeds; None for runs without a schedule."""
    state: RunState
    count: int
    at: datetime
    """When the first of them began."""
    until: datetime | None
    """When the last of them ended; None while one has not."""
    run_id: str
    """The first of them."""


@dataclass(frozen=True, slots=True)
class InstantRanges:
    """Ranges of instants that made no run, with their schedules, newest first."""

    entries: Sequence[tuple[str, LedgerEntry]]
    more: bool
    """Whether there are more than one answer can hold."""


@dataclass(frozen=True, slots=True)
class RunsRevision:
    """A revision of the tenant's runs: it changes whenever one of them does."""

    by_state: Mapping[str, int]
    """Counts of open runs."""
    newest_id: str | None
    claims: int
    """The sum of the open runs' claims."""
    settled: tuple[object, ...] = ()
    """Changes to dead letters that ended long ago: discarded, muted, unmuted, and expired mutes."""
