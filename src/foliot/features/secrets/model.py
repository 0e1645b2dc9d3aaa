"""Encrypted secrets of tenants; only the vault can open them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSecret:
    """One version of a secret, as stored."""

    tenant_id: str
    name: str
    version: int
    sealed_with: str
    """The id of the master key."""
    sealed: bytes
    created_by: str
    created_at: datetime
    retired_at: datetime | None = None
    """When the next version replaced it."""
    hosts: Sequence[str] | None = None
    """The hosts it may be sent to; None is any."""

    @property
    def place(self) -> tuple[str, ...]:
        """The associated data of its encryption, with its hosts: in another row it cannot be decrypted."""
        return self.tenant_id, self.name, str(self.version), *(self.hosts or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretView:
    """A secret without its value."""

    name: str
    version: int
    created_at: datetime
    created_by: str
    retired_at: datetime | None = None
    """When the previous version was replaced."""
    hosts: Sequence[str] = ()
    """The hosts it may be sent to; empty is any."""


@dataclass(frozen=True, slots=True)
class ResealedActions:
    """How many actions were re-encrypted, which could not be opened (tenant/id), and the next cursor or None."""

    done: int
    shut: Sequence[str]
    place: tuple[Any, ...] | None
