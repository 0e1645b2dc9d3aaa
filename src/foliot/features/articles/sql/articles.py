"""Statements on articles: submit, claim within the hosts' rate limits, renew leases, record endings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Select, Update, bindparam, func, select, update

from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.db.metadata import Moment
from foliot.engine.model.run import Fence
from foliot.engine.sql.leases import Leases, until
from foliot.features.articles.model import (
    QUEUE,
    ArticleCounts,
    ArticleStatus,
    ArticleView,
    Avoid,
    ChangeCursor,
    ChangedArticle,
    ClaimedArticle,
    EndingsEffect,
    FetchEnding,
    ItemView,
    PreviousContent,
    WantedArticle,
)
from foliot.features.articles.sql import batches
from foliot.features.articles.sql import endings as article_endings
from foliot.features.articles.sql import views as article_views
from foliot.features.articles.sql.batch_runs import SqlBatchRuns
from foliot.features.articles.sql.picks import ArticlePick, in_flight, picks
from foliot.features.articles.tables import articles
from foliot.features.fetching.model import DEFAULT_OPTIONS, FetchOptions, options_at
from foliot.features.fetching.politeness import Politeness, leeway
from foliot.features.fetching.sql import host_pauses, hosts
from foliot.features.fetching.tables import hosts as host_rows

TAKER = "articles"
"""Claims of articles, by whichever process, among those that take turns at a host."""

_TAKEABLE = (
    articles.c.id,
    articles.c.tenant_id,
    articles.c.url,
    articles.c.host,
    articles.c.moved_to,
    articles.c.moves,
    articles.c.attempt,
    articles.c.epoch,
    articles.c.etag,
    articles.c.last_modified,
    articles.c.scraped_at,
    articles.c.options,
)


@cache
def _takeable(dialect: Dialect) -> Select[Any]:
    ready = articles.c.ready_at <= bindparam("b_now", type_=Moment())
    query = select(*_TAKEABLE).where(dialect.listed(articles.c.id, "ids"), articles.c.lane.is_not(None), ready)
    return dialect.lock(query.order_by(articles.c.id), skip=True)


@cache
def _take(dialect: Dialect, own_clock: bool) -> Update:  # noqa: FBT001 -- part of the cache's key
    now = bindparam("b_now", type_=Moment())
    return (
        update(articles)
        .where(dialect.listed(articles.c.id, "ids"), articles.c.lane.is_not(None))
        .values(
            epoch=articles.c.epoch + 1,
            attempt=articles.c.attempt + 1,
            status=ArticleStatus.SCRAPING.value,
            lane=None,
            token=bindparam("b_token"),
            worker=bindparam("b_worker"),
            lease_until=until(dialect, own_clock),
            attempted_at=now,
            updated_at=now,
        )
    )


@dataclass(frozen=True, slots=True)
class SqlArticles(Statements):
    """Statements of the use cases and actors on articles."""

    @property
    def leases(self) -> Leases:
        return Leases(self.tx, articles)

    # --- jobs ---------------------------------------------------------------------------------------------------------

    async def submit(
        self,
        tenant_id: str,
        run_id: str,
        wanted: Sequence[WantedArticle],
        now: datetime,
        max_age: timedelta,
        options: FetchOptions = DEFAULT_OPTIONS,
    ) -> ArticleCounts:
        """Creates the items of a job, once: cached where scraped within `max_age`, else pending."""
        return await batches.submit(self.conn, self.dialect, (tenant_id, run_id), wanted, now, max_age, options)

    async def counts(self, run_ids: Sequence[str], *, lock: bool = False) -> Mapping[str, ArticleCounts]:
        return await batches.counts(self.conn, self.dialect, run_ids, lock=lock)

    async def release(self, run_ids: Sequence[str], now: datetime) -> Mapping[str, int]:
        """Cancels the pending items of these jobs; returns how many each had."""
        return await batches.release(self.conn, self.dialect, run_ids, now)

    async def items(
        self, run_id: str, *, after: int = 0, skip: int = 0, limit: int, failed: bool | None = None
    ) -> Sequence[ItemView]:
        """Items after this position, in order; with `failed`, only those that failed, or only those that were read."""
        return await batches.read_items(self.conn, run_id, (after, skip, limit), failed=failed)

    async def ids(self, run_id: str) -> Sequence[str]:
        """The ids of a job's articles, in the order of the request."""
        return await batches.article_ids(self.conn, run_id)

    async def item(self, run_id: str, article_id: str) -> tuple[ItemView, PreviousContent | None] | None:
        """One article of a job with its previous version; None when the job has no such item."""
        return await batches.read_item(self.conn, run_id, article_id)

    async def changed(self, after: ChangeCursor, limit: int) -> Sequence[ChangedArticle]:
        """Scraped articles of all tenants after this cursor, in the order of their last change."""
        return await article_views.changed(self.conn, after, limit)

    async def views(self, ids: Sequence[str]) -> Sequence[ArticleView]:
        """Those of these articles that have been scraped."""
        return await article_views.views(self.conn, self.dialect, ids)

    async def wishes(self, run_id: str) -> Sequence[WantedArticle]:
        """The articles of a job that were not read, to be submitted again; all of them, when every one was."""
        return await batches.wanted_articles(self.conn, run_id)

    async def orphans(self, limit: int) -> Sequence[str]:
        """Ended jobs with pending items."""
        return await batches.orphans(self.conn, limit)

    async def prune(self, before: datetime, limit: int) -> int:
        """Deletes articles without items that have not changed since, and hosts and pauses that are out of use."""
        await hosts.prune(self.conn, self.dialect, before, limit)
        await host_pauses.prune(self.conn, before, limit)
        return await batches.prune(self.conn, self.dialect, before, limit)

    # --- work ---------------------------------------------------------------------------------------------------------

    async def take(  # noqa: PLR0913, PLR0917 -- as the port has it
        self,
        now: datetime,
        limit: int,
        worker: str,
        lease: timedelta,
        token: str,
        manners: Politeness,
        avoid: Avoid | None = None,
        without: Collection[str] = (),
    ) -> Sequence[ClaimedArticle]:
        """Claims the most urgent articles whose hosts may be requested, fairly over tenants; allocates the start times.

        Hosts that `avoid` names and tenants in `without` are skipped.

        Start times begin at `manners.lead` from now: the claim takes that long to return to its caller.
        """
        chosen, rooms, pauses = await self._chosen(now, limit, manners, avoid, without)
        if not chosen:
            return []
        rows = (await self.conn.execute(_takeable(self.dialect), {"ids": list(chosen), "b_now": now})).all()
        if not rows:
            return []
        bound: dict[str, Any] = {"ids": [row.id for row in rows], "b_token": token, "b_worker": worker, "b_now": now}
        await self.conn.execute(_take(self.dialect, self.leases.own_clock), bound | self.leases.bound(lease, now))
        used: dict[str, tuple[hosts.HostCapacity, int]] = {}
        taken = []
        rank = {article_id: at for at, article_id in enumerate(chosen)}
        for row in sorted(rows, key=lambda row: rank[row.id]):
            room = rooms[row.host]
            count = used.get(row.host, (room, 0))[1]
            used[row.host] = room, count + 1
            own = pauses.get((row.host, row.tenant_id))
            taken.append(_taken(row, room, room.starts[count], token, slowed=own is not None and bool(own.interval)))
        await hosts.use(self.conn, self.dialect, used)
        allotted = (((article.host, article.tenant_id), article.start_at) for article in taken)
        await host_pauses.write(self.conn, self.dialect, host_pauses.held_back(allotted, pauses), pauses)
        return taken

    async def _chosen(
        self, now: datetime, limit: int, manners: Politeness, avoid: Avoid | None, without: Collection[str]
    ) -> tuple[list[str], Mapping[str, hosts.HostCapacity], Mapping[host_pauses.Pair, host_pauses.HostPause]]:
        """The ids to claim, and the capacities and pauses of their hosts, whose rows are locked."""
        wanted = await picks(self.conn, self.dialect, now, limit, avoid=avoid, without=without)
        if not wanted:
            return [], {}, {}
        names = {pick.host for pick in wanted}
        rooms = await hosts.host_capacities(self.tx, names, now, manners, limit, in_flight, TAKER)
        pauses = await host_pauses.of(self.conn, self.dialect, names)
        chosen = _seated(wanted, rooms, pauses, now, limit)
        full = frozenset(name for name in names if name not in rooms or not rooms[name].starts)
        if len(chosen) < limit and full:
            # Hosts without capacity now must not hide the others.
            wanted = sorted({*wanted, *await picks(self.conn, self.dialect, now, limit, full, avoid, without)})
            if others := {pick.host for pick in wanted} - names:
                rooms |= await hosts.host_capacities(self.tx, others, now, manners, limit, in_flight, TAKER)
                pauses |= await host_pauses.of(self.conn, self.dialect, others)
            chosen = _seated(wanted, rooms, pauses, now, limit)
        return chosen, rooms, pauses

    async def held(self, token: str, ids: Sequence[str]) -> Sequence[str]:
        query = select(articles.c.id).where(
            self.dialect.among(articles.c.id, ids), articles.c.token == token, articles.c.lease_until.is_not(None)
        )
        return list((await self.conn.execute(query)).scalars())

    async def next_at(self, now: datetime) -> datetime | None:
        """When the first queued article is ready; None when none is queued."""
        waiting = select(func.min(articles.c.ready_at)).where(articles.c.lane == QUEUE)
        ready: datetime | None = (await self.conn.execute(waiting)).scalar()
        return ready

    async def freed_at(self, now: datetime) -> datetime | None:
        """When the next pause of a host ends."""
        free = select(func.min(host_rows.c.next_at)).where(host_rows.c.next_at > now)
        freed: datetime | None = (await self.conn.execute(free)).scalar()
        return min((at for at in (freed, await host_pauses.freed_at(self.conn, now)) if at is not None), default=None)

    async def extend(self, fences: Sequence[Fence], lease: timedelta, now: datetime) -> set[str]:
        """Renews leases; returns the ids whose fence still holds."""
        return await self.leases.extend(fences, lease, now)

    async def finish(self, endings: Sequence[FetchEnding], now: datetime, manners: Politeness) -> EndingsEffect:
        """Records a group of endings; a batch whose last item ends with it ends in the same transaction."""
        effect, jobs = await article_endings.finish(self.conn, self.dialect, endings, now)
        news = defaultdict(list)
        for ending in endings:
            if ending.fence.run_id in effect.accepted:
                news[ending.host].append((ending.tenant_id, ending.news))
        await hosts.learn(self.conn, self.dialect, news, now, manners)
        return replace(effect, ended=await SqlBatchRuns(self.tx).settle(jobs, now)) if effect.finished else effect

    async def lock_expired(
        self, now: datetime, limit: int, longest: timedelta | None = None
    ) -> Sequence[tuple[Fence, str, int]]:
        """Articles whose lease has expired, locked (`SKIP LOCKED`): fence, host, attempt."""
        columns = (articles.c.id, articles.c.epoch, articles.c.token, articles.c.host, articles.c.attempt)
        query = select(*columns).where(self.leases.expired(now, longest))
        query = query.order_by(articles.c.id).limit(limit)
        rows = await self.conn.execute(self.dialect.lock(query, skip=True))
        return [(Fence(row.id, row.epoch, row.token), row.host, row.attempt) for row in rows]


