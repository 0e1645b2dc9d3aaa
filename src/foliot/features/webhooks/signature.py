"""Signs webhooks by the Standard Webhooks specification, so that the target knows who called."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from standardwebhooks import Webhook as Signer

from foliot.core.secrets import NamedSecrets, signing_key


class SigningSecrets(NamedSecrets, Protocol):
    """A tenant's secrets. Both methods raise `CannotUnseal`, or `Unavailable`, when one that exists cannot be used."""

    async def signing(self, tenant_id: str) -> Sequence[str]:
        """The secrets in use, newest first: none, one, or two during a rotation."""
        ...


class BadSigningKey(Exception):
    """A signing secret cannot be used. The message never contains its characters."""


def sign(secrets: Sequence[str], message_id: str, moment: datetime, body: bytes) -> str | None:
    """The `webhook-signature` header: one signature per secret, None without secrets."""
    if not secrets:
        return None
    at = moment.astimezone(UTC)
    return " ".join(Signer(_key(secret)).sign(message_id, at, body.decode()) for secret in secrets)


def _key(secret: str) -> bytes:
    """The library drops characters outside base64 and would sign with another key than the target's: we refuse."""
    key = signing_key(secret)
    if key is None:
        raise BadSigningKey
    return key
