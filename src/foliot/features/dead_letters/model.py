"""Rules of dead letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from foliot.engine.model.views import RunView
from foliot.features.mutes.model import MuteRecord

MOST_REPLAYS = 10
"""So often a letter is sent again; then something else is to be mended."""


DISCARDED = "discarded"
"""What stands as the answer of a letter that somebody threw away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureGroupView:
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
    mute: MuteRecord | None = None
    """Who wants to hear nothing of it, and until when."""


@dataclass(frozen=True, slots=True)
class DeadLetterTotals:
    """All the letters that a filter matches."""

    groups: int
    letters: int
    oldest_at: datetime | None
    ages: Sequence[int]
    """How many are not older than each of `AGES`, and older than the one before; last, those that are older still."""


AGES = (timedelta(hours=1), timedelta(hours=6), timedelta(days=1), timedelta(days=3), timedelta(days=7))


@dataclass(frozen=True, slots=True)
class FailureGroups:
    """A page of groups of dead letters, and what there is in all."""

    groups: Sequence[FailureGroupView]
    pile: DeadLetterTotals
    hosts: Mapping[str, str]
    """By the id of a group's sample."""
