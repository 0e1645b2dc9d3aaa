"""A cache of decrypted secrets for the actions of this process; entries live a few seconds."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from foliot.core.ports import Clock
from foliot.core.secrets import OVERLAP, SIGNING, CannotUnseal, NotForHost, Vault, goes_to
from foliot.db.database import Database
from foliot.features.secrets.model import SealedSecret
from foliot.features.secrets.sql import SqlSecrets

HELD = 5.0
"""Seconds until a changed value is used; a new secret is read at once."""
TENANTS = 1000


@dataclass(frozen=True, slots=True, repr=False)
class CachedSecrets:
    """A tenant's secrets: (name, sealed, opened) of each usable version, newest first; None could not be decrypted."""

    at: float
    opened: Sequence[tuple[SealedSecret, str | None]]


@dataclass(slots=True, kw_only=True, repr=False)
class SecretCache:
    """Reads each tenant's secrets once every few seconds, however many runs need them."""

    store: Database
    clock: Clock
    vault: Vault | None
    standing: str | None = None
    """Signs for tenants without a signing secret; for local mode, where there is one tenant."""
    require_hosts: bool = False
    """Whether a secret without hosts is sent nowhere."""
    _held: OrderedDict[str, asyncio.Task[CachedSecrets]] = field(default_factory=OrderedDict)

    async def signing(self, tenant_id: str) -> Sequence[str]:
        """The tenant's signing secrets, newest first. `CannotUnseal` when one of them cannot be used."""
        held = await self._of(tenant_id)
        values = [opened for sealed, opened in held.opened if sealed.name == SIGNING]
        if not values:
            return [self.standing] if self.standing else []
        return [_open(one) for one in values]

    async def named(self, tenant_id: str, names: Collection[str], url: str | None = None) -> Mapping[str, str]:
        """The values of those that exist; `CannotUnseal` when one of them cannot be used.

        `url` is their destination: `NotForHost` when one of them may not be sent there.
        """
        if not names:
            return {}
        before = self._held.get(tenant_id)
        held = await self._of(tenant_id)
        if before is not None and not _current(held).keys() >= set(names):
            # A cached read may lack a secret that was set since: the run would fail for good.
            # Concurrent misses share one query.
            if self._held.get(tenant_id) is before:
                del self._held[tenant_id]
            held = await self._of(tenant_id)
        current = _current(held)
        if url is not None:
            self._refuse_elsewhere(held, names, url)
        return {name: _open(current[name]) for name in names if name in current}

    def _refuse_elsewhere(self, held: CachedSecrets, names: Collection[str], url: str) -> None:
        for sealed, _ in held.opened:
            if sealed.name not in names or sealed.retired_at is not None:
                continue
            if not sealed.hosts and not self.require_hosts:
                continue
            if not goes_to(sealed.hosts or (), url):
                raise NotForHost(sealed.name, sealed.hosts or ())

    async def _of(self, tenant_id: str) -> CachedSecrets:
        task = self._held.get(tenant_id)
        if task is None or _spent(task, self.clock.monotonic()):
            task = self._held[tenant_id] = asyncio.create_task(self._load(tenant_id))
            task.add_done_callback(_look)
            if len(self._held) > TENANTS:
                self._held.popitem(last=False)
        self._held.move_to_end(tenant_id)
        # The first caller may be cancelled; the others still wait for the result.
        return task.result() if task.done() else await asyncio.shield(task)

    async def _load(self, tenant_id: str) -> CachedSecrets:
        at = self.clock.monotonic()
        async with self.store.glance() as tx:
            rows = await SqlSecrets(tx).usable(tenant_id, self.clock.now() - OVERLAP)
        return CachedSecrets(at, [(row, self._opened(row)) for row in rows])

    def _opened(self, row: SealedSecret) -> str | None:
        if self.vault is None:
            return None
        try:
            return self.vault.open(row.sealed_with, row.sealed, *row.place).decode()
        except (CannotUnseal, UnicodeDecodeError):
            return None


def _current(held: CachedSecrets) -> dict[str, str | None]:
    # Newest last, so that it wins.
    return {sealed.name: opened for sealed, opened in reversed(held.opened) if sealed.retired_at is None}


def _spent(task: asyncio.Task[CachedSecrets], now: float) -> bool:
    if not task.done():
        return False
    return task.cancelled() or task.exception() is not None or now - task.result().at > HELD


def _look(task: asyncio.Task[CachedSecrets]) -> None:
    """Retrieves the exception, so that asyncio does not warn when no waiter is left."""
    if not task.cancelled():
        task.exception()


def _open(opened: str | None) -> str:
    if opened is None:
        raise CannotUnseal
    return opened
