"""Articles pass from hand to hand: taken with their host's leave, renewed, and finished for all who want them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Select, Update, bindparam, func, select, update

from foliot.db.columns import Moment
from foliot.db.dialects import Dialect
from foliot.db.transaction import Statements
from foliot.engine.model.run import Fence
from foliot.engine.sql.leases import Leases, until
from foliot.features.articles.model.article import QUEUE, ArticleCounts, ArticleStatus, Politeness, leeway
from foliot.features.articles.model.fetch import (
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
from foliot.features.articles.sql import batches, host_pauses, hosts
from foliot.features.articles.sql import endings as article_endings
from foliot.features.articles.sql import views as article_views
from foliot.features.articles.sql.batch_runs import SqlBatchRuns
from foliot.features.articles.sql.picks import ArticlePick, picks
from foliot.features.articles.tables import articles
from foliot.features.articles.tables import hosts as host_rows

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
    """What the engine and people ask of articles."""

    @property
    def leases(self) -> Leases:
        return Leases(self.tx, articles)

    # --- jobs ---------------------------------------------------------------------------------------------------------

    async def submit(
        self, tenant_id: str, run_id: str, wishes: Sequence[WantedArticle], now: datetime, max_age: timedelta
    ) -> ArticleCounts:
        """Note what a job wants, once: what was scraped within `max_age` is there at once, the rest waits its turn."""
        return await batches.submit(self.conn, self.dialect, (tenant_id, run_id), wishes, now, max_age)

    async def counts(self, run_ids: Sequence[str], *, lock: bool = False) -> Mapping[str, ArticleCounts]:
        return await batches.counts(self.conn, self.dialect, run_ids, lock=lock)

    async def release(self, run_ids: Sequence[str], now: datetime) -> Mapping[str, int]:
        """These jobs want nothing any more; says how many items each still waited for."""
        return await batches.release(self.conn, self.dialect, run_ids, now)

    async def items(
        self, run_id: str, *, after: int = 0, skip: int = 0, limit: int, failed: bool | None = None
    ) -> Sequence[ItemView]:
        """Those at positions after this one, in order; only those that failed, or only those that were read."""
        return await batches.read_items(self.conn, run_id, (after, skip, limit), failed=failed)

    async def ids(self, run_id: str) -> Sequence[str]:
        """The ids of a job's articles, in the order they were asked for."""
        return await batches.article_ids(self.conn, run_id)

    async def item(self, run_id: str, article_id: str) -> tuple[ItemView, PreviousContent | None] | None:
        """One article of a job with what it said before; None when the job did not ask for it."""
        return await batches.read_item(self.conn, run_id, article_id)

    async def changed(self, after: ChangeCursor, limit: int) -> Sequence[ChangedArticle]:
        """Articles of all tenants that have been read, in the order in which they changed, after this place."""
        return await article_views.changed(self.conn, after, limit)

    async def views(self, ids: Sequence[str]) -> Sequence[ArticleView]:
        """Those of these that have been read."""
        return await article_views.views(self.conn, self.dialect, ids)

    async def wishes(self, run_id: str) -> Sequence[WantedArticle]:
        """What another job would have to want to do the rest of this one; all of it, when nothing is left to do."""
        return await batches.wanted_articles(self.conn, run_id)

    async def orphans(self, limit: int) -> Sequence[str]:
        """Jobs that have ended and still wait for something."""
        return await batches.orphans(self.conn, limit)

    async def prune(self, before: datetime, limit: int) -> int:
        """Forget articles that no job knows and nobody has asked for since."""
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
        """The most urgent articles whose hosts are free, each tenant its share; the hosts' patience is used up.

        What `avoid` names is left where it is; tenants in `without` have none this time.

        Moments are given out from `manners.lead` on: it takes that long until whoever asks knows them.
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
        await host_pauses.write(self.conn, self.dialect, _held_back(taken, pauses), pauses)
        return taken

    async def _chosen(
        self, now: datetime, limit: int, manners: Politeness, avoid: Avoid | None, without: Collection[str]
    ) -> tuple[list[str], Mapping[str, hosts.HostCapacity], Mapping[host_pauses.Pair, host_pauses.HostPause]]:
        """Which articles are taken, and what their hosts can bear, which are locked."""
        wanted = await picks(self.conn, self.dialect, now, limit, avoid=avoid, without=without)
        if not wanted:
            return [], {}, {}
        names = {pick.host for pick in wanted}
        rooms = await hosts.host_capacities(self.conn, self.dialect, names, now, manners, limit)
        pauses = await host_pauses.of(self.conn, self.dialect, names)
        chosen = _seated(wanted, rooms, pauses, now, limit)
        full = frozenset(name for name in names if name not in rooms or not rooms[name].starts)
        if len(chosen) < limit and full:
            # Hosts that can bear nothing now must not hide the others.
            wanted = sorted({*wanted, *await picks(self.conn, self.dialect, now, limit, full, avoid, without)})
            if others := {pick.host for pick in wanted} - names:
                rooms |= await hosts.host_capacities(self.conn, self.dialect, others, now, manners, limit)
                pauses |= await host_pauses.of(self.conn, self.dialect, others)
            chosen = _seated(wanted, rooms, pauses, now, limit)
        return chosen, rooms, pauses

    async def held(self, token: str, ids: Sequence[str]) -> Sequence[str]:
        query = select(articles.c.id).where(
            self.dialect.among(articles.c.id, ids), articles.c.token == token, articles.c.lease_until.is_not(None)
        )
        return list((await self.conn.execute(query)).scalars())

    async def next_at(self, now: datetime) -> datetime | None:
        """When the first article that waits may be taken, if its host is free; None when nothing waits."""
        waiting = select(func.min(articles.c.ready_at)).where(articles.c.lane == QUEUE)
        ready: datetime | None = (await self.conn.execute(waiting)).scalar()
        return ready

    async def freed_at(self, now: datetime) -> datetime | None:
        """When the next host that wants silence will have had it."""
        free = select(func.min(host_rows.c.next_at)).where(host_rows.c.next_at > now)
        freed: datetime | None = (await self.conn.execute(free)).scalar()
        return min((at for at in (freed, await host_pauses.freed_at(self.conn, now)) if at is not None), default=None)

    async def extend(self, fences: Sequence[Fence], lease: timedelta, now: datetime) -> set[str]:
        """Renew leases; answers the ids that are still ours."""
        return await self.leases.extend(fences, lease, now)

    async def finish(self, endings: Sequence[FetchEnding], now: datetime, manners: Politeness) -> EndingsEffect:
        """Record a group of endings; a batch whose last item ends with it ends in the same transaction."""
        told, jobs = await article_endings.finish(self.conn, self.dialect, endings, now)
        news = defaultdict(list)
        for ending in endings:
            if ending.fence.run_id in told.accepted:
                news[ending.host].append((ending.tenant_id, ending.news))
        await hosts.learn(self.conn, self.dialect, news, now, manners)
        return replace(told, ended=await SqlBatchRuns(self.tx).settle(jobs, now)) if told.finished else told

    async def lock_expired(
        self, now: datetime, limit: int, longest: timedelta | None = None
    ) -> Sequence[tuple[Fence, str, int]]:
        """Articles whose lease ran out, locked: fence, host, attempt."""
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
    """The first of these that their hosts have room for, and for their tenant."""
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


def _held_back(
    taken: Sequence[ClaimedArticle], pauses: Mapping[host_pauses.Pair, host_pauses.HostPause]
) -> dict[host_pauses.Pair, host_pauses.HostPause]:
    """When each tenant that a host has slowed down may ask it again."""
    held: dict[host_pauses.Pair, host_pauses.HostPause] = {}
    for one in taken:
        pair = (one.host, one.tenant_id)
        if pair in pauses and (interval := pauses[pair].interval):
            before = held.get(pair, pauses[pair]).next_at
            held[pair] = replace(pauses[pair], next_at=max(before, one.start_at) + interval)
    return held


def _taken(row: Any, room: hosts.HostCapacity, start_at: datetime, token: str, *, slowed: bool) -> ClaimedArticle:
    # Only who has the page can be told that it has not changed.
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
    )
