"""Requests and answers of queues."""

from __future__ import annotations

from datetime import datetime

from foliot.servers.http.schema import declared


@declared
class QueueStatus:
    """One queue. The role system sees all of it; everybody else what is theirs, with null for what is the house's."""

    name: str
    depth: int
    """Runs that wait in it."""
    oldest: datetime | None
    """Since when the one that has waited longest could start."""
    in_flight: int
    """Runs of it that run now."""
    per_minute: int | None
    """Runs of it that ended within the last minute, as its workers report."""
    paused_at: datetime | None
    paused_by: str | None
    reason: str | None
    workers: list[str] | None
    """Live processes that take runs from it."""


@declared
class QueuePage:
    """Every queue that every house has, and every other one with runs or with something said of it."""

    items: list[QueueStatus]
    next_cursor: str | None
