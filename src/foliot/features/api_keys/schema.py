"""The shapes of requests and answers about keys, tickets and secrets."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from foliot.core.access import Role
from foliot.servers.http.bodies import Model, Name

NO_STORE = {"Cache-Control": "no-store"}
"""For answers that hold something secret."""

Scopes = Annotated[list[str], Field(min_length=1, examples=[["schedule:read", "run:read"]])]


class KeyRequest(Model):
    """An API key as somebody wants it."""

    model_config = ConfigDict(json_schema_extra={"example": {"name": "deploys", "role": "operator"}})

    name: Name
    role: Role
    """Never above your own."""
    scopes: Scopes | None = None
    """Narrows the role; without it, everything that the role allows."""
    expires_at: datetime | None = None
    """In the future; without it, the key counts until it is revoked."""


class Key(Model):
    """An API key, without the key."""

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


class NewKey(Key):
    """An API key, with the key, which is shown this once."""

    key: str


class Keys(Model):
    """A page of API keys."""

    items: list[Key]
    next_cursor: str | None


class Ticket(Model):
    """A ticket, which is shown this once."""

    ticket: str
    expires_at: datetime


class SecretRequest(Model):
    """The new value of a secret."""

    model_config = ConfigDict(json_schema_extra={"example": {"value": "s3cr3t-t0ken", "hosts": ["api.partner.com"]}})

    value: str = Field(min_length=8, max_length=8192)
    """One line; at most 8 KiB. Of `webhook_signing`: `whsec_` and base64 of at least 16 bytes."""
    hosts: list[str] | None = Field(default=None, max_length=50)
    """Where it may be sent: `api.partner.com`, `*.partner.com`, `api.partner.com:8443`."""


class Secret(Model):
    """A secret, without its value."""

    name: str
    version: int
    created_at: datetime
    """When this version was set."""
    created_by: str
    hosts: list[str]
    """Where it may be sent; none is anywhere."""
    previous_until: datetime | None
    """How long the version before it signs too; of `webhook_signing` only."""


class Secrets(Model):
    """All secrets."""

    items: list[Secret]
    next_cursor: str | None


REQUESTS: tuple[type[BaseModel], ...] = (KeyRequest, SecretRequest)
