"""Keyed digests of API keys, stream tickets and browser sessions, as they are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

KEY_PURPOSE = "api-key"
TICKET_PURPOSE = "ticket"
LOGIN_PURPOSE = "login"
SESSION_PURPOSE = "session"


class Pepper(Protocol):
    """Computes digests that need the master key to make or verify; separate ones for each purpose."""

    def digest(self, purpose: str, text: str) -> tuple[str, str]:
        """(key id, digest) with the newest key."""
        ...

    def digests(self, purpose: str, text: str) -> Sequence[tuple[str, str]]:
        """The same with every valid key, the newest first."""
        ...


@dataclass(frozen=True, slots=True)
class KeyDigest:
    """What is stored instead of a key, and the id of the master key that digested it."""

    pepper: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTicket:
    """What is stored of a ticket."""

    tenant_id: str
    caller: Mapping[str, Any]
    """The caller of the ticket."""
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """What is stored of a browser's session; without its row, a session is over."""

    id: str
    tenant_id: str
    user_id: str
    begun_at: datetime
    expires_at: datetime
