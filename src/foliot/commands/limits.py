"""Enforces the limits of tenants: rate limits, stored bytes, numbers of schedules and streams.

A token bucket per address for invalid keys and tokens: beyond its rate, the answers are delayed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from foliot.commands.tenants_sql import SqlTenants, Tenant
from foliot.core.access import Caller
from foliot.core.errors import Invalid, TooMany, Unavailable
from foliot.core.limits import LIMITS, UNLIMITED, TenantLimits, TokenBucket
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction

PER_MINUTE = 120
"""Invalid credentials per minute from one address that are answered at once."""
DELAY = 1.0
"""Seconds by which further answers are delayed."""
MOST_WAITING = 100
"""Answers that are delayed concurrently; further ones are refused without delay, to bound memory."""
REMEMBERED = 10_000


@dataclass(slots=True, kw_only=True)
class FailedLoginDelay:
    """Slows down guessing. Valid keys are never delayed: behind one proxy all callers have the same address."""

    per_minute: int = PER_MINUTE
    delay: float = DELAY
    waiting: int = 0
    _buckets: OrderedDict[str, TokenBucket] = field(init=False, default_factory=OrderedDict)

    async def failed(self, address: str, now: float) -> None:
        """Count an invalid key or token of this address; `TooMany`, after a delay, beyond the rate."""
        bucket = self._buckets.setdefault(address, TokenBucket.full(self.per_minute, now))
        self._buckets.move_to_end(address)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        wait = bucket.take(now)
        if wait is None:
            return
        if self.waiting < MOST_WAITING:
            self.waiting += 1
            try:
                await asyncio.sleep(self.delay)
            finally:
                self.waiting -= 1
        raise TooMany(f"too many invalid keys and tokens: at most {self.per_minute} a minute", retry_after=wait)


K = TypeVar("K")

FRESH = 5.0
"""Seconds for which limits are cached: a changed limit is in force in every process after that."""

PATIENCE = 1.0
"""Seconds without another read after the database failed to answer."""

KEPT = 10_000
"""Tenants whose limits a process caches; the least recently used is evicted first."""


@dataclass(slots=True)
class _KnownLimits:
    """The cached limits of a tenant."""

    tenant: Tenant | None = None
    read_at: float | None = None
    tried_at: float | None = None
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True, kw_only=True)
class Limiter:
    """One per process: caches the tenants' limits for a few seconds, and keeps their token buckets."""

    store: Database
    clock: Clock
    default: TenantLimits = UNLIMITED
    """The limits of tenants that have none of their own."""
    refused: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LIMITS, 0))
    """The number of refusals by each limit, over all tenants."""
    _known: OrderedDict[str, _KnownLimits] = field(default_factory=OrderedDict)
    _buckets: OrderedDict[tuple[str, str], TokenBucket] = field(default_factory=OrderedDict)

    async def of(self, tenant_id: str) -> TenantLimits:
        """A tenant's limits. While the database is unreachable, those last read, or else the settings'."""
        known = self._keep(tenant_id)
        if not self._within(known.read_at, FRESH):
            with suppress(Unavailable):
                await self._read(tenant_id, known)
        return self.default if known.tenant is None else self.default.but(known.tenant.limits)

    async def egress_allow(self, tenant_id: str) -> Sequence[str]:
        """The egress allow-list of a tenant. Raises when it cannot be read: then no request is allowed."""
        known = self._keep(tenant_id)
        await self._read(tenant_id, known)
        if known.tenant is None:
            return ()
        if known.tenant.egress_allow is None:
            raise Invalid("egress_allow", "cannot be read")
        return known.tenant.egress_allow

    async def request(self, caller: Caller) -> None:
        """Count one request of this caller; `TooMany` when the tenant's rate is used up."""
        limits = await self.of(caller.tenant_id)
        self._take("requests_per_minute", caller, limits.requests_per_minute, 1)

    def run(self, caller: Caller, limits: TenantLimits, count: int = 1) -> None:
        """Count requested runs. `limits` were read before the transaction began."""
        self._take("run_now_per_minute", caller, limits.run_now_per_minute, count)

    def undo_run(self, tenant_id: str, count: int) -> None:
        """Give back the count of runs that were not created after all."""
        bucket = self._buckets.get(("run_now_per_minute", tenant_id))
        if bucket is not None:
            bucket.give_back(count)

    async def schedule(self, tx: Transaction, caller: Caller, limits: TenantLimits) -> None:
        """Refuse the schedule that this transaction has written if the tenant then has more than its limit.

        Takes a lock until this transaction ends, so that two concurrent requests cannot take the last place.
        """
        if limits.schedules is None:
            return
        if await SqlTenants(tx).count_schedules(caller.tenant_id, lock=True) > limits.schedules:
            raise self.no_schedule_left(limits)

    async def room(self, tx: Transaction, tenant_id: str, limits: TenantLimits) -> int | None:
        """How many more schedules the tenant may have, locked as by `schedule`; None without a limit."""
        if limits.schedules is None:
            return None
        return max(limits.schedules - await SqlTenants(tx).count_schedules(tenant_id, lock=True), 0)

    def no_schedule_left(self, limits: TenantLimits) -> TooMany:
        """The refusal of a schedule beyond the tenant's limit, counted."""
        message = f"your tenant has reached its limit of {limits.schedules} active or paused schedules"
        return self._refusal("schedules", f"{message}: delete one first, or ask for a higher limit")

    async def stored(self, tx: Transaction, caller: Caller, limits: TenantLimits) -> None:
        """Refuse what this transaction has written if the tenant then stores more bytes than its limit."""
        if limits.stored_bytes is None:
            return
        used = await SqlTenants(tx).stored_bytes(caller.tenant_id)
        if used > limits.stored_bytes:
            message = f"your tenant may store {limits.stored_bytes:,} bytes, and this would bring it to {used:,}"
            self._refuse("stored_bytes", f"{message}: send less, delete schedules, or ask for a higher limit")

    def stream(self, limits: TenantLimits, is_open: int) -> None:
        """Refuse one more stream beyond the tenant's limit."""
        if limits.streams is not None and is_open >= limits.streams:
            message = f"your tenant has {is_open} of {limits.streams} streams open here: close one first"
            self._refuse("streams", message, retry_after=5)

    def _take(self, name: str, caller: Caller, per_minute: int | None, cost: int) -> None:
        if per_minute is None:
            return
        now, key = self.clock.monotonic(), (name, caller.tenant_id)
        bucket = self._buckets.setdefault(key, TokenBucket.full(per_minute, now))
        _forget_oldest(self._buckets, key)
        if bucket.per_minute != per_minute:
            bucket.resize(per_minute, now)
        wait = bucket.take(now, cost)
        if wait is not None:
            self._refuse(name, f"your tenant is limited to {per_minute} {_SAID[name]} here", retry_after=wait)

    def _refuse(self, name: str, message: str, retry_after: float | None = None) -> None:
        raise self._refusal(name, message, retry_after)

    def _refusal(self, name: str, message: str, retry_after: float | None = None) -> TooMany:
        self.refused[name] += 1
        return TooMany(message, retry_after=retry_after)

    def _keep(self, tenant_id: str) -> _KnownLimits:
        known = self._known.get(tenant_id)
        if known is None:
            known = self._known[tenant_id] = _KnownLimits()
        _forget_oldest(self._known, tenant_id)
        return known

    async def _read(self, tenant_id: str, known: _KnownLimits) -> None:
        if self._within(known.read_at, FRESH):
            return
        async with known.reading:
            if self._within(known.read_at, FRESH):
                return
            # While the database is unreachable, not every request shall wait for its timeout.
            if self._within(known.tried_at, PATIENCE):
                raise Unavailable("the limits of the tenant cannot be read at the moment")
            began = known.tried_at = self.clock.monotonic()
            async with self.store.glance() as tx:
                known.tenant = await SqlTenants(tx).get(tenant_id)
            known.read_at, known.tried_at = began, None

    def _within(self, moment: float | None, seconds: float) -> bool:
        return moment is not None and 0 <= self.clock.monotonic() - moment < seconds


_SAID = {"requests_per_minute": "requests a minute", "run_now_per_minute": "runs a minute"}


def _forget_oldest(kept: OrderedDict[K, Any], seen: K) -> None:
    kept.move_to_end(seen)
    if len(kept) > KEPT:
        kept.popitem(last=False)
