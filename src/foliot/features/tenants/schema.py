"""Request and response schemas of tenants."""

from __future__ import annotations

from datetime import datetime

from foliot.core.declaration import declared


@declared
class EffectiveLimits:
    """The effective limits; null is no limit."""

    requests_per_minute: int | None
    schedules: int | None
    concurrent_runs: int | None
    run_now_per_minute: int | None
    streams: int | None
    stored_bytes: int | None
    """Bytes of schedules, their versions, and parameters of runs beyond those."""
    catchup_rate: int | None
    """Runs per minute and queue that make up for an outage."""


@declared
class TenantSettings:
    """A tenant's own settings, and the effective ones."""

    tenant_id: str
    limits: dict[str, int | None]
    """Its own; a limit that is not named has the default of the settings."""
    effective: EffectiveLimits
    egress_allow: list[str] | None
    """Null: it cannot be read, and nothing of this tenant is sent until it is replaced."""
    updated_by: str | None
    updated_at: datetime | None


@declared
class TenantPage:
    """Tenants with settings of their own."""

    items: list[TenantSettings]
    next_cursor: str | None


@declared
class LimitsUsed:
    """Present usage."""

    schedules: int
    concurrent_runs: int
    streams: int
    """Open streams of the process that answers."""
    stored_bytes: int


@declared
class PageStorage:
    """Stored pages, compressed."""

    bytes: int
    quota: int | None
    """`FOLIOT_PAGES_QUOTA`: beyond it, the oldest pages are deleted."""


@declared
class LimitUsage:
    """Your tenant's limits and present usage."""

    limits: EffectiveLimits
    used: LimitsUsed
    pages: PageStorage
