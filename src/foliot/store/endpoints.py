"""Whom webhooks called lately: read off the newest runs, however many there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.domain.endpoint import WEBHOOK, Call, address
from foliot.domain.run import RunState
from foliot.store.dialects import Dialect
from foliot.store.tables import attempts, runs, versions


@dataclass(frozen=True, slots=True)
class SqlEndpoints:
    """Three statements, and no body of an answer among what they read."""

    conn: AsyncConnection
    dialect: Dialect

    async def calls(self, tenant_id: str, since: datetime, runs: int) -> tuple[Sequence[Call], bool]:
        made, whole = await self._runs(tenant_id, since, runs)
        urls = await self._urls(tenant_id, made)
        columns = (
            attempts.c.run_id,
            attempts.c.started_at,
            attempts.c.ended_at,
            attempts.c.outcome,
            attempts.c.error,
        )
        called = {row.id: row for row in made if urls.get(row.id) is not None}
        if not called:
            return [], whole
        query = select(*columns).where(self.dialect.among(attempts.c.run_id, list(called)))
        found = [
            Call(
                url=urls[row.run_id],
                schedule_id=called[row.run_id].schedule_id,
                run_id=row.run_id,
                made_at=called[row.run_id].created_at,
                started_at=row.started_at,
                ended_at=row.ended_at,
                outcome=row.outcome,
                error=row.error,
            )
            for row in await self.conn.execute(query)
        ]
        return found, whole

    async def _runs(self, tenant_id: str, since: datetime, most: int) -> tuple[list[Any], bool]:
        """Ended ones by their kind, those that will be tried again by their state: each by an index, from its end.

        However old they are: what lets none of a million through would look at all of them.
        """
        columns = (runs.c.id, runs.c.schedule_id, runs.c.version, runs.c.action, runs.c.created_at)
        mine = select(*columns).where(runs.c.tenant_id == tenant_id, runs.c.kind == WEBHOOK)
        newest = mine.order_by(runs.c.id.desc()).limit(most + 1)
        found, whole = [], True
        for which in (runs.c.finished_at.is_not(None), runs.c.state == RunState.RETRYING):
            rows = (await self.conn.execute(newest.where(which))).all()
            lately = [row for row in rows if row.created_at >= since]
            whole = whole and len(lately) <= most
            found += lately[:most]
        return found, whole

    async def _urls(self, tenant_id: str, made: Sequence[Any]) -> dict[str, str]:
        """Where each run went: by its own action, or by its schedule's as it was then."""
        ids = sorted({row.schedule_id for row in made if row.schedule_id is not None and row.action is None})
        numbers = sorted({row.version for row in made if row.version is not None and row.action is None})
        then: dict[tuple[str, int], Any] = {}
        if ids:
            query = select(versions.c.schedule_id, versions.c.version, versions.c.action).where(
                versions.c.tenant_id == tenant_id,
                self.dialect.among(versions.c.schedule_id, ids),
                versions.c.version.in_(numbers),
            )
            then = {(row.schedule_id, row.version): row.action for row in await self.conn.execute(query)}
        where = {row.id: row.action or then.get((row.schedule_id, row.version)) or {} for row in made}
        read = {run_id: address(action.get("url")) for run_id, action in where.items()}
        return {run_id: url for run_id, url in read.items() if url is not None}
