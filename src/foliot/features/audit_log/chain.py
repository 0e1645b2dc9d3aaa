"""Verifies the audit log's hash chains: every tenant's entries are unaltered, complete and in order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from foliot.commands.audit_sql import GENESIS, ChainHead, ChainLink, SqlAuditLog, seal
from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb
from foliot.core.document import rfc3339
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction

PAGE = 1000
PATIENCE = timedelta(minutes=1)
"""How long an entry may stay unchained before that is reported: then no chainer seems to be running."""
_FIRST = -(2**63)


@dataclass(frozen=True, slots=True)
class ChainBreak:
    """The first break of a tenant's chain.

    `kind`: `altered`, `missing`, `reordered`, `truncated`, `rewritten`, `head` or `waiting`.
    """

    tenant_id: str
    kind: str
    what: str
    seq: int | None = None
    entry_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChainsVerified:
    """The result of a verification. Heads kept elsewhere let a later one detect a chain that was rewritten whole."""

    tenants: int
    entries: int
    breaks: Sequence[ChainBreak]
    heads: Sequence[ChainHead]
    waiting: int = 0
    """Entries that are not chained yet, and so not verified: they are chained within a second."""


class _ChainBroken(Exception):
    def __init__(self, kind: str, what: str, seq: int | None = None, entry_id: str | None = None) -> None:
        super().__init__(what)
        self.kind, self.what, self.seq, self.entry_id = kind, what, seq, entry_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainVerifier:
    """Reads each tenant's chain in one snapshot, a page at a time, so that a running chainer does not disturb it."""

    store: Database
    clock: Clock

    @query(Verb.READ, Thing.INSTALLATION)
    async def length(self, ctx: QueryContext) -> int:
        """The number of chained entries, by the heads."""
        async with ctx.read(across_tenants=True) as tx:
            return await SqlAuditLog(tx).length()

    @query(Verb.READ, Thing.INSTALLATION)
    async def verify(
        self,
        ctx: QueryContext,
        *,
        earlier: Sequence[ChainHead] = (),
        progress: Callable[[int], None] | None = None,
    ) -> ChainsVerified:
        """Verify all tenants, and report the first break of each. `earlier` heads must still be in their chains."""
        known = {head.tenant_id: head for head in earlier if head.seq > 0}
        breaks: list[ChainBreak] = []
        heads: list[ChainHead] = []
        entries = waiting = 0
        async for tenant_id in self._tenants():
            async with ctx.read(across_tenants=True) as tx:
                walk = _ChainWalk(tx, tenant_id, known.pop(tenant_id, None))
                try:
                    async for seen in walk.pages():
                        if progress is not None:
                            progress(entries + seen)
                    await self._impatience(tx, tenant_id)
                except _ChainBroken as found:
                    breaks.append(ChainBreak(tenant_id, found.kind, found.what, found.seq, found.entry_id))
                entries += walk.seen
                waiting += await SqlAuditLog(tx).count_waiting(tenant_id)
                heads.append(ChainHead(tenant_id, walk.seq, walk.digest))
        breaks += [ChainBreak(head.tenant_id, "truncated", _gone(head, 0), 1) for head in known.values()]
        return ChainsVerified(len(heads), entries, breaks, heads, waiting)

    async def _tenants(self) -> AsyncIterator[str]:
        after = ""
        while (found := await self._next(after)) is not None:
            yield found
            after = found

    async def _next(self, after: str) -> str | None:
        async with self.store.read() as tx:
            return await SqlAuditLog(tx).next_tenant(after)

    async def _impatience(self, tx: Transaction, tenant_id: str) -> None:
        oldest = await SqlAuditLog(tx).oldest_waiting(tenant_id)
        if oldest is not None and oldest < self.clock.now() - PATIENCE:
            since = f"entries have waited for their place since {rfc3339(oldest)}"
            raise _ChainBroken(
                "waiting", f"{since}: no scheduler chains them (start one: foliot up or foliot scheduler)"
            )


@dataclass(slots=True)
class _ChainWalk:
    """Verifies one tenant's chain, link by link: `seq` and `digest` are those of the last intact one."""

    tx: Transaction
    tenant_id: str
    known: ChainHead | None
    seq: int = 0
    digest: str = GENESIS
    seen: int = 0

    async def pages(self) -> AsyncIterator[int]:
        """The number of links verified, after each page; `_ChainBroken` at the first that is wrong."""
        after = _FIRST
        while links := await SqlAuditLog(self.tx).walk(self.tenant_id, after, PAGE):
            for place, link in enumerate(links):
                self._check(link, links, place)
                self.seq, self.digest = link.seq, link.digest
                self.seen += 1
                self._compare()
            after = self.seq
            yield self.seen
        self._check_head(await SqlAuditLog(self.tx).head(self.tenant_id))

    def _check(self, link: ChainLink, links: Sequence[ChainLink], place: int) -> None:
        expected = self.seq + 1
        if link.seq > expected:
            gap = f"seq {expected}" if link.seq == expected + 1 else f"seq {expected} to {link.seq - 1}"
            raise _ChainBroken(
                "missing", f"missing: {gap}; the next entry is {link.entry_id} (seq {link.seq})", expected
            )
        if link.seq < expected:
            raise _ChainBroken(
                "reordered", f"reordered: entry {link.entry_id} is at seq {link.seq}, which no chain has", link.seq
            )
        if link.digest == seal(self.digest, expected, link.content):
            return
        named = (expected, link.entry_id)
        for other in links[place + 1 :]:
            if seal(self.digest, expected, other.content) in {link.digest, other.digest}:
                moved = f"entry {other.entry_id} belongs at seq {expected} and is at seq {other.seq}"
                raise _ChainBroken("reordered", f"reordered: {moved}; in its place stands {link.entry_id}", *named)
        raise _ChainBroken(
            "altered", f"altered: entry {link.entry_id} (seq {expected}) differs from what was chained", *named
        )

    def _compare(self) -> None:
        """A chain that was rewritten as a whole is consistent in itself; only an earlier head shows it."""
        if self.known is not None and self.seq == self.known.seq and self.digest != self.known.digest:
            raise _ChainBroken("rewritten", f"rewritten: seq {self.seq} or one before it was changed", self.seq)

    def _check_head(self, head: ChainHead | None) -> None:
        if self.known is not None and self.seq < self.known.seq:
            raise _ChainBroken("truncated", _gone(self.known, self.seq), self.seq + 1)
        if head is None:
            if self.seq:
                raise _ChainBroken("head", f"head: it is missing; the last entry is seq {self.seq}")
        elif head.seq > self.seq:
            raise _ChainBroken("truncated", f"truncated: the head says seq {head.seq}, {_last(self.seq)}", self.seq + 1)
        elif head.seq < self.seq:
            raise _ChainBroken(
                "head", f"head: it says seq {head.seq}, but entries go on to seq {self.seq}", head.seq + 1
            )
        elif head.digest != self.digest:
            raise _ChainBroken("head", f"head: its digest is not that of the last entry, seq {self.seq}", self.seq)


def _gone(earlier: ChainHead, last: int) -> str:
    return f"truncated: it went to seq {earlier.seq} before, {_last(last)}"


def _last(seq: int) -> str:
    return f"the last entry is seq {seq}" if seq else "there are no entries"
