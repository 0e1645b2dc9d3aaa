"""Authenticates a request by token or API key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from foliot.auth.api_key import PREFIX
from foliot.core.access import Caller
from foliot.core.errors import Unauthenticated


class Identity(Protocol):
    """Authenticates requests, for every interface."""

    async def caller(self, bearer: str) -> Caller:
        """The caller of this token or API key; `Unauthenticated`, always in the same words, when it is not valid."""
        ...

    async def still(self, caller: Caller) -> bool:
        """Whether the caller's credential is still valid: not expired, not revoked. Streams ask every few seconds."""
        ...


@dataclass(frozen=True, slots=True)
class CredentialCheck:
    """API keys have a known prefix; everything else is a token."""

    tokens: Identity
    keys: Identity | None = None

    async def caller(self, bearer: str) -> Caller:
        if not bearer.startswith(PREFIX):
            return await self.tokens.caller(bearer)
        if self.keys is None:
            raise Unauthenticated
        return await self.keys.caller(bearer)

    async def still(self, caller: Caller) -> bool:
        if caller.key_id is None:
            return await self.tokens.still(caller)
        return self.keys is not None and await self.keys.still(caller)
