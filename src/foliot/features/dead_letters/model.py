"""Values of dead letters: groups by failure, and totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from annotated_types import MaxLen, MinLen

from foliot.core.declaration import Described, Parsed, declared
from foliot.core.errors import Invalid
from foliot.engine.model.views import RunView
from foliot.features.mutes.model import MuteRecord
from foliot.features.runs.usecases.replay import AS_OF, PATCH, MergePatch, ReplayVersion

MOST_REPLAYS = 10
"""A dead letter is replayed this many times; then its target needs a fix."""


MAX_REPLAY = 500
"""Dead letters of one request."""

DISCARDED = "discarded"
"""The value of `resolved_by` of a dead letter that a user discarded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureGroupView:
    """Dead letters with the same failure fingerprint."""

    fingerprint: str
    count: int
    first_at: datetime
    last_at: datetime
    sample: RunView
    """The newest of them."""
    schedules: Sequence[tuple[str, str]]
    """(id, name) of their schedules; the ten with the most."""
    arrivals: Sequence[int]
    """Arrivals in each of the last hours, oldest first."""
    counted_from: datetime
    """The start of the first of those hours."""
    mute: MuteRecord | None = None
    """The mute of the group, if it has one."""


@dataclass(frozen=True, slots=True)
class DeadLetterTotals:
    """Totals of all dead letters that a filter matches."""

    groups: int
    letters: int
    oldest_at: datetime | None
    ages: Sequence[int]
    """How many are not older than each of `AGES`, and older than the one before; last, those that are older still."""


AGES = (timedelta(hours=1), timedelta(hours=6), timedelta(days=1), timedelta(days=3), timedelta(days=7))


@dataclass(frozen=True, slots=True)
class FailureGroups:
    """A page of groups of dead letters, with the totals."""

    groups: Sequence[FailureGroupView]
    pile: DeadLetterTotals
    hosts: Mapping[str, str]
    """By the id of a group's sample."""


@declared
class DeadLetterFilter:
    """Which dead letters."""

    kind: Annotated[str | None, MaxLen(200)] = None
    schedule_id: Annotated[str | None, MaxLen(200)] = None
    code: Annotated[str | None, MaxLen(200)] = None


def _ids(path: str, ids: object) -> list[str]:
    if not isinstance(ids, list) or not all(isinstance(one, str) and "\x00" not in one for one in ids):
        raise Invalid(path, "must be a list of run ids", got=type(ids).__name__)
    if not 1 <= len(ids) <= MAX_REPLAY:
        raise Invalid(path, f"must be 1 to {MAX_REPLAY} ids", got=f"{len(ids)} ids")
    return list(dict.fromkeys(ids))


@declared
class ReplayRequest:
    """Ids, or a filter; `{}` as filter means all."""

    ids: Annotated[Annotated[list[str], MinLen(1), MaxLen(MAX_REPLAY)] | None, Parsed(_ids)] = None
    filter: DeadLetterFilter | None = None
    as_of: Annotated[ReplayVersion, Described({"description": AS_OF})] = ReplayVersion.NOW
    patch: Annotated[MergePatch, Described({"description": PATCH})] = None
