"""Probation of tenants: one whose page lately timed out or crashed a reader process gets one process at a time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

LASTS = 60.0
"""Seconds of probation after the last such page."""


@dataclass(slots=True)
class Probation:
    """By the monotonic clock of this process; entries are dropped when they expire."""

    lasts: float = LASTS
    _until: dict[str, float] = field(default_factory=dict)

    def begin(self, tenant_id: str) -> None:
        now = asyncio.get_running_loop().time()
        self._until = {tenant: until for tenant, until in self._until.items() if until > now}
        self._until[tenant_id] = now + self.lasts

    def holds(self, tenant_id: str) -> bool:
        until = self._until.get(tenant_id)
        return until is not None and until > asyncio.get_running_loop().time()
