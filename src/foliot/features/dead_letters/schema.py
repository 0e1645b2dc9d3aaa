"""Requests and answers about dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from foliot.core.declaration import declared
from foliot.engine.model.views import DeadLetterGroupView
from foliot.features.dead_letters.usecases import Replayed
from foliot.features.mutes.schema import MutedGroup
from foliot.features.runs.schema import Run


@declared
class DeadLettersByError:
    """Dead letters with the same error."""

    code: str
    message: str
    kind: str
    count: int
    first_at: datetime
    last_at: datetime
    ids: Sequence[str]

    @classmethod
    def of(cls, one: DeadLetterGroupView) -> DeadLettersByError:
        return cls(
            code=one.code,
            message=one.message,
            kind=one.kind,
            count=one.count,
            first_at=one.first_at,
            last_at=one.last_at,
            ids=one.ids,
        )


@declared
class DeadLettersByErrorPage:
    """A page of groups."""

    items: list[DeadLettersByError]
    next_cursor: str | None


@declared
class ReplayResult:
    """The new runs; `more` says that the filter matches dead letters beyond the limit of one request."""

    items: list[Run]
    more: bool

    @classmethod
    def of(cls, one: Replayed) -> ReplayResult:
        return cls(items=[Run.of(each) for each in one.runs], more=one.more)


@declared
class ScheduleName:
    """A schedule and its name."""

    id: str
    name: str


@declared
class HourlyCount:
    """Arrivals in the hour that begins at `at`."""

    at: datetime
    count: int


@declared
class DeadLetterAge:
    """Dead letters that are older than those of the bar before, and not older than this."""

    up_to_hours: int | None
    """None: older than all the others."""
    count: int


@declared
class FailureGroup:
    """Unresolved dead letters with the same failure fingerprint."""

    fingerprint: str
    kind: str
    code: str
    message: str
    host: str | None
    """The host they could not reach, or that answered badly."""
    count: int
    first_at: datetime
    last_at: datetime
    schedules: list[ScheduleName]
    """Their schedules: the ten with the most."""
    sample_id: str
    sample: Run
    """The newest of them."""
    arrivals: list[HourlyCount]
    """By the hour, for the last 24."""
    mute: MutedGroup | None
    """The mute of the group, if it has one."""


@declared
class FailureGroupPage:
    """A page of groups, those with the newest dead letter first; `total` counts all of them."""

    items: list[FailureGroup]
    total: int
    letters: int
    """How many dead letters there are in all groups."""
    oldest_at: datetime | None
    ages: list[DeadLetterAge]
    """How old all of them are, the youngest first."""
    next_cursor: str | None
