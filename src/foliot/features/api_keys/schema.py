"""Request and response schemas of API keys."""

from __future__ import annotations

from datetime import datetime

from foliot.core.access import Role
from foliot.core.declaration import declared

NO_STORE = {"Cache-Control": "no-store"}
"""For responses that hold a secret."""


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
