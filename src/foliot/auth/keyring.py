"""Master keys, and the keys derived from them: one for each purpose, so that no two uses share one.

The first master key encrypts and signs; every one decrypts and verifies. So a key can be rotated without a moment in
which something cannot be read.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from foliot.core.errors import Unavailable
from foliot.core.secrets import CannotUnseal

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


NAME = "secret.key"


class BadKeyFile(Unavailable):
    """The key file is unsafe or unreadable."""


def has_key(home: Path) -> bool:
    """Whether there is a key file that this process can see."""
    try:
        return (home / NAME).exists()
    except OSError:
        return False


def key_of(home: Path) -> str:
    """The key in `home`, created when there is none. Two processes that create one at once agree on the first."""
    path = home / NAME
    try:
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError as error:
        raise BadKeyFile(f"{path} cannot be used as the key file: {error.strerror or error}") from None


def _read(path: Path) -> str:
    # One descriptor for both: the file that was checked is the file that is read.
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), encoding="ascii") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if os.name == "posix" and mode & 0o077:
            raise BadKeyFile(f"{path} can be read or written by others (mode {mode:04o}): run chmod 600 {path}")
        try:
            key = file.read(4096).strip()
        except UnicodeDecodeError:
            key = ""
    if len(key) < SHORTEST:
        raise BadKeyFile(
            f"{path} must contain a key of at least {SHORTEST} characters: put the file back from a backup"
        )
    return key


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made, name = tempfile.mkstemp(dir=path.parent, prefix=f".{NAME}.")
    try:
        with os.fdopen(made, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(name, path)
        except FileExistsError:
            return
    finally:
        Path(name).unlink()


def keyring_of(*, keys: Sequence[str], jwt_secret: str | None, home: Path, local: bool) -> LazyKeyring | None:
    """None when there is nothing to derive master keys from.

    The first of `keys` encrypts. Without any, one derived from `jwt_secret` does; in local mode, the key file. What
    those encrypted before `keys` were set still decrypts.
    """
    entries = [*keys, *([derived(jwt_secret)] if jwt_secret is not None else ())]
    return LazyKeyring(entries, home) if entries or local else None


class LazyKeyring:
    """These master keys, then the one of the key file; a file is created only where there is no other key."""

    def __init__(self, entries: Sequence[str], home: Path) -> None:
        self._entries = entries
        self._home = home

    @cached_property
    def keyring(self) -> Keyring:
        entries = list(self._entries)
        if not entries or has_key(self._home):
            entries.append(key_of(self._home))
        return Keyring.of(entries)

    @property
    def current(self) -> str:
        return self.keyring.current

    @property
    def ids(self) -> list[str]:
        return self.keyring.ids

    def digest(self, purpose: str, text: str) -> tuple[str, str]:
        return self.keyring.digest(purpose, text)

    def digests(self, purpose: str, text: str) -> list[tuple[str, str]]:
        return self.keyring.digests(purpose, text)

    def seal(self, plain: bytes, *aad: str) -> tuple[str, bytes]:
        return self.keyring.seal(plain, *aad)

    def open(self, key_id: str, sealed: bytes, *aad: str) -> bytes:
        return self.keyring.open(key_id, sealed, *aad)
