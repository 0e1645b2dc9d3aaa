"""Encrypts the credentials of an action when it is written, and decrypts them for the worker that performs it.

Each is bound to its tenant and destination: copied to another tenant's row, or to an action with another destination,
it does not decrypt.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foliot.core.errors import Conflict, Invalid
from foliot.core.mask import HIDDEN, CredentialSpot, rewritten
from foliot.core.secrets import SEALED, CannotUnseal, Vault, hideable

PURPOSE = "credential"


@dataclass(frozen=True, slots=True)
class UnsealedAction:
    """An action as it is performed; `hidden` are the values to redact."""

    action: Mapping[str, Any]
    hidden: tuple[str, ...] = ()
    locked: bool = False
    """Whether one of its credentials cannot be decrypted."""


@dataclass(frozen=True, slots=True)
class Sealer:
    """Without a vault nothing is encrypted, and credentials that would have to be are refused."""

    vault: Vault | None

    def seal(self, tenant_id: str, action: Mapping[str, Any], *, patch: bool = False) -> dict[str, Any]:
        """Encrypted values stay as they are. A `patch` may contain `***` for values that it does not change."""

        def sealed(spot: CredentialSpot, text: str) -> str:
            if SEALED.fullmatch(text) or (patch and text == HIDDEN):
                return text
            if text == HIDDEN:
                raise Invalid(spot.place, f"is {HIDDEN}: enter the credential itself, or name a secret")
            if self.vault is None:
                raise Conflict(
                    f"{spot.place} holds a credential, which needs a master key to be stored: set "
                    "FOLIOT_SECRET_KEY to at"
                    " least 32 random characters"
                )
            key, made = self.vault.seal(text.encode(), tenant_id, PURPOSE, spot.destination)
            return f"sealed.v1.{key}.{base64.urlsafe_b64encode(made).decode().rstrip('=')}"

        return rewritten(action, sealed)

    def stale(self, tenant_id: str, action: Mapping[str, Any]) -> UnsealedAction | None:
        """The action, decrypted, when something in it is not encrypted with the newest key; else None."""
        fresh = True

        def look(_: CredentialSpot, text: str) -> str:
            nonlocal fresh
            found = SEALED.fullmatch(text)
            fresh = fresh and self.vault is not None and found is not None and found["key"] == self.vault.current
            return text

        rewritten(action, look)
        return None if fresh else self.open(tenant_id, action)

    def open(self, tenant_id: str, action: Mapping[str, Any]) -> UnsealedAction:
        """The action with its credentials in place. Plaintext that an older version left is redacted all the same."""
        hidden: list[str] = []

        def opened(spot: CredentialSpot, text: str) -> str:
            found = SEALED.fullmatch(text)
            plain = text if found is None else self._open(found["key"], found["sealed"], tenant_id, spot)
            hidden.extend(hideable(plain))
            return plain

        try:
            made = rewritten(action, opened)
        except CannotUnseal:
            return UnsealedAction(action, locked=True)
        return UnsealedAction(made, tuple(dict.fromkeys(hidden)))

    def _open(self, key: str, sealed: str, tenant_id: str, spot: CredentialSpot) -> str:
        if self.vault is None:
            raise CannotUnseal
        raw = base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
        try:
            return self.vault.open(key, raw, tenant_id, PURPOSE, spot.destination).decode()
        except UnicodeDecodeError:
            raise CannotUnseal from None
