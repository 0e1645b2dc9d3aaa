"""Response schemas of counts, charts and groups of dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import with_config
from typing_extensions import TypedDict

from foliot.core.declaration import declared
from foliot.engine.model.run import RunState
from foliot.features.filters.model import MOST_CHARACTERS
from foliot.servers.http.schema import CLOSED

Filter = Annotated[
    str | None,
    Query(
        max_length=MOST_CHARACTERS,
        description='A filter such as `state:failed schedule:nightly since:24h -kind:crawl "refused"`; '
        "all conditions must hold, `,` separates alternatives, and `-` negates. See the how-to about filters.",
    ),
]


@declared
class RunCount:
    """How many runs match; exact. States without any are left out."""

    count: int
    by_state: dict[RunState, int]


@declared
class ScheduleCount:
    """How many schedules match; exact."""

    count: int


@declared
class RunSeriesBucket:
    """The runs created in one bucket, which begins at `at`."""

    at: datetime
    counts: dict[RunState, int]
    total: int
    p50_ms: int | None
    """The median duration of ended runs, rounded to two digits."""
    p95_ms: int | None
    late: int
    """Runs that began more than a minute after they were ready."""


_RunSeriesKey = TypedDict("_RunSeriesKey", {"from": datetime})


@with_config(CLOSED)
class RunSeries(_RunSeriesKey):
    """Runs over time, by creation; empty buckets are included."""

    to: datetime
    bucket_seconds: int
    timed: float
    """The share of the runs that durations and lateness were read from: 1 is all of them. Counts are always exact."""
    items: list[RunSeriesBucket]


_RunPointsKey = TypedDict("_RunPointsKey", {"from": datetime})


@with_config(CLOSED)
class RunPoints(_RunPointsKey):
    """Single runs over time, column by column. Those that have not begun are only counted."""

    to: datetime
    counts: dict[RunState, int]
    """All that match and have begun."""
    shown: dict[RunState, int]
    """How many of them are returned. For frequent states it is a random sample, the same one every time."""
    not_begun: int
    states: list[RunState]
    """The states that the numbers in `state` are indexes of."""
    id: Sequence[str]
    at_ms: Sequence[int]
    """Its creation, in milliseconds after `from`."""
    took_ms: Sequence[int]
    """For a running one, so far."""
    state: list[int]
