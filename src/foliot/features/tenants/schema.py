"""Requests and answers of tenants."""

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
    """What is left out follows the settings; a null lifts the limit."""

    requests_per_minute: Rate | None = None
    schedules: Count | None = None
    concurrent_runs: Count | None = None
    run_now_per_minute: Rate | None = None
    streams: Count | None = None
    stored_bytes: Bytes | None = None


@declared(example={"limits": {"schedules": 500, "concurrent_runs": 20}, "egress_allow": []})
class TenantRequest:
    """What a tenant may use; the whole of it."""

    limits: TenantLimitsRequest | None = None
    egress_allow: Annotated[list[str] | None, Field(max_length=256, examples=[["*.example.com", "203.0.113.0/24"]])] = (
        None
    )
    """Where its actions may go, among what the operator allows; empty: all of that."""


@declared
class EffectiveLimits:
    """What holds; null is no limit."""

    requests_per_minute: int | None
    schedules: int | None
    concurrent_runs: int | None
    run_now_per_minute: int | None
    streams: int | None
    stored_bytes: int | None
    """Of schedules, their versions, and what runs were given beyond them."""


@declared
class TenantSettings:
    """What is said of a tenant, and what therefore holds."""

    tenant_id: str
    limits: dict[str, int | None]
    """Its own; what is not named follows the settings."""
    effective: EffectiveLimits
    egress_allow: list[str] | None
    """Null: it cannot be read, and nothing of this tenant goes out until it is put anew."""
    updated_by: str | None
    updated_at: datetime | None


@declared
class TenantPage:
    """Tenants of whom something is said."""

    items: list[TenantSettings]
    next_cursor: str | None


@declared
class LimitsUsed:
    """How much is used now."""

    schedules: int
    concurrent_runs: int
    streams: int
    """Of the process that answers."""
    stored_bytes: int


@declared
class LimitUsage:
    """Your tenant's limits, and how much of them is used."""

    limits: EffectiveLimits
    used: LimitsUsed
