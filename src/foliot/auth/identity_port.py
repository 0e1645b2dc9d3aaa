"""Who is asking: the same check for every interface."""

from __future__ import annotations

from typing import Protocol

from foliot.core.access import Caller


class Identity(Protocol):
    """Who is asking. The same for every door."""

    async def caller(self, bearer: str) -> Caller:
        """Whoever shows this token or API key; `Unauthenticated`, always in the same words, when nobody does."""
        ...

    async def still(self, caller: Caller) -> bool:
        """Whether what the caller showed counts now: not expired, not revoked. Streams ask every few seconds."""
        ...
