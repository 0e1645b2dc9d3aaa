"""What an explanation is made of: facts in order of time, each with a code, a sentence and what proves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from foliot.core.time.zone import zone_info

MOST_IN_SUMMARY = 6
"""Sentences of a summary: the facts themselves are all in the answer."""


class FactCode(StrEnum):
    """What a fact says, for programs."""

    FIRED = "fired"
    REQUESTED = "requested"
    FOLLOWED = "followed"
    REPEATED = "repeated"
    CAUGHT_UP = "caught_up"
    JITTERED = "jittered"
    PLANNED = "planned"
    RUNNING = "running"
    RETRYING = "retrying"
    WORKER_LOST = "worker_lost"
    ENDED = "ended"
    SKIPPED_OVERLAP = "skipped_overlap"
    SUPERSEDED = "superseded"
    BUFFERED = "buffered"
    BUFFER_FULL = "buffer_full"
    MISSED_WINDOW = "missed_window"
    PRUNED = "pruned"
    PAUSED = "paused"
    SKIPPED_BY_PERSON = "skipped_by_person"
    EXCLUDED_BY_CALENDAR = "excluded_by_calendar"
    CLOCK_GAP = "clock_gap"
    CLOCK_FOLD = "clock_fold"
    CLOCK_AHEAD = "clock_ahead"
    OTHER_TIMEZONE = "other_timezone"
    EDITED = "edited"
    WAITING_CAP = "waiting_cap"
    WAITING_QUEUE_PAUSED = "waiting_queue_paused"
    WAITING_NO_WORKER = "waiting_no_worker"
    WAITING_HOST = "waiting_host"
    WAITING_PREDECESSOR = "waiting_predecessor"
    WAITING_TURN = "waiting_turn"
    PARENT_NOT_SUCCESSFUL = "parent_not_successful"
    NOT_DUE = "not_due"
    NOT_CREATED = "not_created"
    DAMAGED = "damaged"
    COMPLETED = "completed"
    DELETED = "deleted"
    UNACCOUNTED = "unaccounted"


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact. `proof` names the rows that show it: ids, a ledger range, a version, an audit entry."""

    at: datetime | None
    code: FactCode
    words: str
    proof: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The facts, oldest first, and one paragraph."""

    summary: str
    facts: Sequence[Fact]

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> Explanation:
        """Facts without a time stay where they are: behind the fact that they explain."""
        ordered = list(facts)
        return cls(" ".join(fact.words for fact in ordered[:MOST_IN_SUMMARY]), ordered)


def clock(at: datetime, zone: str) -> str:
    """A time as the schedule's zone shows it: `2026-03-29 02:30 Europe/Stockholm`."""
    local = at.astimezone(zone_info(zone))
    return f"{local:%Y-%m-%d %H:%M:%S}".removesuffix(":00") + f" {zone}"


def wall_time_in(at: datetime, zone: str, other: str) -> datetime:
    """The moment that has in `zone` the date and time of day that `at` has in `other`."""
    wall = at.astimezone(zone_info(other)).replace(tzinfo=zone_info(zone))
    return wall.astimezone(UTC)


def span_of_time(seconds: float) -> str:
    """A duration as people say it: `0.3 s`, `45 s`, `12 min`, `5 h`, `3 days`."""
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