def _seated(
    wanted: Sequence[ArticlePick],
    rooms: Mapping[str, hosts.HostCapacity],
    pauses: Mapping[host_pauses.Pair, host_pauses.HostPause],
    now: datetime,
    limit: int,
) -> list[str]:
    """The first of these picks within the capacity of their hosts and the pauses of their tenants."""
    left = {name: len(room.starts) for name, room in rooms.items()}
    own = {pair: pause.room(now, limit) for pair, pause in pauses.items()}
    chosen: dict[str, None] = {}
    for pick in wanted:
        if len(chosen) == limit:
            break
        pair = (pick.host, pick.tenant_id)
        if left.get(pick.host, 0) > 0 and own.get(pair, limit) > 0 and pick.article_id not in chosen:
            left[pick.host] -= 1
            if pair in own:
                own[pair] -= 1
            chosen[pick.article_id] = None
    return list(chosen)


def _taken(row: Any, room: hosts.HostCapacity, start_at: datetime, token: str, *, slowed: bool) -> ClaimedArticle:
    # A conditional request makes sense only where the page is stored.
    known = row.scraped_at is not None
    late = leeway(room.interval)
    return ClaimedArticle(
        fence=Fence(row.id, row.epoch + 1, token),
        tenant_id=row.tenant_id,
        url=row.moved_to or row.url,
        host=row.host,
        moves=row.moves,
        attempt=row.attempt + 1,
        start_at=start_at,
        latest_at=None if late is None else start_at + late,
        etag=row.etag if known else None,
        last_modified=row.last_modified if known else None,
        robots=room.robots,
        robots_due=room.robots_due,
        slowed=room.slowed or slowed,
        options=options_at(FetchOptions.of(row.options), room.settings, row.tenant_id),
    )
