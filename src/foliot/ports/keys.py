"""API keys, the tickets that stand in for them at streams, and the sessions of browsers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from foliot.domain.key import Key
from foliot.ports.views import Page

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


class Keys(Protocol):
    """API keys, the tickets that stand in for them at streams, and the sessions of browsers."""

    async def add(self, key: Key, made: Print) -> None: ...

    async def find(self, tenant_id: str, page: Page) -> list[Key]:
        """Newest first, revoked and expired ones too."""
        ...

    async def get(self, tenant_id: str, key_id: str) -> Key | None: ...

    async def lock_live(self, tenant_id: str, now: datetime) -> int:
        """How many of the tenant's keys count now; whoever else wants to know this in order to add one waits."""
        ...

    async def by_digests(self, digests: Sequence[str]) -> list[tuple[Key, Print]]:
        """Of any tenant, for who asks is what the digest has yet to tell."""
        ...

    async def by_id(self, key_id: str) -> Key | None:
        """Of any tenant, for a caller who showed it before."""
        ...

    async def reprint(self, key_id: str, old: Print, new: Print) -> None:
        """Keep the digest by the newest pepper, unless somebody else did."""
        ...

    async def revoke(self, tenant_id: str, key_id: str, now: datetime, user_id: str) -> bool:
        """Whether this revoked it; False when it was revoked before, or is no key of the tenant."""
        ...

    async def note_use(self, used: Mapping[str, datetime]) -> None:
        """When each was last shown; never back."""
        ...

    async def put_ticket(self, digest: str, ticket: Ticket) -> None: ...

    async def take_ticket(self, digests: Sequence[str]) -> Ticket | None:
        """The ticket, which is then gone: of all who ask, one gets it."""
        ...

    async def prune_tickets(self, before: datetime, limit: int) -> int:
        """Forget tickets that expired before this moment and that nobody took."""
        ...

    async def begin_session(self, session: Session) -> None: ...

    async def has_session(self, tenant_id: str, session_id: str) -> bool: ...

    async def end_session(self, tenant_id: str, session_id: str) -> bool:
        """Whether this ended it; False when it was over before, or is none of the tenant's."""
        ...

    async def end_sessions(self, tenant_id: str, user_id: str) -> int:
        """How many of this person's there were."""
        ...

    async def prune_sessions(self, before: datetime, limit: int) -> int:
        """Forget sessions that expired before this moment."""
        ...
