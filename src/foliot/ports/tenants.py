"""What a tenant may use at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from foliot.ports.views import Page


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


class Tenants(Protocol):
    """What tenants may use at most, and what they use."""

    async def get(self, tenant_id: str, *, lock: bool = False) -> Tenant | None: ...

    async def put(self, tenant: Tenant) -> None: ...

    async def find(self, page: Page) -> list[Tenant]:
        """Those of whom something is said, in the order of their ids."""
        ...

    async def count_schedules(self, tenant_id: str, *, lock: bool = False) -> int:
        """Schedules that are active or paused. With `lock`, whoever else counts so waits until this one is through."""
        ...

    async def stored_bytes(self, tenant_id: str) -> int:
        """Of schedules, their versions, and what runs were given beyond them; this transaction's own writes too."""
        ...

    async def count_running(self, tenant_id: str) -> int: ...
