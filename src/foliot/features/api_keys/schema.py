"""Request and response schemas of API keys."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from foliot.core.access import Role
from foliot.servers.http.schema import Name, declared

NO_STORE = {"Cache-Control": "no-store"}
"""For responses that hold a secret."""

Scopes = Annotated[list[str], Field(min_length=1, examples=[["schedule:read", "run:read"]])]


@declared(example={"name": "deploys", "role": "operator"})
class ApiKeyRequest:
    """The API key to create."""

    name: Name
    role: Role
    """Never above your own."""
    scopes: Scopes | None = None
    """Narrows the role; without it, everything that the role allows."""
    expires_at: datetime | None = None
    """In the future; without it, the key is valid until it is revoked."""


@declared
class ApiKey:
    """An API key, without its secret text."""

    id: str
    name: str
    role: Role
    scopes: list[str] | None
    hint: str
    """The first characters of the key."""
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    """To the minute."""
    revoked_at: datetime | None
    revoked_by: str | None


@declared
class NewApiKey(ApiKey):
    """A new API key, with its secret text, which is shown only once."""

    key: str


@declared
class ApiKeyPage:
    """A page of API keys."""

    items: list[ApiKey]
    next_cursor: str | None
