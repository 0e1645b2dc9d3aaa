"""Looks API keys up, caches them for two seconds in this process, and records in batches when they were last used."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from foliot.auth.identity import KEY_PURPOSE, SHAPE, KeyDigest, KeyRecord, Pepper
from foliot.core.access import Caller
from foliot.core.errors import Unauthenticated, Unavailable
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.api_keys.sql import SqlKeys

EVERY = timedelta(minutes=1)
MOST = 10_000
"""Keys that are buffered between two rounds."""


@dataclass(frozen=True, slots=True)
class UsesWritten:
    """The result of one round."""

    keys: int
    rest: float


@dataclass(slots=True, kw_only=True)
class LastUse:
    """An actor: requests record in memory, a round writes to the database."""

    store: Database
    period: float = 10.0
    name: str = "last-use"
    topics: Sequence[str] = ()
    _used: dict[str, datetime] = field(init=False, default_factory=dict)
    _written: dict[str, datetime] = field(init=False, default_factory=dict)

    def note(self, key_id: str, now: datetime) -> None:
        """Record a use. No I/O."""
        written = self._written.get(key_id)
        if (written is None or now - written >= EVERY) and (key_id in self._used or len(self._used) < MOST):
            self._used[key_id] = now

    async def run_once(self) -> UsesWritten:
        """Write the uses since the last round; after a failure the next round has them too."""
        used = dict(self._used)
        if used:
            async with self.store.begin() as tx:
                await SqlKeys(tx).note_use(used)
        for key_id, at in used.items():
            if self._used.get(key_id) == at:
                del self._used[key_id]
            self._written.pop(key_id, None)
            self._written[key_id] = at
        while len(self._written) > MOST:
            del self._written[next(iter(self._written))]
        return UsesWritten(len(used), self.period)


FRESH = 2.0
"""Seconds for which a revoked key may still be accepted here; a stream checks every second, so it ends within four."""
"""Cached lookups, including those of unknown keys."""

log = structlog.get_logger("foliot.auth")


@dataclass(slots=True, kw_only=True)
class KeyCache:
    """A cache of keys by their digest. The text of a key is never kept, not even in memory."""

    store: Database
    clock: Clock
    pepper: Pepper
    last_use: LastUse
    _found: dict[str, tuple[float, KeyRecord | None]] = field(init=False, default_factory=dict)
    _asking: dict[str, asyncio.Task[KeyRecord | None]] = field(init=False, default_factory=dict)

    async def caller(self, bearer: str) -> Caller:
        """The caller of this key; unknown, revoked and expired ones are `Unauthenticated` alike."""
        if not SHAPE.fullmatch(bearer):
            raise Unauthenticated
        prints = [KeyDigest(*made) for made in self.pepper.digests(KEY_PURPOSE, bearer)]
        key = await self._recall(prints[0].digest, lambda: self._by_prints(prints))
        now = self.clock.now()
        if key is None or not key.counts(now):
            raise Unauthenticated
        self.last_use.note(key.id, now)
        return key.caller()

    async def still(self, caller: Caller) -> bool:
        """Whether the caller's credential is still valid: the key not revoked, the token not expired."""
        now = self.clock.now()
        if caller.expires_at is not None and caller.expires_at <= now:
            return False
        if caller.key_id is None:
            return True
        key_id = caller.key_id
        key = await self._recall(key_id, lambda: self._by_id(key_id))
        return key is not None and key.counts(now)

    async def _recall(self, name: str, ask: Callable[[], Awaitable[KeyRecord | None]]) -> KeyRecord | None:
        """The cached record, or a fresh one; concurrent lookups of one key share one query."""
        at = self.clock.monotonic()
        known = self._found.get(name)
        if known is not None and 0 <= at - known[0] < FRESH:
            return known[1]
        task = self._asking.get(name)
        if task is None:
            task = self._asking[name] = asyncio.ensure_future(self._ask(name, at, ask))
        # A client that disconnects must not cancel the lookup that others wait for.
        return await asyncio.shield(task)

    async def _ask(self, name: str, at: float, ask: Callable[[], Awaitable[KeyRecord | None]]) -> KeyRecord | None:
        try:
            key = await ask()
        finally:
            del self._asking[name]
        self._found.pop(name, None)
        while len(self._found) >= MOST:
            del self._found[next(iter(self._found))]
        # Its age counts from before the query: a later change may be missing from the result.
        self._found[name] = at, key
        return key

    async def _by_id(self, key_id: str) -> KeyRecord | None:
        async with self.store.glance() as tx:
            return await SqlKeys(tx).by_id(key_id)

    async def _by_prints(self, prints: list[KeyDigest]) -> KeyRecord | None:
        async with self.store.glance() as tx:
            rows = await SqlKeys(tx).by_digests([one.digest for one in prints])
        for key, kept in rows:
            for one in prints:
                if hmac.compare_digest(kept.digest.encode(), one.digest.encode()):
                    if one != prints[0]:
                        await self._reprint(key, one, prints[0])
                    return key
        return None

    async def _reprint(self, key: KeyRecord, old: KeyDigest, new: KeyDigest) -> None:
        """Digest with the newest pepper, so that the old one can be dropped once all keys were used."""
        try:
            async with self.store.begin() as tx:
                await SqlKeys(tx).reprint(key.id, old, new)
        except Unavailable as away:
            log.warning(
                "a key is still hashed with an old pepper", action="reprint_failed", key_id=key.id, error=str(away)
            )
