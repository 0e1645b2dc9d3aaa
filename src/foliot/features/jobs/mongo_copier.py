"""Copies jobs and the items of crawls to MongoDB: new ones by id, open ones until they have ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from foliot.core.ids import RUN, floor_id
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.run import RunState
from foliot.features.articles.model import KIND as ARTICLES
from foliot.features.articles.mongo import SinkUnavailable
from foliot.features.articles.mongo_copier import ArticlesCopied
from foliot.features.crawls.model import CRAWL, JobView
from foliot.features.expectations.sql import SqlExpectations
from foliot.features.jobs import mongo_documents
from foliot.features.jobs.sql import SqlJobs

if TYPE_CHECKING:
    from foliot.features.articles.mongo import MongoJobs

PERIOD = 2.0
LOOK = 500
"""Jobs per query."""
ITEMS = 500
OVERLAP = timedelta(seconds=30)
"""Ids are created before their run commits, so one may appear behind a newer one: each round looks back this far."""
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True, kw_only=True)
class JobCopier:
    """May run on any number of nodes: each writes the same documents under the same ids."""

    clock: Clock
    store: Database
    sink: MongoJobs
    name: str = "job_copier"
    topics: Sequence[str] = ()
    period: float = PERIOD
    overlap: timedelta = OVERLAP
    written: int = 0
    refused: int = 0
    away: str | None = None
    _from: datetime | None = None
    _open: dict[str, datetime] = field(default_factory=dict)
    """Jobs that have not ended, by creation time: every round reads them again."""
    _known: dict[str, int] = field(default_factory=dict)
    """The last event number of each job that was written and may be read again."""
    _released: dict[str, datetime] = field(default_factory=dict)
    """Degraded crawls whose items were written after their release, for as long as they may be listed again."""

    async def run_once(self) -> ArticlesCopied:
        try:
            copied = await self._copy()
        except SinkUnavailable as away:
            self.away = away.told
            raise
        self.away = None
        return copied

    def report(self) -> Mapping[str, Any]:
        return {"mongodb_jobs": {"written": self.written, "refused": self.refused, "error": self.away}}

    async def _copy(self) -> ArticlesCopied:
        if self._from is None:
            self._from = await self.sink.mark() or BEGINNING
        began = self.clock.now()
        count = 0
        for run_ids in _groups(sorted(self._open)):
            count += await self._write(run_ids)
        after = floor_id(RUN, self._from)
        while new := await self._new(after):
            count += await self._write([run_id for run_id in new if run_id not in self._open])
            after = new[-1]
        count += await self._write_released(max(self._from - self.overlap, BEGINNING))
        await self._go_on(began)
        return ArticlesCopied(count, self.period)

    async def _write_released(self, since: datetime) -> int:
        """The items of degraded crawls that were released since then."""
        count, after = 0, (since, "")
        while released := await self._released_after(after):
            new = [run_id for _, run_id in released if run_id not in self._released]
            async with self.store.read() as tx:
                views = await SqlJobs(tx).views(new) if new else []
            for view in views:
                if view.kind == CRAWL:
                    await self._write_items(view)
                    count += 1
            self._released |= {run_id: at for at, run_id in released}
            after = released[-1]
        self._released = {run_id: at for run_id, at in self._released.items() if at >= since}
        return count

    async def _released_after(self, after: tuple[datetime, str]) -> Sequence[tuple[datetime, str]]:
        async with self.store.read() as tx:
            return await SqlExpectations(tx).released(after, LOOK)

    async def _new(self, after: str) -> Sequence[str]:
        async with self.store.read() as tx:
            return await SqlJobs(tx).all_after((CRAWL, ARTICLES), after, LOOK)

    async def _write(self, run_ids: Sequence[str]) -> int:
        if not run_ids:
            return 0
        async with self.store.read() as tx:
            views = await SqlJobs(tx).views(run_ids)
        for gone in set(run_ids) - {view.id for view in views}:
            self._open.pop(gone, None)
        changed = [view for view in views if self._known.get(view.id) != view.event_seq]
        for view in changed:
            # The items of a degraded crawl are withheld until a person releases them.
            if view.kind == CRAWL and view.state.final and view.state is not RunState.DEGRADED:
                await self._write_items(view)
        if changed:
            self._count(len(changed), await self.sink.write_jobs([mongo_documents.job(view) for view in changed]))
        for view in views:
            self._known[view.id] = view.event_seq
            if view.state.final:
                self._open.pop(view.id, None)
            else:
                self._open[view.id] = view.created_at
        return len(changed)

    async def _write_items(self, view: JobView) -> None:
        skip = 0
        while found := await self._items(view, skip):
            documents = mongo_documents.items(view, found, skip)
            self._count(len(documents), await self.sink.write_items(documents))
            skip += len(found)

    async def _items(self, view: JobView, skip: int) -> Sequence[Any]:
        async with self.store.read() as tx:
            return (await SqlJobs(tx).items(view.tenant_id, view.id, view.attempt, skip, ITEMS)).items

    def _count(self, many: int, refused: int) -> None:
        self.refused += refused
        self.written += many - refused

    async def _go_on(self, began: datetime) -> None:
        """After a restart it must read every open job again, and the last of those that have ended."""
        before = min([began - self.overlap, *self._open.values()])
        self._from = began - self.overlap
        await self.sink.remember(before)
        floor = floor_id(RUN, self._from)
        self._known = {run_id: seq for run_id, seq in self._known.items() if run_id >= floor or run_id in self._open}


def _groups(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + LOOK] for start in range(0, len(ids), LOOK)]
