"""Request and response schemas of webhook targets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from foliot.core.declaration import declared

BreakerIsOpen = Literal["open", "half_open"]


@declared
class CallingSchedule:
    """A schedule that called it."""

    id: str
    name: str


@declared
class EndpointSecret:
    """A secret that is sent in its calls, or signs them; never its value."""

    name: str
    since: datetime | None
    """Since when it has its present value; null for a setting, and where there is no such secret."""
    version: int | None


@declared
class CircuitBreaker:
    """An open circuit breaker: the target did not answer, and gets only a trial call now and then."""

    target: str
    """Host and port of webhooks, `grpc:` and a service, or `scrapyd`."""
    state: BreakerIsOpen
    """`half_open` while a trial is under way."""
    since: datetime
    failures: int
    """Consecutive attempts without an answer."""
    why: str
    """The error of the last of them."""
    next_trial_at: datetime | None
    """Null while a trial is under way."""


@declared
class EndpointHealth:
    """A webhook target, by its address without query."""

    url: str
    calls: int
    """Attempts; those that were cancelled or lost on our side are not counted."""
    succeeded: int
    failed: int
    success_ratio: float
    p50_ms: float
    p95_ms: float
    codes: Mapping[str, int]
    """Calls by how they ended, most frequent first: `2xx`, or the code of the error."""
    failing_since: datetime | None
    """Since when every call has failed; null when the last one succeeded."""
    failing_from: datetime | None
    """When the first of the runs that have failed since was created: the start of what is to be recovered."""
    last_at: datetime
    last_run_id: str
    last_error: str | None
    schedules: list[CallingSchedule]
    """The last five that called it."""
    schedule_count: int
    breaker: CircuitBreaker | None
    """Of its host and port, while it is open: runs wait."""
    secrets: list[EndpointSecret] | None
    """The signing secret first, then those in headers, by the settings of those schedules now; empty: none.
    Null where the caller may not see secrets."""


@declared
class EndpointPage:
    """Targets that were called within a day; failing ones first."""

    items: list[EndpointHealth]
    next_cursor: str | None
    total: int
    since: datetime
    whole: bool
    """False when there were more than 2,000 runs: only the newest were read."""
    breakers: list[CircuitBreaker]
    """All open ones, longest open first; also of targets that are no webhooks."""
