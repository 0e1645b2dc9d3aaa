"""Signs webhooks by the Standard Webhooks specification, so that the target knows who called."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from standardwebhooks import Webhook as Signer

_PREFIX = "whsec_"
_SHORTEST_KEY = 16


class Secrets(Protocol):
    """Where a tenant's signing secrets are kept."""

    async def signing(self, tenant_id: str) -> Sequence[str]:
        """The secrets in use, newest first: none, one, or two while one replaces the other."""
        ...


class BadKey(Exception):
    """A signing secret cannot be used. Never says which characters it holds."""


def sign(secrets: Sequence[str], message_id: str, moment: datetime, body: bytes) -> str | None:
    """The `webhook-signature` header: one signature per secret, None without secrets."""
    if not secrets:
        return None
    at = moment.astimezone(UTC)
    return " ".join(Signer(_key(secret)).sign(message_id, at, body.decode()) for secret in secrets)


def _key(secret: str) -> bytes:
    """The library drops characters that are no base64 and would sign with another key than the target's: we refuse."""
    text = secret.strip().removeprefix(_PREFIX)
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise BadKey from None
    if len(key) < _SHORTEST_KEY:
        raise BadKey
    return key
