"""What the calls that search, count and draw answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import with_config
from typing_extensions import TypedDict

from foliot.engine.model.run import RunState
from foliot.features.filters.model.query import MOST_CHARACTERS
from foliot.servers.http.schema import CLOSED, declared

Filter = Annotated[
    str | None,
    Query(
        max_length=MOST_CHARACTERS,
        description='A filter such as `state:failed schedule:nightly since:24h -kind:crawl "refused"`; '
        "all conditions must hold, `,` separates alternatives, `-` says not. See the how-to about filters.",
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
    """The runs that were made in one stretch of time, which begins at `at`."""

    at: datetime
    counts: dict[RunState, int]
    total: int
    p50_ms: int | None
    """Half of the ended runs took no longer; to two digits."""
    p95_ms: int | None
    late: int
    """Those that began more than a minute after they were ready."""


_RunSeriesKey = TypedDict("_RunSeriesKey", {"from": datetime})


@with_config(CLOSED)
class RunSeries(_RunSeriesKey):
    """Runs over time, by when they were made; empty stretches are there too."""

    to: datetime
    bucket_seconds: int
    timed: float
    """The share of the runs that durations and lateness were read from: 1 is all of them. Counts are always exact."""
    items: list[RunSeriesBucket]


_RunPointsKey = TypedDict("_RunPointsKey", {"from": datetime})


@with_config(CLOSED)
class RunPoints(_RunPointsKey):
    """Single runs over time, a list for each thing known of them. Those that have not begun are only counted."""

    to: datetime
    counts: dict[RunState, int]
    """All that match and have begun."""
    shown: dict[RunState, int]
    """Those of them that are here. Of states with very many it is a sample by chance, the same one every time."""
    not_begun: int
    states: list[RunState]
    """What the numbers in `state` stand for."""
    id: Sequence[str]
    at_ms: Sequence[int]
    """When it was made, in milliseconds after `from`."""
    took_ms: Sequence[int]
    """Of a run that goes on, so far."""
    state: list[int]
