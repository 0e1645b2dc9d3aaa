"""What a tenant may use at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """What is said of one tenant. A tenant of whom nothing is said has what the settings say."""

    tenant_id: str
    limits: Mapping[str, int | None] = field(default_factory=dict)
    """Only those that are its own."""
    egress_allow: Sequence[str] | None = ()
    """Where its actions may go; empty: wherever the operator lets anybody go. None: it cannot be read."""
    updated_by: str | None = None
    updated_at: datetime | None = None
