"""Rows of watched pages, their versions and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, exists, func, insert, or_, select, update

from foliot.db.database import Statements
from foliot.engine.model.views import PageRequest
from foliot.features.stored_pages.bodies import compress, decompress
from foliot.features.watches.model.revisit import ChangeRate
from foliot.features.watches.model.watch import MOST_PAGES, MOST_TEXT_BYTES, PageState, PageVersion, WatchedPage
from foliot.features.watches.tables import watch_pages, watch_texts, watch_versions

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class SqlWatchedPages(Statements):
    """Reads and writes the pages of watches."""

    async def add(self, pages: Sequence[WatchedPage]) -> None:
        """Those that the watch has already stay as they are."""
        for start in range(0, len(pages), AT_ONCE):
            rows = [_row(page) for page in pages[start : start + AT_ONCE]]
            columns = {name: [row[name] for row in rows] for name in rows[0]}
            await self.dialect.insert(self.conn, watch_pages, columns, conflict="ignore")

    async def list_only(self, watch_id: str, hashes: Sequence[str]) -> None:
        """Which pages are the watch's: these, and none of its others."""
        mine = watch_pages.c.watch_id == watch_id
        await self.conn.execute(update(watch_pages).where(mine, watch_pages.c.listed).values(listed=False))
        await self.put_on_list(watch_id, hashes, listed=True)

    async def put_on_list(self, watch_id: str, hashes: Sequence[str], *, listed: bool) -> None:
        """These are the watch's again, or no longer."""
        for start in range(0, len(hashes), AT_ONCE):
            among = self.dialect.among(watch_pages.c.url_hash, hashes[start : start + AT_ONCE])
            mine = (watch_pages.c.watch_id == watch_id, among)
            await self.conn.execute(update(watch_pages).where(*mine).values(listed=listed))

    async def forget_unlisted(self, watch_id: str, most: int) -> None:
        """Of the pages that are no longer the watch's, the newest stay; the others go with their versions."""
        gone = (watch_pages.c.watch_id == watch_id, ~watch_pages.c.listed)
        query = select(watch_pages.c.id).where(*gone).order_by(watch_pages.c.id.desc()).offset(most).limit(MOST_PAGES)
        ids = list((await self.conn.execute(query)).scalars())
        for start in range(0, len(ids), AT_ONCE):
            part = ids[start : start + AT_ONCE]
            await SqlVersions(self.tx).forget_pages(part)
            await self.conn.execute(delete(watch_pages).where(self.dialect.among(watch_pages.c.id, part)))

    async def bring_forward(self, watch_id: str, hashes: Sequence[str], now: datetime) -> None:
        """Let these pages be visited by this run, where visits are planned."""
        for start in range(0, len(hashes), AT_ONCE):
            among = self.dialect.among(watch_pages.c.url_hash, hashes[start : start + AT_ONCE])
            later = (watch_pages.c.watch_id == watch_id, watch_pages.c.next_visit_at > now)
            values = {"next_visit_at": now, "why_then": "its sitemap no longer lists it"}
            await self.conn.execute(update(watch_pages).where(*later, among).values(**values))

    async def count(self, watch_id: str) -> int:
        query = select(func.count()).select_from(watch_pages)
        return (await self.conn.scalar(query.where(watch_pages.c.watch_id == watch_id, watch_pages.c.listed))) or 0

    async def states(self, watch_id: str) -> Mapping[str, int]:
        query = select(watch_pages.c.state, func.count().label("number")).where(watch_pages.c.watch_id == watch_id)
        rows = await self.conn.execute(query.where(watch_pages.c.listed).group_by(watch_pages.c.state))
        return {row.state: row.number for row in rows}

    async def listed(self, watch_id: str) -> Mapping[str, tuple[str, bool]]:
        """Id, and whether it is listed, by the hash of the URL."""
        columns = (watch_pages.c.url_hash, watch_pages.c.id, watch_pages.c.listed)
        rows = await self.conn.execute(select(*columns).where(watch_pages.c.watch_id == watch_id))
        return {row.url_hash: (row.id, row.listed) for row in rows}

    async def find(
        self, tenant_id: str, watch_id: str, page: PageRequest, state: PageState | None = None, q: str = ""
    ) -> list[WatchedPage]:
        """In the order in which they were added."""
        mine = (watch_pages.c.tenant_id == tenant_id, watch_pages.c.watch_id == watch_id, watch_pages.c.listed)
        query = select(watch_pages).where(*mine)
        if state is not None:
            query = query.where(watch_pages.c.state == state.value)
        if q:
            query = query.where(watch_pages.c.url.contains(q, autoescape=True))
        if page.cursor is not None:
            query = query.where(watch_pages.c.id > page.cursor)
        return [page_of(row) for row in await self.conn.execute(query.order_by(watch_pages.c.id).limit(page.limit))]

    async def get(self, tenant_id: str, watch_id: str, page_id: str) -> WatchedPage | None:
        this = (watch_pages.c.tenant_id == tenant_id, watch_pages.c.watch_id == watch_id, watch_pages.c.id == page_id)
        row = (await self.conn.execute(select(watch_pages).where(*this))).first()
        return None if row is None else page_of(row)

    async def of_hashes(self, watch_id: str, hashes: Sequence[str]) -> list[WatchedPage]:
        among = self.dialect.among(watch_pages.c.url_hash, hashes)
        rows = await self.conn.execute(select(watch_pages).where(watch_pages.c.watch_id == watch_id, among))
        return [page_of(row) for row in rows]

    async def unread(self, watch_id: str, run_id: str, after: str, limit: int) -> list[WatchedPage]:
        """Pages that this run has not read yet, by id from this one on."""
        mine = (watch_pages.c.watch_id == watch_id, watch_pages.c.listed, watch_pages.c.id > after)
        unread = or_(watch_pages.c.run_id.is_(None), watch_pages.c.run_id != run_id)
        query = select(watch_pages).where(*mine, unread).order_by(watch_pages.c.id).limit(limit)
        return [page_of(row) for row in await self.conn.execute(query)]

    async def due(self, watch_id: str, now: datetime, limit: int) -> list[WatchedPage]:
        """Pages whose next visit is due: new ones first, then the longest overdue."""
        mine = (watch_pages.c.watch_id == watch_id, watch_pages.c.listed)
        new = select(watch_pages).where(*mine, watch_pages.c.next_visit_at.is_(None)).order_by(watch_pages.c.id)
        found = [page_of(row) for row in await self.conn.execute(new.limit(limit))]
        if len(found) < limit:
            late = select(watch_pages).where(*mine, watch_pages.c.next_visit_at <= now)
            late = late.order_by(watch_pages.c.next_visit_at).limit(limit - len(found))
            found += [page_of(row) for row in await self.conn.execute(late)]
        return found

    async def rates(self, watch_id: str) -> list[ChangeRate | None]:
        """What is known about the rate of each page that is visited; None where nothing is."""
        columns = (watch_pages.c.rate_shape, watch_pages.c.rate_time)
        query = select(*columns).where(watch_pages.c.watch_id == watch_id, watch_pages.c.listed)
        rows = await self.conn.execute(query.where(watch_pages.c.state != PageState.REMOVED.value))
        return [None if row.rate_shape is None else ChangeRate(row.rate_shape, row.rate_time) for row in rows]

    async def next_visit(self, watch_ids: Sequence[str]) -> Mapping[str, datetime]:
        """The first visit that is planned, by watch."""
        mine = (self.dialect.among(watch_pages.c.watch_id, watch_ids), watch_pages.c.listed)
        query = select(watch_pages.c.watch_id, func.min(watch_pages.c.next_visit_at)).where(*mine)
        rows = await self.conn.execute(query.group_by(watch_pages.c.watch_id))
        return {watch_id: moment for watch_id, moment in rows if moment is not None}

    async def hint(self, watch_id: str, hashes: Sequence[str], now: datetime) -> None:
        """Bring the next visits of these pages forward."""
        for start in range(0, len(hashes), AT_ONCE):
            among = self.dialect.among(watch_pages.c.url_hash, hashes[start : start + AT_ONCE])
            mine = (watch_pages.c.watch_id == watch_id, watch_pages.c.next_visit_at > now)
            values = {"next_visit_at": now, "hinted": True, "why_then": "its source names a newer version"}
            await self.conn.execute(update(watch_pages).where(*mine, among).values(**values))

    async def replan(self, watch_id: str) -> None:
        """Plan all visits anew, as those of pages that were never visited."""
        values = {"next_visit_at": None, "why_then": None, "hinted": False}
        await self.conn.execute(update(watch_pages).where(watch_pages.c.watch_id == watch_id).values(**values))

    async def move(self, before: WatchedPage, page: WatchedPage) -> bool:
        """Whether the page was still as it was before the visit; otherwise another process visited it, or a change
        of the watch took it away, and this visit counts for nothing.
        """
        values = {name: value for name, value in _row(page).items() if name not in _FIXED}
        this = and_(watch_pages.c.id == page.id, watch_pages.c.visits == before.visits)
        changed = await self.conn.execute(update(watch_pages).where(this).values(**values))
        return changed.rowcount == 1


