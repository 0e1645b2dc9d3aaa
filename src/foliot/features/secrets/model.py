"""Sealed secrets of tenants; their values never leave the vault's hands open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSecret:
    """One version of a secret as it lies in the store."""

    tenant_id: str
    name: str
    version: int
    sealed_with: str
    """The id of the master key."""
    sealed: bytes
    created_by: str
    created_at: datetime
    retired_at: datetime | None = None
    """When the next version took over."""
    hosts: Sequence[str] | None = None
    """Where it may be sent; None is anywhere."""

    @property
    def place(self) -> tuple[str, ...]:
        """Where it belongs: it is sealed to this place and these hosts, and opens nowhere else."""
        return self.tenant_id, self.name, str(self.version), *(self.hosts or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretView:
    """What may be known about a secret: everything but its value."""

    name: str
    version: int
    created_at: datetime
    created_by: str
    retired_at: datetime | None = None
    """When the version before this one was replaced."""
    hosts: Sequence[str] = ()
    """Where it may be sent; none is anywhere."""


@dataclass(frozen=True, slots=True)
class ResealedActions:
    """How many actions were sealed anew, which could not be opened (tenant/id), and where to go on; None at the end."""

    done: int
    shut: Sequence[str]
    place: tuple[Any, ...] | None
