"""Sealed secrets of tenants; their values never leave the vault's hands open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
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
class Resealed:
    """How many actions were sealed anew, which could not be opened (tenant/id), and where to go on; None at the end."""

    done: int
    shut: Sequence[str]
    place: tuple[Any, ...] | None


class Secrets(Protocol):
    """The newest version of each secret, and the one before it."""

    async def lock(self, tenant_id: str) -> None:
        """Whoever changes a secret of this tenant next waits until this transaction ends."""
        ...

    async def newest(self, tenant_id: str, name: str) -> Sealed | None: ...

    async def count(self, tenant_id: str) -> int:
        """How many names there are."""
        ...

    async def put(self, sealed: Sealed) -> None:
        """Add a version: the one before it retires, older ones are gone. `Contended` when another was faster."""
        ...

    async def views(self, tenant_id: str) -> list[SecretView]:
        """In order of name."""
        ...

    async def delete(self, tenant_id: str, name: str) -> bool:
        """All versions; says whether there were any."""
        ...

    async def usable(self, tenant_id: str, since: datetime) -> list[Sealed]:
        """Current versions, and those that retired after `since`; newest first."""
        ...

    async def stale(self, key_id: str, limit: int, after: tuple[str, str, int] = ("", "", 0)) -> list[Sealed]:
        """Locked versions of all tenants that another master key sealed, in order of place, after this one."""
        ...

    async def left(self, key_id: str) -> int:
        """How many versions another master key sealed."""
        ...

    async def reseal(self, rows: Sequence[Sealed]) -> None:
        """Write these versions' new seals; a version that vanished meanwhile stays gone."""
        ...

    async def reseal_actions(self, place: tuple[Any, ...], limit: int) -> Resealed:
        """Seal credentials of so many stored actions by the newest key; an empty place is the beginning."""
        ...

    async def prune(self, before: datetime) -> int:
        """Delete versions that retired before this moment."""
        ...
