"""A keyring that is created from the settings when something is first encrypted, decrypted or digested."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from foliot.auth.keyfile import has_key, key_of
from foliot.auth.keyring import Keyring, derived


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
