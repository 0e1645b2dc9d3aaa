"""The port for encryption: keyed digests, and values that are encrypted at rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class CannotUnseal(Exception):
    """Decryption failed: another key, another place or a changed byte. Never says which."""

    def __init__(self) -> None:
        super().__init__("a sealed value cannot be opened")


class NotForHost(Exception):
    """A secret may not be sent to this host. Carries its name and the hosts that it is for."""

    def __init__(self, name: str, hosts: Sequence[str]) -> None:
        super().__init__(f"the secret {name} is not for this host")
        self.name = name
        self.hosts = hosts


class Vault(Protocol):
    """Encrypts and digests with the current master key; decrypts and recognises with every known one."""

    @property
    def current(self) -> str:
        """The id of the key that encrypts and digests now."""
        ...

    @property
    def ids(self) -> list[str]:
        """The ids of all keys, the current one first."""
        ...

    def digest(self, purpose: str, text: str) -> tuple[str, str]:
        """(key id, keyed digest as hex) by the current key."""
        ...

    def digests(self, purpose: str, text: str) -> list[tuple[str, str]]:
        """The same by every key, the current one first."""
        ...

    def seal(self, plain: bytes, *aad: str) -> tuple[str, bytes]:
        """(key id, ciphertext); decrypts only with the same `aad`."""
        ...

    def open(self, key_id: str, sealed: bytes, *aad: str) -> bytes:
        """The plaintext; `CannotUnseal` when anything does not match."""
        ...
