"""Requests and answers of endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from foliot.features.endpoints.usecases import LONGEST_URL
from foliot.servers.http.schema import declared

BreakerIsOpen = Literal["open", "half_open"]


@declared
class CallingSchedule:
    """A schedule that called it."""

    id: str
    name: str


@declared
class EndpointSecret:
    """A secret that goes into its calls; never a value."""

    name: str
    since: datetime | None
    """Since when it has its present value; null for a setting, and where there is no such secret."""
    version: int | None


@declared
class CircuitBreaker:
    """A target that is left alone because it did not answer, but for a trial now and then."""

    target: str
    """Host and port of webhooks, `grpc:` and a service, or `scrapyd`."""
    state: BreakerIsOpen
    """`half_open` while a trial is under way."""
    since: datetime
    failures: int
    """Attempts in a row that went unanswered."""
    why: str
    """What the last of them said."""
    next_trial_at: datetime | None
    """Null while a trial is under way."""


@declared
class EndpointHealth:
    """A target of webhooks, by its address without query."""

    url: str
    calls: int
    """Attempts; those that were cancelled or lost on our side are not counted."""
    succeeded: int
    failed: int
    success_ratio: float
    p50_ms: float
    p95_ms: float
    codes: Mapping[str, int]
    """How calls ended, the most frequent first: `2xx`, or the code of the error."""
    failing_since: datetime | None
    """Since when every call has failed; null when the last one succeeded."""
    failing_from: datetime | None
    """When the first of the runs was made that have failed since: from there on they are to be recovered."""
    last_at: datetime
    last_run_id: str
    last_error: str | None
    schedules: list[CallingSchedule]
    """The latest five that called it."""
    schedule_count: int
    breaker: CircuitBreaker | None
    """Of its host and port, while it is open: runs wait."""
    secrets: list[EndpointSecret] | None
    """What signs its calls first, then what their headers hold, by the settings of those schedules now; empty: none.
    Null where the caller may not know."""


@declared
class EndpointPage:
    """Whoever was called within a day; those that fail now first."""

    items: list[EndpointHealth]
    next_cursor: str | None
    total: int
    since: datetime
    whole: bool
    """False when there were more runs than the newest 2,000, which alone were looked at."""
    breakers: list[CircuitBreaker]
    """All that are open, the longest open first; also of targets that are no webhooks."""


@declared
class EndpointTestRequest:
    """Which target to try out."""

    url: Annotated[str, Field(max_length=LONGEST_URL, description="Its address; a query is left out of account.")]
    schedule_id: Annotated[str | None, Field(description="Whose settings to use, of those that call it.")] = None
