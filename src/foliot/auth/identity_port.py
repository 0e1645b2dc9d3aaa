"""The port for authentication, the same for every interface."""

from __future__ import annotations

from typing import Protocol

from foliot.core.access import Caller


class Identity(Protocol):
    """Authenticates requests, for every interface."""

    async def caller(self, bearer: str) -> Caller:
        """The caller of this token or API key; `Unauthenticated`, always in the same words, when it is not valid."""
        ...

    async def still(self, caller: Caller) -> bool:
        """Whether the caller's credential is still valid: not expired, not revoked. Streams ask every few seconds."""
        ...
