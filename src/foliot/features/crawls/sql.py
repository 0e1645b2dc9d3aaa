"""Deduplicates requests for crawls: one row per fingerprint names the job that equal requests get."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, ColumnElement, Index, Select, Table, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.ids import SCHEDULE
from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.db.metadata import Moment, key, metadata
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.sql.tables import runs, schedules
from foliot.features.crawls.model import KnownJob, PendingCrawl

# One row for each recent request: an equal request finds its job here.
crawl_requests = Table(
    "crawl_requests",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("fingerprint", key(64), primary_key=True),
    # The id of a run, or of a schedule for a request with a trigger.
    Column("job_id", key(40), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "expires_at"),
)


_WENT_WRONG = frozenset({RunState.DEGRADED, RunState.FAILED, RunState.DEAD_LETTER, RunState.CANCELLED})
_WAITING = frozenset({ScheduleStatus.ACTIVE, ScheduleStatus.PAUSED})


@dataclass(frozen=True, slots=True)
class SqlCrawls(Statements):
    """Statements on `crawl_requests`; the lock on a fingerprint's row serialises equal requests."""

    async def known(self, tenant_id: str, fingerprint: str, now: datetime) -> KnownJob | None:
        """The job of an equal request that has not expired and whose job did not fail; takes no lock."""
        found = (await self.conn.execute(_row(tenant_id, fingerprint))).first()
        if found is None or not await self._counts(tenant_id, found, now):
            return None
        return KnownJob(found.job_id, found.created_at)

    async def settle(self, request: PendingCrawl, *, anew: bool) -> KnownJob:
        """Decides which job the fingerprint names: the known one, or the request's own; with `anew` always its own.

        The next equal request waits until this transaction ends.

        The row is judged only after it is locked: by then the transaction that wrote it has committed its run too.
        """
        # Waits for an uncommitted insert of the same key.
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

    async def claim(self, requests: Sequence[PendingCrawl]) -> set[str]:
        """Inserts the requests without a row, and returns their job ids; existing rows are not changed.

        The next equal request waits until this transaction ends.
        """
        # In one order, so that two transactions with the same requests cannot deadlock.
        ordered = sorted(requests, key=lambda request: request.fingerprint)
        return await self.dialect.insert_new(self.conn, crawl_requests, _columns(ordered), "job_id")

    async def unclaim(self, tenant_id: str, fingerprints: Collection[str]) -> None:
        """Deletes claims whose requests were refused."""
        these = self.dialect.among(crawl_requests.c.fingerprint, fingerprints)
        await self.conn.execute(delete(crawl_requests).where(crawl_requests.c.tenant_id == tenant_id, these))

    async def _counts(self, tenant_id: str, found: Any, now: datetime) -> bool:
        """Whether its job is still valid: not expired, failed, cancelled or pruned."""
        if found.expires_at <= now:
            return False
        if found.job_id.startswith(f"{SCHEDULE}_"):
            query: Select[Any] = select(schedules.c.status).where(schedules.c.id == found.job_id)
            status = await self.conn.scalar(query.where(schedules.c.tenant_id == tenant_id))
            return status is not None and ScheduleStatus(status) in _WAITING
        query = select(runs.c.state, runs.c.cancel_requested).where(runs.c.id == found.job_id)
        run = (await self.conn.execute(query.where(runs.c.tenant_id == tenant_id))).first()
        return run is not None and not run.cancel_requested and RunState(run.state) not in _WENT_WRONG


async def forget_expired(conn: AsyncConnection, dialect: Dialect, before: datetime, limit: int) -> int:
    """Deletes requests that expired before this moment; returns how many."""
    query = select(crawl_requests.c.tenant_id, crawl_requests.c.fingerprint)
    old = (await conn.execute(query.where(crawl_requests.c.expires_at < before).limit(limit))).all()
    if old:
        which = dialect.among(crawl_requests.c.fingerprint, sorted({row.fingerprint for row in old}))
        tenants = dialect.among(crawl_requests.c.tenant_id, sorted({row.tenant_id for row in old}))
        await conn.execute(delete(crawl_requests).where(tenants, which, crawl_requests.c.expires_at < before))
    return len(old)


def _columns(requests: Sequence[PendingCrawl]) -> dict[str, list[Any]]:
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
