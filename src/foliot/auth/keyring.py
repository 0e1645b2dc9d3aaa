"""Master keys, and the keys derived from them: one for each purpose, so that no two uses share one.

The first master key encrypts and signs; every one decrypts and verifies. So a key can be rotated without a moment in
which something cannot be read.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from foliot.core.vault import CannotUnseal

SHORTEST = 32
"""Characters of a master key."""
_NONCE = 12
_SEALING = "seal"


@dataclass(frozen=True, slots=True, repr=False)
class MasterKey:
    """One master key. Its id is derived like its other keys, so it reveals nothing."""

    key: bytes
    id: str = field(init=False)
    _derived: dict[str, bytes] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.derive("id").hex()[:8])

    def derive(self, purpose: str) -> bytes:
        """The 32-byte key for this purpose (HKDF-SHA256)."""
        key = self._derived.get(purpose)
        if key is None:
            key = self._derived[purpose] = _hkdf(self.key, purpose)
        return key

    def __repr__(self) -> str:
        return f"Master({self.id})"


@dataclass(frozen=True, slots=True)
class Keyring:
    """All master keys, the current one first."""

    masters: tuple[MasterKey, ...]

    @classmethod
    def of(cls, entries: Sequence[str]) -> Keyring:
        """From texts of at least 32 characters; duplicates count once."""
        if not entries or any(len(entry) < SHORTEST for entry in entries):
            raise ValueError(f"needs at least one master key, each of at least {SHORTEST} characters")
        return cls(tuple(MasterKey(entry.encode()) for entry in dict.fromkeys(entries)))

    @property
    def current(self) -> str:
        """The id of the key that encrypts and signs."""
        return self.masters[0].id

    @property
    def ids(self) -> list[str]:
        """The ids of all keys, the current one first."""
        return [master.id for master in self.masters]

    def digest(self, purpose: str, text: str) -> tuple[str, str]:
        """(key id, HMAC-SHA256 as hex) by the current key."""
        return self.current, _hmac(self.masters[0], purpose, text)

    def digests(self, purpose: str, text: str) -> list[tuple[str, str]]:
        """The same with every key: a digest made before a rotation matches one of the others."""
        return [(master.id, _hmac(master, purpose, text)) for master in self.masters]

    def seal(self, plain: bytes, *aad: str) -> tuple[str, bytes]:
        """(key id, nonce and AES-256-GCM ciphertext); decrypts only with the same `aad`, in the same order."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = secrets.token_bytes(_NONCE)
        sealed = AESGCM(self.masters[0].derive(_SEALING)).encrypt(nonce, plain, _joined(aad))
        return self.current, nonce + sealed

    def open(self, key_id: str, sealed: bytes, *aad: str) -> bytes:
        """The plaintext; `CannotUnseal` when anything does not match."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        for master in self.masters:
            if master.id == key_id:
                try:
                    return AESGCM(master.derive(_SEALING)).decrypt(sealed[:_NONCE], sealed[_NONCE:], _joined(aad))
                except (InvalidTag, ValueError):
                    break
        raise CannotUnseal


def derived(secret: str) -> str:
    """A master key derived from a secret with another use: knowing the derived key does not reveal the secret."""
    return _hkdf(secret.encode(), "master").hex()


def _hkdf(key: bytes, purpose: str) -> bytes:
    # Slow to import, and most starts of local mode encrypt nothing.
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), 32, salt=None, info=b"foliot/v1/" + purpose.encode()).derive(key)


def _hmac(master: MasterKey, purpose: str, text: str) -> str:
    return hmac.new(master.derive(f"digest/{purpose}"), text.encode(), hashlib.sha256).hexdigest()


def _joined(parts: Sequence[str]) -> bytes:
    """Each part prefixed with its length, so that `ab`, `c` and `a`, `bc` differ."""
    return b"".join(len(raw).to_bytes(4) + raw for raw in (part.encode() for part in parts))
