"""Pruning, node reports, and the counts that health and metrics show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.domain.errors import Invalid
from foliot.domain.ids import RUN, floor_id
from foliot.domain.ledger import Fate, Reason
from foliot.domain.run import OPEN, RunState
from foliot.domain.schedule import Status, load_spec
from foliot.domain.trigger import Trigger
from foliot.store.clock import wall
from foliot.store.dialects import Dialect
from foliot.store.tables import attempts, ledger, log_chunks, nodes, requests, runs, schedules, versions


@dataclass(frozen=True, slots=True)
class SqlUpkeep:
    """What keeps the house in order."""

    conn: AsyncConnection
    dialect: Dialect

    async def prune(self, before: datetime, limit: int) -> int:
        """Ids sort by time, so the key finds the oldest runs; but a node whose clock is wrong makes wrong ids."""
        columns = (runs.c.id, runs.c.tenant_id, runs.c.schedule_id, runs.c.version, runs.c.scheduled_for)
        old_enough = (runs.c.id < floor_id(RUN, before), runs.c.created_at < before)
        query = select(*columns).where(*old_enough, runs.c.state.not_in(sorted(OPEN)))
        old = (await self.conn.execute(self.dialect.lock(query.order_by(runs.c.id).limit(limit), skip=True))).all()
        if not old:
            return 0
        await self._remember([row for row in old if row.scheduled_for is not None])
        ids = [row.id for row in old]
        for table in (log_chunks, attempts):
            await self.conn.execute(delete(table).where(self.dialect.among(table.c.run_id, ids)))
        await self.conn.execute(delete(runs).where(self.dialect.among(runs.c.id, ids)))
        return len(old)

    async def _remember(self, old: Sequence[Any]) -> None:
        """Write the pruned instants into the ledger, as ranges that hold nothing else."""
        rows = sorted(old, key=lambda row: (row.schedule_id, row.version, row.scheduled_for))
        triggers = await self._triggers({row.schedule_id for row in rows})
        last = await self._last_pruned({row.schedule_id for row in rows})
        columns: dict[str, list[Any]] = {name: [] for name in _LEDGER}
        for (schedule_id, version), group in groupby(rows, key=lambda row: (row.schedule_id, row.version)):
            members = list(group)
            trigger = triggers.get((schedule_id, version))
            open_first, open_last = last.get((schedule_id, version), (None, None))
            for first, until, count in _ranges(trigger, [row.scheduled_for for row in members]):
                joins = open_last is not None and trigger is not None and trigger.next_after(open_last) == first
                start = open_first if joins else first
                made = (
                    schedule_id,
                    start,
                    Fate.PRUNED.value,
                    members[0].tenant_id,
                    until,
                    count,
                    version,
                    Reason.RETENTION.value,
                )
                for name, value in zip(_LEDGER, made, strict=True):
                    columns[name].append(value)
                open_first, open_last = start, until
        if columns["schedule_id"]:
            await self.dialect.insert(self.conn, ledger, columns, conflict="add")

    async def _triggers(self, schedule_ids: set[str]) -> dict[tuple[str, int], Trigger]:
        query = select(versions.c.schedule_id, versions.c.version, versions.c.spec, versions.c.anchor)
        query = query.where(self.dialect.among(versions.c.schedule_id, sorted(schedule_ids)))
        found = {}
        for schedule_id, version, spec, anchor in await self.conn.execute(query):
            try:
                found[schedule_id, version] = load_spec(spec, anchor).trigger
            except Invalid:
                continue
        return found

    async def _last_pruned(self, schedule_ids: set[str]) -> dict[tuple[str, int], tuple[datetime, datetime]]:
        query = select(ledger.c.schedule_id, ledger.c.version, func.max(ledger.c.first_at), func.max(ledger.c.last_at))
        query = query.where(
            self.dialect.among(ledger.c.schedule_id, sorted(schedule_ids)), ledger.c.fate == Fate.PRUNED
        )
        rows = await self.conn.execute(query.group_by(ledger.c.schedule_id, ledger.c.version))
        return {(schedule_id, version): (first, last) for schedule_id, version, first, last in rows}

    async def prune_requests(self, before: datetime, limit: int) -> int:
        query = select(requests.c.tenant_id, requests.c.request_key).where(requests.c.created_at < before).limit(limit)
        old = (await self.conn.execute(query)).all()
        for tenant_id, group in groupby(sorted(old), key=lambda row: row.tenant_id):
            keys = [row.request_key for row in group]
            where = (requests.c.tenant_id == tenant_id, self.dialect.among(requests.c.request_key, keys))
            await self.conn.execute(delete(requests).where(*where, requests.c.created_at < before))
        return len(old)

    async def report(
        self, node_id: str, role: str, started_at: datetime, now: datetime, report: Mapping[str, Any]
    ) -> None:
        row = {"id": [node_id], "role": [role], "started_at": [started_at], "seen_at": [now], "report": [dict(report)]}
        await self.dialect.insert(self.conn, nodes, row, conflict="replace")

    async def leave(self, node_id: str) -> None:
        await self.conn.execute(delete(nodes).where(nodes.c.id == node_id))

    async def forget_nodes(self, before: datetime) -> int:
        return (await self.conn.execute(delete(nodes).where(nodes.c.seen_at < before))).rowcount

    async def nodes(self, since: datetime) -> list[Mapping[str, Any]]:
        rows = await self.conn.execute(select(nodes).where(nodes.c.seen_at >= since).order_by(nodes.c.id))
        return [dict(row) for row in rows.mappings()]

    async def counts(self, tenant_id: str | None = None) -> Mapping[str, Any]:
        mine = [] if tenant_id is None else [runs.c.tenant_id == tenant_id]
        ours = [] if tenant_id is None else [schedules.c.tenant_id == tenant_id]
        by_status = await self.conn.execute(
            select(schedules.c.status, func.count()).where(*ours).group_by(schedules.c.status)
        )
        by_state = await self.conn.execute(select(runs.c.state, func.count()).where(*mine).group_by(runs.c.state))
        return {
            "schedules": {Status(status).value: count for status, count in by_status},
            "runs": {RunState(state).value: count for state, count in by_state},
            "queues": await self.queues(tenant_id),
        }

    async def queues(self, tenant_id: str | None = None) -> Mapping[str, Mapping[str, Any]]:
        mine = [] if tenant_id is None else [runs.c.tenant_id == tenant_id]
        depth = await self.conn.execute(
            select(runs.c.lane, func.count(), func.min(runs.c.ready_at))
            .where(runs.c.lane.is_not(None), *mine)
            .group_by(runs.c.lane)
        )
        return {lane: {"depth": count, "oldest": oldest} for lane, count, oldest in depth}

    async def time(self) -> datetime:
        clock = self.dialect.now()
        if clock is None:
            return wall()
        moment: datetime = (await self.conn.execute(select(clock))).scalar_one()
        return moment


_LEDGER = ("schedule_id", "first_at", "fate", "tenant_id", "last_at", "count", "version", "reason")


def _ranges(trigger: Trigger | None, instants: Sequence[datetime]) -> list[tuple[datetime, datetime, int]]:
    """Neighbouring instants as (first, last, count); without a trigger to ask, each stands alone."""
    made: list[tuple[datetime, datetime, int]] = []
    for instant in instants:
        if made and trigger is not None and trigger.next_after(made[-1][1]) == instant:
            first, _, count = made[-1]
            made[-1] = (first, instant, count + 1)
        else:
            made.append((instant, instant, 1))
    return made
