"""Request and response schemas of queues."""

from __future__ import annotations

from datetime import datetime

from foliot.core.declaration import declared
from foliot.features.queues.model import HistoryRange


@declared
class QueueStatus:
    """One queue. The role system sees all tenants' runs; others see their own, and null for what only operators see."""

    name: str
    depth: int
    """Runs that wait in it."""
    oldest: datetime | None
    """Since when the longest-waiting run has been ready."""
    in_flight: int
    """Its runs that are running."""
    per_minute: int | None
    """Its runs that ended within the last minute, as its workers report."""
    paused_at: datetime | None
    paused_by: str | None
    reason: str | None
    workers: list[str] | None
    """Live processes that take runs from it."""


@declared
class QueuePage:
    """The built-in queues, and every other one that has runs or was paused."""

    items: list[QueueStatus]
    next_cursor: str | None


@declared
class QueueSeries:
    """One queue, a value per step; null where nothing was sampled, because no scheduler was running."""

    name: str
    waiting: list[int | None]
    """The most runs that waited."""
    oldest_ms: list[int | None]
    """The longest that the oldest one had waited."""
    running: list[int | None]
    """The most runs that were running."""
    ended: list[int | None]
    """Runs that ended, as workers reported each minute."""


@declared
class QueueHistory:
    """Queues and slots over time, sampled once per minute."""

    range: HistoryRange
    step_seconds: int
    at: list[datetime]
    """The start of each step."""
    slots: list[int | None]
    """The most slots that live workers had."""
    busy: list[int | None]
    """The most of them that were busy."""
    queues: list[QueueSeries]
