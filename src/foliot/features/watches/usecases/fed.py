"""Watches that a task feeds: its runs visit the pages, and what they read becomes versions, changes and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from foliot.core.ids import new_id
from foliot.db.database import Database, Transaction
from foliot.features.fetching.url import BadUrl, one_spelling
from foliot.features.watches.model.request import as_document
from foliot.features.watches.model.visit import Reading, VisitJudge
from foliot.features.watches.model.watch import (
    MOST_PAGES,
    MOST_WATCHES,
    WATCH,
    PageSources,
    PageState,
    Watch,
    WatchSettings,
    page_of,
    url_hash,
)
from foliot.features.watches.recorder import VisitRecorder
from foliot.features.watches.sql.pages import SqlWatchedPages
from foliot.features.watches.sql.watches import SqlWatches
from foliot.features.watches.stored import read_stored
from foliot.wakeups.feed import Feed

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class FedVisit:
    """What a task read on a page, or why it could not."""

    url: str
    fields: Mapping[str, Any]
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FedWatch:
    """One watch of a tenant whose pages a task visits. It is created by the first run of a schedule that has any."""

    store: Database
    recorder: VisitRecorder
    name: str
    task: str
    fields: Mapping[str, Mapping[str, Any]]
    tags: tuple[str, ...] = ()

    async def record(
        self, tenant_id: str, schedule_id: str, run_id: str, visits: Sequence[FedVisit], now: datetime
    ) -> None:
        """A watch of this name that a person has made is left alone: nothing is recorded then."""
        by_hash: dict[str, FedVisit] = {}
        for visit in visits:
            try:
                url = one_spelling(visit.url)
            except BadUrl:
                continue
            by_hash[url_hash(url)] = replace(visit, url=url)
        if not by_hash:
            return
        async with self.store.begin(tenant_id) as tx:
            watch = await self._watch(tx, tenant_id, schedule_id, [visit.url for visit in by_hash.values()], now)
            if watch is None:
                return
            hashes = list(by_hash)
            pages = [
                page
                for start in range(0, len(hashes), AT_ONCE)
                for page in await SqlWatchedPages(tx).of_hashes(watch.id, hashes[start : start + AT_ONCE])
            ]
        condition, reading = watch.settings.condition, watch.settings.reading_digest
        judge = VisitJudge(watch=watch, run_id=run_id, condition=condition, reading=reading)
        for start in range(0, len(pages), AT_ONCE):
            part = pages[start : start + AT_ONCE]
            results = [judge.judge(page, _reading(by_hash[page.url_hash]), None, now) for page in part]
            await self.recorder.write(watch, run_id, results, now)

    async def _watch(
        self, tx: Transaction, tenant_id: str, schedule_id: str, urls: Sequence[str], now: datetime
    ) -> Watch | None:
        watches, pages = SqlWatches(tx), SqlWatchedPages(tx)
        watch_id = await watches.id_named(tenant_id, self.name)
        watch = None if watch_id is None else await watches.get(tenant_id, watch_id, read_stored, lock=True)
        if watch is not None and watch.settings.fed_by != self.task:
            return None
        known = () if watch is None else watch.settings.sources.urls
        listed = tuple(dict.fromkeys([*known, *urls]))[:MOST_PAGES]
        if watch is None:
            if await watches.count(tenant_id) >= MOST_WATCHES:
                return None
            watch = self._new(tenant_id, schedule_id, listed, now)
            await watches.add(watch, None)
        elif listed != known:
            settings = replace(watch.settings, sources=PageSources(urls=listed))
            watch = replace(watch, settings=settings, document=as_document(settings), pages=len(listed), updated_at=now)
            await watches.change(watch)
        new = set(listed) - set(known)
        await pages.add([page_of(watch, url, now) for url in listed if url in new])
        return watch

    def _new(self, tenant_id: str, schedule_id: str, urls: tuple[str, ...], now: datetime) -> Watch:
        settings = WatchSettings(
            name=self.name, sources=PageSources(urls=urls), fields=self.fields, schedule={}, tags=self.tags,
            fed_by=self.task,
        )  # fmt: skip
        return Watch(
            id=new_id(WATCH),
            tenant_id=tenant_id,
            settings=settings,
            document=as_document(settings),
            schedule_id=schedule_id,
            key_of="",
            created_by=self.task,
            created_at=now,
            updated_at=now,
            pages=len(urls),
        )


def recorder_of(store: Database, feed: Feed) -> VisitRecorder:
    return VisitRecorder(store=store, feed=feed)


def _reading(visit: FedVisit) -> Reading:
    if visit.problem is None:
        return Reading(state=PageState.SAME, fields=visit.fields)
    return Reading(state=PageState.ERROR, problem={"code": "not_read", "message": visit.problem[:500]})
