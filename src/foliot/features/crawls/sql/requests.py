"""Requests for crawls, each answered with one job, and the list of jobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.ids import SCHEDULE
from foliot.db.dialects import Dialect
from foliot.db.transaction import Statements
from foliot.engine.model.run import OPEN, RunState
from foliot.engine.model.schedule import Status
from foliot.engine.sql.run_items import Items, read_items, write_items
from foliot.engine.sql.tables import runs, schedules
from foliot.features.crawls.model.job import CrawlRequest, JobView, KnownJob
from foliot.features.crawls.tables import crawl_requests
from foliot.features.jobs import sql as job_views

__all__ = ["SqlCrawls", "forget_expired", "write_items"]

_WENT_WRONG = frozenset({RunState.FAILED, RunState.DEAD_LETTER, RunState.CANCELLED})
_WAITING = frozenset({Status.ACTIVE, Status.PAUSED})
_ENDED = frozenset(state for state in RunState if state.final)


@dataclass(frozen=True, slots=True)
class SqlCrawls(Statements):
    """One row for each fingerprint; whoever holds it decides whose job it names."""

    async def known(self, tenant_id: str, fingerprint: str, now: datetime) -> KnownJob | None:
        """The job of such a request if it was made lately and its job did not fail; changes nothing."""
        found = (await self.conn.execute(_row(tenant_id, fingerprint))).first()
        if found is None or not await self._counts(tenant_id, found, now):
            return None
        return KnownJob(found.job_id, found.created_at)

    async def settle(self, request: CrawlRequest, *, anew: bool) -> KnownJob:
        """Whose job counts from now on: the known one, or the request's own. `anew` wants its own in any case.

        Whoever makes the same request next waits until this transaction ends.

        What the row says is judged only after it is locked: by then whoever made it has committed its run too.
        """
        # Waits for whoever inserted the same and has not committed yet.
        await self.dialect.insert(self.conn, crawl_requests, _columns([request]), conflict="ignore")
        query = self.dialect.lock(_row(request.tenant_id, request.fingerprint))
        found = (await self.conn.execute(query)).one()
        if found.job_id == request.job_id:
            return KnownJob(found.job_id, found.created_at)
        if not anew and await self._counts(request.tenant_id, found, request.now):
            return KnownJob(found.job_id, found.created_at)
        await self.conn.execute(
            update(crawl_requests)
            .where(*_is(request.tenant_id, request.fingerprint))
            .values(job_id=request.job_id, created_at=request.now, expires_at=request.expires_at)
        )
        return KnownJob(request.job_id, request.now)

    async def claim(self, requests: Sequence[CrawlRequest]) -> set[str]:
        # In one order, so that no two who claim the same wait for one another.
        """The job ids of those that nobody has asked for: from now on others are given them. The rest changes nothing.

        Whoever makes the same request next waits until this transaction ends.
        """
        ordered = sorted(requests, key=lambda request: request.fingerprint)
        return await self.dialect.insert_new(self.conn, crawl_requests, _columns(ordered), "job_id")

    async def unclaim(self, tenant_id: str, fingerprints: Collection[str]) -> None:
        """Nobody has asked for these after all."""
        these = self.dialect.among(crawl_requests.c.fingerprint, fingerprints)
        await self.conn.execute(delete(crawl_requests).where(crawl_requests.c.tenant_id == tenant_id, these))

    async def _counts(self, tenant_id: str, found: Any, now: datetime) -> bool:
        """Neither expired nor gone wrong; a job that was pruned counts no more either."""
        if found.expires_at <= now:
            return False
        if found.job_id.startswith(f"{SCHEDULE}_"):
            query: Select[Any] = select(schedules.c.status).where(schedules.c.id == found.job_id)
            status = await self.conn.scalar(query.where(schedules.c.tenant_id == tenant_id))
            return status is not None and Status(status) in _WAITING
        query = select(runs.c.state, runs.c.cancel_requested).where(runs.c.id == found.job_id)
        run = (await self.conn.execute(query.where(runs.c.tenant_id == tenant_id))).first()
        return run is not None and not run.cancel_requested and RunState(run.state) not in _WENT_WRONG

    async def items(self, tenant_id: str, run_id: str, attempt: int, skip: int, limit: int) -> Items:
        """At most so many after the first `skip`; fewer when they are large, but never none while there are some."""
        return await read_items(self.conn, (tenant_id, run_id, attempt), skip, limit)

    async def jobs(
        self,
        tenant_id: str,
        kinds: Collection[str],
        states: Collection[RunState],
        limit: int,
        skip: int,
    ) -> tuple[list[str], int]:
        """Ids of runs of these kinds and states, newest first, and how many there are in all.

        Ended runs are found by an index of their own, and open ones are few: each part answers as much as is asked.

        One statement over both would read all of a tenant's runs, of every kind.
        """
        ended = [one for one in states if one.final]
        wanted = [self._ended(tenant_id, kinds, ended)] if ended else []
        wanted += [self._open(tenant_id, kinds, one) for one in sorted(set(states) & OPEN)]
        found: list[str] = []
        total = 0
        for where in wanted:
            newest = select(runs.c.id).where(*where).order_by(runs.c.id.desc()).limit(skip + limit)
            found += (await self.conn.execute(newest)).scalars()
            total += await self.conn.scalar(select(func.count()).select_from(runs).where(*where)) or 0
        return sorted(found, reverse=True)[skip : skip + limit], total

    async def all_jobs_after(self, kinds: Collection[str], run_id: str, limit: int) -> list[str]:
        """As `jobs_after`, of all tenants."""
        return await job_views.after(self.conn, kinds, run_id, limit)

    async def job_views(self, run_ids: Sequence[str]) -> list[JobView]:
        """These jobs, whosever they are, by id."""
        return await job_views.views(self.conn, self.dialect, run_ids)

    async def jobs_after(self, tenant_id: str, kinds: Collection[str], run_id: str, limit: int) -> list[str]:
        """Ids of runs of these kinds that were made after this one, the oldest first, whatever became of them."""
        where = (runs.c.tenant_id == tenant_id, runs.c.kind.in_(sorted(kinds)), runs.c.id > run_id)
        query = select(runs.c.id).where(*where).order_by(runs.c.id).limit(limit)
        return list((await self.conn.execute(query)).scalars())

    def _ended(self, tenant_id: str, kinds: Collection[str], states: Collection[RunState]) -> list[ColumnElement[bool]]:
        where = [runs.c.tenant_id == tenant_id, runs.c.kind.in_(sorted(kinds)), runs.c.finished_at.is_not(None)]
        if set(states) >= _ENDED:
            # Whoever asks for all of them is answered by the index alone.
            return where
        return [*where, runs.c.state.in_(sorted(states))]

    def _open(self, tenant_id: str, kinds: Collection[str], state: RunState) -> list[ColumnElement[bool]]:
        # One state at a time: of several, SQLite would rather read all of the tenant's runs in the order asked for.
        return [runs.c.tenant_id == tenant_id, runs.c.state == state, runs.c.kind.in_(sorted(kinds))]


async def forget_expired(conn: AsyncConnection, dialect: Dialect, before: datetime, limit: int) -> int:
    """Delete requests that expired before this moment; says how many went."""
    query = select(crawl_requests.c.tenant_id, crawl_requests.c.fingerprint)
    old = (await conn.execute(query.where(crawl_requests.c.expires_at < before).limit(limit))).all()
    if old:
        which = dialect.among(crawl_requests.c.fingerprint, sorted({row.fingerprint for row in old}))
        tenants = dialect.among(crawl_requests.c.tenant_id, sorted({row.tenant_id for row in old}))
        await conn.execute(delete(crawl_requests).where(tenants, which, crawl_requests.c.expires_at < before))
    return len(old)


def _columns(requests: Sequence[CrawlRequest]) -> dict[str, list[Any]]:
    return {
        "tenant_id": [request.tenant_id for request in requests],
        "fingerprint": [request.fingerprint for request in requests],
        "job_id": [request.job_id for request in requests],
        "created_at": [request.now for request in requests],
        "expires_at": [request.expires_at for request in requests],
    }


def _is(tenant_id: str, fingerprint: str) -> tuple[ColumnElement[bool], ...]:
    return crawl_requests.c.tenant_id == tenant_id, crawl_requests.c.fingerprint == fingerprint


def _row(tenant_id: str, fingerprint: str) -> Select[Any]:
    columns = (crawl_requests.c.job_id, crawl_requests.c.created_at, crawl_requests.c.expires_at)
    return select(*columns).where(*_is(tenant_id, fingerprint))
