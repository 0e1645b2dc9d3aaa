"""Request and response schemas of tenants."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from foliot.core.limits import MOST, MOST_BYTES
from foliot.servers.http.schema import declared

Bytes = Annotated[int, Field(ge=0, le=MOST_BYTES)]
Count = Annotated[int, Field(ge=0, le=MOST)]
Rate = Annotated[int, Field(ge=1, le=MOST)]


@declared
class TenantLimitsRequest:
    """A limit that is left out has the default of the settings; null lifts it."""

    requests_per_minute: Rate | None = None
    schedules: Count | None = None
    concurrent_runs: Count | None = None
    run_now_per_minute: Rate | None = None
    streams: Count | None = None
    stored_bytes: Bytes | None = None


@declared(example={"limits": {"schedules": 500, "concurrent_runs": 20}, "egress_allow": []})
class TenantRequest:
    """The whole document of a tenant."""

    limits: TenantLimitsRequest | None = None
    egress_allow: Annotated[list[str] | None, Field(max_length=256, examples=[["*.example.com", "203.0.113.0/24"]])] = (
        None
    )
    """Hosts that its actions may reach, within the operator's own allow-list; empty: all of that."""


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
class LimitUsage:
    """Your tenant's limits and present usage."""

    limits: EffectiveLimits
    used: LimitsUsed
