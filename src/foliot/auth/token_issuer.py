"""Signs tokens: `foliot token`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from foliot.auth.claims import Expectations, TokenRefused, read_claims
from foliot.auth.verification_keys import BadKeys, VerificationKey, public_key
from foliot.core.access import Role
from foliot.core.errors import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """The signing key. `kid` identifies it to servers that know several."""

    key: VerificationKey
    expected: Expectations
    kid: str | None = None

    def sign(self, *, tenant_id: str, user_id: str, role: Role, life: timedelta, now: datetime) -> str:
        """A token that a server with these settings accepts; `Invalid` when it would not."""
        begins = int(now.timestamp())
        claims: dict[str, Any] = {
            "sub": user_id,
            "tenant_id": tenant_id,
            "role": role.value,
            "aud": self.expected.audience,
            "iat": begins,
            "exp": begins + int(life.total_seconds()),
        }
        if self.expected.issuer is not None:
            claims["iss"] = self.expected.issuer
        try:
            read_claims(claims, self.expected, now)
        except TokenRefused as why:
            raise Invalid("token", f"no server would accept it: {why}") from None
        return jwt.encode(
            claims, self.key.material, algorithm=self.key.algorithm, headers={"kid": self.kid} if self.kid else None
        )


def private_key(path: Path) -> VerificationKey:
    """A private key from a PEM file without a password; `Invalid` otherwise."""
    try:
        material: Any = load_pem_private_key(path.read_bytes(), password=None)
        return VerificationKey(public_key(material.public_key()).algorithm, material)
    except (OSError, ValueError, TypeError, AttributeError, UnsupportedAlgorithm, BadKeys) as wrong:
        why = f": {wrong}" if isinstance(wrong, BadKeys) else ""
        raise Invalid(
            "--key-file", f"must be a private key in a PEM file without a password{why}", got=str(path)
        ) from None