_FIXED = frozenset({"id", "tenant_id", "watch_id", "url", "url_hash", "listed", "found", "first_at"})


@dataclass(frozen=True, slots=True)
class SqlVersions(Statements):
    """Reads and writes versions and their texts."""

    async def add(self, version: PageVersion, text: str | None) -> None:
        if text is not None and version.text_hash is not None:
            body = text.encode("utf-8", "replace")
            data = compress(body)
            columns = {
                "tenant_id": [version.tenant_id],
                "hash": [version.text_hash],
                "bytes": [len(body)],
                "stored_bytes": [len(data)],
                "data": [data],
            }
            await self.dialect.insert(self.conn, watch_texts, columns, conflict="ignore")
        names = [column.name for column in watch_versions.c]
        await self.conn.execute(insert(watch_versions).values(**{name: getattr(version, name) for name in names}))

    async def find(self, tenant_id: str, page_id: str, page: PageRequest) -> list[PageVersion]:
        """Newest first."""
        query = select(watch_versions).where(*_of_page(tenant_id, page_id))
        if page.cursor is not None:
            query = query.where(watch_versions.c.id < page.cursor)
        rows = await self.conn.execute(query.order_by(watch_versions.c.id.desc()).limit(page.limit))
        return [_version(row) for row in rows]

    async def get(self, tenant_id: str, page_id: str, version_id: str) -> PageVersion | None:
        query = select(watch_versions).where(*_of_page(tenant_id, page_id), watch_versions.c.id == version_id)
        row = (await self.conn.execute(query)).first()
        return None if row is None else _version(row)

    async def texts(self, tenant_id: str, version_ids: Sequence[str]) -> Mapping[str, str]:
        """The texts of these versions, by version."""
        joined = and_(
            watch_texts.c.tenant_id == watch_versions.c.tenant_id, watch_texts.c.hash == watch_versions.c.text_hash
        )
        query = select(watch_versions.c.id, watch_texts.c.data).join_from(watch_versions, watch_texts, joined)
        query = query.where(watch_versions.c.tenant_id == tenant_id)
        rows = await self.conn.execute(query.where(self.dialect.among(watch_versions.c.id, version_ids)))
        return {row.id: decompress(row.data, MOST_TEXT_BYTES).decode("utf-8", "replace") for row in rows}

    async def fields(self, tenant_id: str, version_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """The fields of these versions, by version."""
        query = select(watch_versions.c.id, watch_versions.c.fields).where(watch_versions.c.tenant_id == tenant_id)
        rows = await self.conn.execute(query.where(self.dialect.among(watch_versions.c.id, version_ids)))
        return {row.id: row.fields for row in rows}

    async def prune(self, now: datetime, limit: int) -> None:
        """Delete versions whose time is over, but never the one that a page stands at."""
        standing = watch_pages.c.version_id == watch_versions.c.id
        current = exists().where(watch_pages.c.id == watch_versions.c.page_id, standing)
        old = select(watch_versions.c.id).where(watch_versions.c.expires_at < now, ~current).limit(limit)
        ids = list((await self.conn.execute(old)).scalars())
        if ids:
            await self._drop(self.dialect.among(watch_versions.c.id, ids))

    async def trim(self, page_id: str, most: int) -> None:
        """Keep the newest of a page."""
        query = select(watch_versions.c.id).where(watch_versions.c.page_id == page_id)
        oldest = await self.conn.scalar(query.order_by(watch_versions.c.id.desc()).offset(most - 1).limit(1))
        if oldest is not None:
            await self._drop(and_(watch_versions.c.page_id == page_id, watch_versions.c.id < oldest))

    async def forget_pages(self, page_ids: Sequence[str]) -> None:
        """Delete the versions of these pages."""
        await self._drop(self.dialect.among(watch_versions.c.page_id, page_ids))

    async def forget(self, watch_id: str) -> None:
        """Delete the versions of a watch."""
        await self._drop(watch_versions.c.watch_id == watch_id)

    async def _drop(self, which: ColumnElement[bool]) -> None:
        """With the texts that no version refers to any more."""
        columns = (watch_versions.c.tenant_id, watch_versions.c.text_hash)
        query = select(*columns).where(which, watch_versions.c.text_hash.is_not(None)).distinct()
        rows = (await self.conn.execute(query)).all()
        await self.conn.execute(delete(watch_versions).where(which))
        used = exists().where(
            watch_versions.c.tenant_id == watch_texts.c.tenant_id, watch_versions.c.text_hash == watch_texts.c.hash
        )
        by_tenant: dict[str, list[str]] = {}
        for row in rows:
            by_tenant.setdefault(row.tenant_id, []).append(row.text_hash)
        for tenant_id, hashes in by_tenant.items():
            for start in range(0, len(hashes), AT_ONCE):
                among = self.dialect.among(watch_texts.c.hash, hashes[start : start + AT_ONCE])
                await self.conn.execute(delete(watch_texts).where(watch_texts.c.tenant_id == tenant_id, among, ~used))


def _of_page(tenant_id: str, page_id: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return watch_versions.c.tenant_id == tenant_id, watch_versions.c.page_id == page_id


def _row(page: WatchedPage) -> dict[str, Any]:
    named = {column.name for column in watch_pages.c} - {"rate_shape", "rate_time", "state"}
    row = {name: getattr(page, name) for name in named}
    rate = page.rate
    return row | {
        "state": page.state.value,
        "fields": dict(page.fields),
        "rate_shape": None if rate is None else rate.shape,
        "rate_time": None if rate is None else rate.time,
    }


_PLAIN = tuple(column.name for column in watch_pages.c if column.name not in {"rate_shape", "rate_time", "state"})


def page_of(row: Any) -> WatchedPage:
    values = {name: getattr(row, name) for name in _PLAIN}
    rate = None if row.rate_shape is None else ChangeRate(row.rate_shape, row.rate_time)
    return replace(WatchedPage(**values), state=PageState(row.state), rate=rate)


def _version(row: Any) -> PageVersion:
    return PageVersion(**{column.name: getattr(row, column.name) for column in watch_versions.c})
