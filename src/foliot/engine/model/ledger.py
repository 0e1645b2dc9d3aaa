"""The ledger: why instants have no run.

For every schedule and every active span: runs + ledger counts = instants the trigger names.
Ledger entries are ranges; equal neighbours merge, so an hour of skipped seconds is one line.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class LedgerKind(StrEnum):
    """Why an instant has no run."""

    SKIPPED = "skipped"
    MISSED = "missed"
    PRUNED = "pruned"


class LedgerReason(StrEnum):
    """The rule that decided."""

    OVERLAP = "overlap"
    BUFFER_FULL = "buffer_full"
    SUPERSEDED = "superseded"
    REQUESTED = "requested"
    CATCHUP_NONE = "catchup_none"
    CATCHUP_LATEST = "catchup_latest"
    CATCHUP_ALL = "catchup_all"
    RETENTION = "retention"
    AHEAD = "ahead"
    """A clock that was ahead fired it early: its run exists already."""
    CHANGED = "changed"
    """A run of a parent ended while the schedule that follows it was being edited, paused or deleted."""
    EXHAUSTED = "exhausted"
    """A run of a parent ended together with the one whose follower was the last that `max_runs` allows."""
    CALENDAR = "calendar"
    """`exclude` or `only` of the schedule excludes it."""
    NO_PING = "no_ping"
    """The job that a monitor watches sent no ping in time."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """`count` instants from `first` to `last`, both included, that made no run."""

    first: datetime
    last: datetime
    count: int
    fate: LedgerKind
    reason: LedgerReason
    by: str | None = None
    """The user, where a person decided."""
    note: str = ""
    """What a calendar calls the day, or the times that are excluded."""

    @property
    def told(self) -> str:
        """The reason as people read it beside an instant."""
        if self.reason is LedgerReason.CALENDAR and self.note:
            return self.note
        return skipped_by(self.by) if self.reason is LedgerReason.REQUESTED else self.reason.value


def skipped_by(user_id: str | None) -> str:
    """The reason of an instant with a skip request."""
    return f"skipped by {user_id}" if user_id else "skipped on request"


@dataclass(frozen=True, slots=True)
class VersionSpan:
    """A stretch of time under one version: instants after `start`, up to and including `end`; open without an `end`."""

    start: datetime
    end: datetime | None
    version: int
    active: bool
    reason: str = ""
