"""Request and response schemas of secrets."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from foliot.core.declaration import declared


@declared(example={"value": "s3cr3t-t0ken", "hosts": ["api.partner.com"]})
class SecretRequest:
    """The new value of a secret."""

    value: Annotated[str, Field(min_length=8, max_length=8192)]
    """One line; at most 8 KiB. For `webhook_signing`: `whsec_` and base64 of at least 16 bytes."""
    hosts: Annotated[list[str] | None, Field(max_length=50)] = None
    """Hosts it may be sent to: `api.partner.com`, `*.partner.com`, `api.partner.com:8443`."""


@declared
class SecretInfo:
    """A secret, without its value."""

    name: str
    version: int
    created_at: datetime
    """When this version was set."""
    created_by: str
    hosts: list[str]
    """Hosts it may be sent to; empty is any."""
    previous_until: datetime | None
    """How long the previous version signs too; for `webhook_signing` only."""


@declared
class SecretPage:
    """All secrets."""

    items: list[SecretInfo]
    next_cursor: str | None
