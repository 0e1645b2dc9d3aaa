"""The limits and the egress allow-list of a tenant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """The limits of one tenant where they differ from the settings; without a row, the settings apply."""

    tenant_id: str
    limits: Mapping[str, int | None] = field(default_factory=dict)
    """Only the limits that are set for this tenant."""
    egress_allow: Sequence[str] | None = ()
    """Hosts that its actions may call; empty: those the operator allows to all tenants. None: it cannot be read."""
    updated_by: str | None = None
    updated_at: datetime | None = None
