"""Reads the attempts and targets of the newest webhook runs; its cost does not grow with the table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Label, Text, func, select, type_coerce

from foliot.core.mask import TEMPLATE
from foliot.db.database import Statements
from foliot.engine.model.run import RunState
from foliot.engine.sql.tables import attempts, runs, schedules, versions
from foliot.engine.sql.tenant_limits import BODY, HOLDS
from foliot.features.endpoints.model import EndpointSender, TargetCall
from foliot.features.webhooks.model import WEBHOOK, address

URL_ENDS = 20 * 1024
HEADERS_END = 64 * 1024
"""A webhook's headers end within so many characters of its JSON; its body comes after them."""
_URL = re.compile(r'\{"url":("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True)
class SqlEndpoints(Statements):
    """A few statements, none of which reads the body of a request or response."""

    async def calls(self, tenant_id: str, since: datetime, runs: int) -> tuple[Sequence[TargetCall], bool]:
        """Attempts of the newest runs created since then, and whether these are all of them."""
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
            TargetCall(
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
        """Ended runs by kind, those to be retried by state: each through an index, from its end.

        Without a bound on time: where none of a million rows matches it, all of them would be read.
        """
        columns = (runs.c.id, runs.c.schedule_id, runs.c.version, _head(runs.c.action), runs.c.created_at)
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
        """The URL of each run: from its own action, or from that version of its schedule."""
        ids = sorted({row.schedule_id for row in made if row.schedule_id is not None and row.head is None})
        numbers = sorted({row.version for row in made if row.version is not None and row.head is None})
        then: dict[tuple[str, int], str] = {}
        if ids:
            query = (
                select(versions.c.schedule_id, versions.c.version, _head(BODY.c.action))
                .join(BODY, HOLDS)
                .where(
                    versions.c.tenant_id == tenant_id,
                    self.dialect.among(versions.c.schedule_id, ids),
                    versions.c.version.in_(numbers),
                )
            )
            then = {(row.schedule_id, row.version): row.head for row in await self.conn.execute(query)}
        where = {row.id: row.head or then.get((row.schedule_id, row.version)) or "" for row in made}
        read = {run_id: _address(head) for run_id, head in where.items()}
        return {run_id: url for run_id, url in read.items() if url is not None}

    async def senders(self, tenant_id: str, schedule_ids: Sequence[str]) -> dict[str, EndpointSender]:
        """Those of the schedules that belong to the tenant, by id."""
        query = select(schedules.c.id, schedules.c.name, _head(schedules.c.action, HEADERS_END)).where(
            self.dialect.among(schedules.c.id, schedule_ids), schedules.c.tenant_id == tenant_id
        )
        rows = (await self.conn.execute(query)).all() if schedule_ids else []
        # Secrets are refused in URLs and bodies: a template is in a header.
        return {
            row.id: EndpointSender(row.name, _address(row.head), frozenset(TEMPLATE.findall(row.head))) for row in rows
        }


def _head(column: Any, ends: int = URL_ENDS) -> Label[str]:
    """The beginning of the column's text: bodies can be large, and many rows are read at once."""
    return func.substr(type_coerce(column, Text()), 1, ends).label("head")


def _address(head: str) -> str | None:
    found = _URL.match(head)
    return None if found is None else address(orjson.loads(found[1]))
