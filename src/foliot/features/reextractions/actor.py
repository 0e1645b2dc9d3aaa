"""Reads the pages of bulk actions again: a group at a time, its versions and its progress in one transaction."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from foliot.core.ids import new_id
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.loop import rest_until
from foliot.features.bulk.model import BULKS_TOPIC, ON_PAGES, Bulk, BulkItem, BulkState, bulk_topic, turn
from foliot.features.bulk.sql import SqlBulks
from foliot.features.reextractions.model import PAGE_VERSION, PageItems, PageReading, StoredPageVersion
from foliot.features.reextractions.reader import StoredPageReader
from foliot.features.reextractions.sql import SqlPageVersions
from foliot.features.reextractions.usecases import AT_ONCE, content_of
from foliot.features.stored_pages.keeper import PageKeeper
from foliot.features.stored_pages.model import StoredPage
from foliot.features.stored_pages.sql import SqlPages
from foliot.wakeups.feed import Feed

LEASE = timedelta(seconds=15)
GROUP = 40
"""Pages that one transaction writes."""
RENEWED = 4.0
"""Seconds between two renewals of the lease while a group is read."""
READING = 60.0
"""Seconds after which a group is written as far as it has been read."""
BULKS_AT_ONCE = 4

Found = tuple[BulkItem, StoredPage | None, PageItems]


@dataclass(frozen=True, slots=True)
class PagesReread:
    """How many pages one round has read."""

    pages: int
    rest: float


def _holder() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{new_id('h')[-6:]}"


@dataclass(slots=True, kw_only=True)
class PageExtractions:
    """Safe on every node: one holds the lease of a bulk action, and what it has not written another reads again."""

    store: Database
    clock: Clock
    feed: Feed
    keeper: PageKeeper
    reader: StoredPageReader
    holder: str = field(default_factory=_holder)
    period: float = 2.0
    name: str = "page_extractor"
    topics: Sequence[str] = (BULKS_TOPIC,)

    async def run_once(self) -> PagesReread:
        now = self.clock.now()
        async with self.store.glance() as look:
            due = await SqlBulks(look).next_at(ON_PAGES)
        if due is None or due > now:
            return PagesReread(0, rest_until(due, now, self.period))
        async with self.store.begin() as tx:
            held = await SqlBulks(tx).claim(self.holder, now, LEASE, BULKS_AT_ONCE, ON_PAGES)
        if not held:
            # Another process holds it; if that one crashes, its lease expires.
            return PagesReread(0, self.period)
        return PagesReread(sum(await asyncio.gather(*(self._turn(bulk) for bulk in held))), 0)

    async def _turn(self, bulk: Bulk) -> int:
        began = self.clock.now()
        count, seconds = turn(bulk.rate)
        async with self.store.glance() as look:
            items = await SqlBulks(look).items(bulk.id, min(count, GROUP))
        async with self.store.read(bulk.tenant_id) as tx:
            there = await SqlPages(tx).several(bulk.tenant_id, [item.thing_id for item in items])
        found = await self._read(bulk, items, {page.id: page for page in there})
        written = await self._write(bulk, found, began + timedelta(seconds=seconds))
        self.feed.wake(bulk_topic(bulk.id))
        return written

    async def _read(self, bulk: Bulk, items: Sequence[BulkItem], pages: Mapping[str, StoredPage]) -> list[Found]:
        """As many as are read in time, several at once; the others stay pending."""
        how = PageReading.of(bulk.details or {})
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(item: BulkItem) -> Found:
            page = pages.get(item.thing_id)
            if page is None:
                return item, None, PageItems(problem="the page is no longer stored")
            async with slots:
                content = await content_of(self.store, self.keeper, page)
                if isinstance(content, str):
                    return item, page, PageItems(problem=content)
                return item, page, await self.reader.read(bulk.tenant_id, how, content)

        tasks = [asyncio.create_task(one(item)) for item in items]
        if not tasks:
            return []
        try:
            for _ in range(int(READING / RENEWED)):
                _, waiting = await asyncio.wait(tasks, timeout=RENEWED)
                if not waiting:
                    break
                async with self.store.begin(bulk.tenant_id) as tx:
                    await SqlBulks(tx).renew(bulk.id, self.holder, self.clock.now(), LEASE)
            return [task.result() for task in tasks if task.done()]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _write(self, bulk: Bulk, found: Sequence[Found], until: datetime) -> int:
        """The versions and their items, together: a page that was read is read once, whatever happens in between."""
        async with self.store.begin(bulk.tenant_id) as tx:
            now = self.clock.now()
            seen = await SqlBulks(tx).get(bulk.tenant_id, bulk.id, lock=True)
            if seen is None or seen.state is not BulkState.RUNNING:
                return 0
            failures = {item.position: read.problem for item, _, read in found}
            settled = await SqlBulks(tx).settle_many(bulk, self.holder, failures, now) if found else frozenset()
            if settled is None:
                return 0
            good = [
                (page, read) for item, page, read in found if page and not read.problem and item.position in settled
            ]
            await SqlPageVersions(tx).add([self._version(bulk, page, read, now) for page, read in good])
            failed = seen.failed + sum(failures[at] is not None for at in settled)
            if seen.done + len(settled) >= seen.total:
                await SqlBulks(tx).turn(bulk.id, BulkState.FINISHED, "", now)
            elif seen.stop_after is not None and failed >= seen.stop_after:
                said = f"stopped after {failed} failures, as requested"
                await SqlBulks(tx).turn(bulk.id, BulkState.STOPPED, said, now)
            else:
                await SqlBulks(tx).rest(bulk.id, self.holder, until)
            return len(settled)

    def _version(self, bulk: Bulk, page: StoredPage, read: PageItems, now: datetime) -> StoredPageVersion:
        details = dict(bulk.details or {})
        keep = timedelta(seconds=details.pop("keep", timedelta(days=365).total_seconds()))
        return StoredPageVersion(
            id=new_id(PAGE_VERSION),
            tenant_id=bulk.tenant_id,
            page_id=page.id,
            url=page.url,
            bulk_id=bulk.id,
            at=now,
            reading=details,
            found=read.items,
            expires_at=now + keep,
        )
