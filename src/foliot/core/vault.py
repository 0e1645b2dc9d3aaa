"""What is asked of the keyring: recognise texts it has seen, and keep values that nobody may read at rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class CannotOpen(Exception):
    """What was sealed cannot be opened: another key, another place or a changed byte. Never says which, nor what."""

    def __init__(self) -> None:
        super().__init__("a sealed value cannot be opened")


class NotForHost(Exception):
    """A secret may not be sent there. Names it and the hosts that it is for."""

    def __init__(self, name: str, hosts: Sequence[str]) -> None:
        super().__init__(f"the secret {name} is not for this host")
        self.name = name
        self.hosts = hosts


class Vault(Protocol):
    """Seals and digests by the current master key; opens and recognises by every one there is."""

    @property
    def current(self) -> str:
        """The id of the key that seals and digests now."""
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
        """(key id, sealed bytes); they open only beside the same `aad`."""
        ...

    def open(self, key_id: str, sealed: bytes, *aad: str) -> bytes:
        """What was sealed; `CannotOpen` when anything at all does not fit."""
        ...
