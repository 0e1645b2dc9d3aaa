"""Authenticates a request by token or API key.

Keyed digests of API keys, stream tickets and browser sessions, as they are stored.

API keys: their format, their permissions, and the checks when one is created.

A key is `flt_`, eight hexadecimal digits that also end its id, `_`, and 256 random bits in URL-safe base64.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Protocol

from annotated_types import MinLen

from foliot.core.access import SCOPES, Caller, Role, grants, scopes_of
from foliot.core.declaration import Described, Missing, Name, Parsed, declared, read
from foliot.core.document import Complaints, rfc3339
from foliot.core.errors import Forbidden, Invalid, Unauthenticated

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


PREFIX = "flt_"
SHAPE = re.compile(r"flt_[0-9a-f]{8}_[A-Za-z0-9_-]{43}")
LONGER = timedelta(days=365)
"""By how much a key may outlive the token that created it, unless the operator says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """An API key as it is stored: everything but the key itself."""

    id: str
    tenant_id: str
    name: str
    role: Role
    scopes: frozenset[str] | None
    hint: str
    """The first characters of the key, to identify a leaked one."""
    created_by: str
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str | None = None

    def counts(self, now: datetime) -> bool:
        """Neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def caller(self) -> Caller:
        """The caller that the key authenticates."""
        return Caller(
            self.tenant_id,
            f"key:{self.name}"[:200],
            self.role,
            scopes=self.scopes,
            key_id=self.id,
            expires_at=self.expires_at,
        )


def _scopes(path: str, got: object) -> list[str]:
    if not isinstance(got, list) or not got:
        raise Invalid(path, "must be a list of at least one scope; without it the role alone decides", got=got)
    for place, one in enumerate(got):
        if not isinstance(one, str) or one not in SCOPES:
            raise Invalid(f"{path}[{place}]", f"must be one of {', '.join(sorted(SCOPES))}", got=one)
    return got


@declared(example={"name": "deploys", "role": "operator"})
class ApiKeyRequest:
    """The API key to create."""

    name: Name
    role: Annotated[Role, Missing(f"is required: one of {', '.join(Role)}")]
    """Never above your own."""
    scopes: Annotated[
        Annotated[list[str], MinLen(1), Described({"examples": [["schedule:read", "run:read"]]})] | None,
        Parsed(_scopes),
    ] = None
    """Narrows the role; without it, everything that the role allows."""
    expires_at: datetime | None = None
    """In the future; without it, the key is valid until it is revoked."""


def spell(key_id: str, random: str) -> tuple[str, str]:
    """The key with this id, and its hint."""
    hint = f"{PREFIX}{key_id[-8:]}"
    return f"{hint}_{random}", hint


def read_key(raw: object, caller: Caller, now: datetime, longer: timedelta = LONGER) -> ApiKeyRequest:
    """Parses the request for a key; `Forbidden` when it asks for more than the caller has.

    A key that was created with a token may outlive it by at most `longer`; without an expiry of its own it gets that.
    """
    if not isinstance(raw, Mapping):
        raise Invalid("body", "must be an object", got=type(raw).__name__)
    asked = read(ApiKeyRequest, raw)
    wrong = Complaints()
    wrong.attempt(lambda: _check_scopes(asked))
    wrong.attempt(lambda: _check_expiry(asked, now))
    wrong.speak()
    latest = None if caller.key_id is not None or caller.expires_at is None else caller.expires_at + longer
    if asked.expires_at is None:
        asked.expires_at = latest
    _within(asked, caller)
    if latest is not None and asked.expires_at is not None and asked.expires_at > latest:
        raise Forbidden(f"a key may outlive the token that creates it until {rfc3339(latest)} (FOLIOT_MAX_KEY_DAYS)")
    return asked


def _check_scopes(asked: ApiKeyRequest) -> None:
    allowed = scopes_of(asked.role)
    for place, one in enumerate(asked.scopes or ()):
        if one not in allowed:
            raise Invalid(f"scopes[{place}]", f"is not allowed by the role {asked.role}", got=one)


def _check_expiry(asked: ApiKeyRequest, now: datetime) -> None:
    if asked.expires_at is not None and asked.expires_at <= now:
        raise Invalid("expires_at", "must be in the future", got=rfc3339(asked.expires_at))


def _within(draft: ApiKeyRequest, caller: Caller) -> None:
    """No caller grants more than its own permissions."""
    if not grants(caller, draft.role):
        raise Forbidden(f"the role {caller.role.value} may not grant the role {draft.role.value}")
    if caller.scopes is not None and (draft.scopes is None or not caller.scopes.issuperset(draft.scopes)):
        own = ", ".join(sorted(caller.scopes))
        raise Forbidden(f"a key with scopes may only create keys with scopes of its own: {own}")
    lasting = draft.expires_at is None or (caller.expires_at is not None and draft.expires_at > caller.expires_at)
    if caller.key_id is not None and caller.expires_at is not None and lasting:
        raise Forbidden(f"a key that expires may not create one that outlives it, {rfc3339(caller.expires_at)}")
