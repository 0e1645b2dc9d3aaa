"""API keys, the tickets that stand in for them at streams, and the sessions of browsers."""

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
    """Makes digests that nobody without the master key can make or check; one set of them for each purpose."""

    def digest(self, purpose: str, text: str) -> tuple[str, str]:
        """(pepper's id, digest) by the newest pepper."""
        ...

    def digests(self, purpose: str, text: str) -> Sequence[tuple[str, str]]:
        """The same by every pepper that still counts, the newest first."""
        ...


@dataclass(frozen=True, slots=True)
class Print:
    """What the store keeps instead of a key, and which pepper made it."""

    pepper: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What the store keeps of a ticket."""

    tenant_id: str
    caller: Mapping[str, Any]
    """Who it stands for."""
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What the store keeps of somebody signed in with a browser; without its row, a session is over."""

    id: str
    tenant_id: str
    user_id: str
    begun_at: datetime
    expires_at: datetime
