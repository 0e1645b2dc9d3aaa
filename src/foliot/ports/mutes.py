"""Muted groups of dead letters, as they are asked of the store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from foliot.domain.mute import Mute


class Mutes(Protocol):
    """At most one for each group; one that is over is as if it were not there."""

    async def put(self, tenant_id: str, mute: Mute) -> None:
        """Instead of the one that is there. Those of the tenant that are over go with it."""
        ...

    async def drop(self, tenant_id: str, fingerprint: str) -> None: ...

    async def standing(self, tenant_id: str, now: datetime) -> Mapping[str, Mute]:
        """Those that hold now, by fingerprint."""
        ...

    async def known(self, tenant_id: str, fingerprint: str) -> bool:
        """Whether there is a letter without an answer in this group."""
        ...
