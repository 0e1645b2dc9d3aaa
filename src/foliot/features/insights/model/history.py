"""What the pictures of a dashboard are drawn from: outcomes, counts by time, what needs a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from foliot.engine.model.ledger import LedgerEntry
from foliot.engine.model.run import RunState
from foliot.features.insights.model.timeline import TimelineGrouping


@dataclass(frozen=True, slots=True)
class HistoryWindow:
    """A stretch of time [start, end), cut into buckets of so many seconds, and what is told apart in it."""

    start: datetime
    end: datetime
    width: int
    by: TimelineGrouping = TimelineGrouping.SCHEDULE


@dataclass(frozen=True, slots=True)
class HistoryBar:
    """Runs of one group that were made in the same bucket and are in the same state."""

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
    """Ranges of instants that made no run, with their schedules, the newest first."""

    entries: Sequence[tuple[str, LedgerEntry]]
    more: bool
    """There are more of them than one picture can hold."""


@dataclass(frozen=True, slots=True)
class RunsRevision:
    """Where the tenant's runs stand: whatever happens to one of them, this is another than before."""

    by_state: Mapping[str, int]
    """The open ones."""
    newest_id: str | None
    claims: int
    """How often the open ones were taken up."""
    settled: tuple[object, ...] = ()
    """What was said about letters that have ended long ago: discarded, muted, unmuted, and mutes that are over."""
