"""Pruning, node reports, and the counts that health and metrics show.

Prunes versions of schedules that no instant, run or span refers to, the oldest first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, delete, func, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.errors import Invalid
from foliot.core.ids import RUN, floor_id
from foliot.core.time.trigger import Trigger
from foliot.db.clock import wall
from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.db.metadata import FORGET_RUNS, metadata
from foliot.engine.model.ledger import LedgerKind, LedgerReason
from foliot.engine.model.node import NodeRequest
from foliot.engine.model.run import OPEN, RunState
from foliot.engine.model.schedule import ScheduleStatus, load_spec
from foliot.engine.sql import metric_counters, quarter_counts, tenant_limits
from foliot.engine.sql.tables import ledger, nodes, runs, schedules, spans, versions

KEPT = 20
"""The newest versions of a schedule always stay: an edit can be reverted, and a replay can follow them."""
EACH = 1000
"""Versions of one schedule that are examined at once."""


@dataclass(frozen=True, slots=True)
class VersionPruner:
    """Spans without instants carry no information: they are deleted with their versions."""

    conn: AsyncConnection
    dialect: Dialect

    async def thin(self, after: str, limit: int) -> tuple[int, str | None]:
        """Examine so many schedules after this id. Returns the number of deleted versions, and where to continue."""
        query = select(schedules.c.id, schedules.c.version).where(schedules.c.id > after, schedules.c.version > KEPT)
        query = self.dialect.lock(query.order_by(schedules.c.id).limit(limit), skip=True)
        looked = (await self.conn.execute(query)).all()
        gone = sum([await self._thin(row.id, row.version - KEPT) for row in looked])
        return gone, looked[-1].id if len(looked) == limit else None

    async def _thin(self, schedule_id: str, upto: int) -> int:
        mine = (versions.c.schedule_id == schedule_id, versions.c.version <= upto)
        query = select(versions.c.version, versions.c.spec, versions.c.anchor).where(*mine)
        old = {row.version: row for row in await self.conn.execute(query.order_by(versions.c.version).limit(EACH))}
        if not old:
            return 0
        await self._end_empty_spans(schedule_id, old)
        unused = set(old) - await self._referred(schedule_id, max(old))
        shared = select(versions.c.version, versions.c.same_as).where(
            versions.c.schedule_id == schedule_id, versions.c.same_as.is_not(None)
        )
        unused -= {body for version, body in await self.conn.execute(shared) if version not in unused}
        if unused:
            numbers = versions.c.version.in_(sorted(unused))
            await self.conn.execute(delete(versions).where(versions.c.schedule_id == schedule_id, numbers))
        return len(unused)

    async def _end_empty_spans(self, schedule_id: str, old: dict[int, Any]) -> None:
        mine = spans.c.schedule_id == schedule_id
        rows = (await self.conn.execute(select(spans).where(mine).order_by(spans.c.start_at, spans.c.id))).all()
        # The first one says since when the schedule exists.
        empty = [row.id for row in rows[1:] if row.end_at is not None and _is_empty(row, old.get(row.version))]
        for start in range(0, len(empty), EACH):
            await self.conn.execute(delete(spans).where(self.dialect.among(spans.c.id, empty[start : start + EACH])))

    async def _referred(self, schedule_id: str, upto: int) -> set[int]:
        numbers: set[int] = set()
        for table in (spans, ledger, runs):
            query = (
                select(table.c.version).distinct().where(table.c.schedule_id == schedule_id, table.c.version <= upto)
            )
            numbers |= set((await self.conn.execute(query)).scalars())
        return numbers


def _is_empty(span: Any, version: Any) -> bool:
    """Whether no instant lies within it: neither fired nor passed over while paused."""
    if version is None:
        return False
    try:
        first = load_spec(version.spec, version.anchor).trigger.next_after(span.start_at)
    except Invalid:
        return False
    return first is None or first > span.end_at


@dataclass(frozen=True, slots=True)
class SqlRetention(Statements):
    """Statements of maintenance: pruning, node reports, counts."""

    async def prune(
        self, before: datetime, limit: int, after: str = "", tenant_id: str | None = None
    ) -> tuple[int, str | None]:
        """Examine so many runs after this id, created before this moment, and delete those that may go.

        The ledger keeps their instants. Open runs and unresolved dead letters stay. Returns how many were deleted, and
        where to continue; None at the end.

        Ids sort by time, so the key finds the oldest runs; but a node with a wrong clock makes wrong ids.

        Rows that stay are examined once in each pass through the table, not again and again at its beginning.
        """
        walk = (runs.c.id > after, runs.c.id < floor_id(RUN, before))
        mine = () if tenant_id is None else (runs.c.tenant_id == tenant_id,)
        query = select(*_PRUNED).where(*walk, *mine).order_by(runs.c.id).limit(limit)
        looked = (await self.conn.execute(self.dialect.lock(query, skip=True))).all()
        old = [row for row in looked if row.created_at < before and _may_go(row)]
        if old:
            await self._delete(old)
        return len(old), looked[-1].id if len(looked) == limit else None

    async def _delete(self, old: Sequence[Any]) -> None:
        await self._remember([row for row in old if row.scheduled_for is not None])
        for _, table in sorted(metadata.tables.items()):
            if (forget := table.info.get(FORGET_RUNS)) is not None:
                await forget(self.conn, self.dialect, table, old)
        ids = [row.id for row in old]
        await self.conn.execute(delete(runs).where(self.dialect.among(runs.c.id, ids)))
        ended = [(row, RunState(row.state), row.finished_at) for row in old]
        await quarter_counts.add_ended(self.conn, self.dialect, ended, by=-1)

    async def forget_counts(self, before: datetime, limit: int) -> int:
        """Delete counts per quarter before this moment that add up to nothing."""
        return await quarter_counts.forget(self.conn, self.dialect, before, limit)

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
                    LedgerKind.PRUNED.value,
                    members[0].tenant_id,
                    until,
                    count,
                    version,
                    LedgerReason.RETENTION.value,
                )
                for name, value in zip(_LEDGER, made, strict=True):
                    columns[name].append(value)
                open_first, open_last = start, until
        if columns["schedule_id"]:
            await self.dialect.insert(self.conn, ledger, columns, conflict="add")

    async def _triggers(self, schedule_ids: set[str]) -> dict[tuple[str, int], Trigger]:
        query = select(versions.c.schedule_id, versions.c.version, versions.c.spec, versions.c.anchor)
        query = query.where(self.dialect.among(versions.c.schedule_id, sorted(schedule_ids)))
        triggers = {}
        for schedule_id, version, spec, anchor in await self.conn.execute(query):
            try:
                triggers[schedule_id, version] = load_spec(spec, anchor).trigger
            except Invalid:
                continue
        return triggers

    async def _last_pruned(self, schedule_ids: set[str]) -> dict[tuple[str, int], tuple[datetime, datetime]]:
        query = select(ledger.c.schedule_id, ledger.c.version, func.max(ledger.c.first_at), func.max(ledger.c.last_at))
        query = query.where(
            self.dialect.among(ledger.c.schedule_id, sorted(schedule_ids)), ledger.c.fate == LedgerKind.PRUNED
        )
        rows = await self.conn.execute(query.group_by(ledger.c.schedule_id, ledger.c.version))
        return {(schedule_id, version): (first, last) for schedule_id, version, first, last in rows}

    async def thin_versions(self, after: str, limit: int) -> tuple[int, str | None]:
        """Delete versions of so many schedules after this id that no instant, run or span refers to; the newest stay.

        Returns how many were deleted, and where to continue; None at the end.
        """
        return await VersionPruner(self.conn, self.dialect).thin(after, limit)

    async def recount(self, after: str, limit: int) -> str | None:
        """Recount the stored bytes of so many tenants after this one. Returns where to continue; None at the end."""
        query = select(schedules.c.tenant_id).distinct().where(schedules.c.tenant_id > after)
        tenant_ids = list((await self.conn.execute(query.order_by(schedules.c.tenant_id).limit(limit))).scalars())
        for tenant_id in tenant_ids:
            await tenant_limits.recount(self.conn, self.dialect, tenant_id)
        return tenant_ids[-1] if len(tenant_ids) == limit else None

    async def report(
        self, node_id: str, role: str, started_at: datetime, now: datetime, report: Mapping[str, Any]
    ) -> NodeRequest | None:
        """Write a process's report, and return an operator's request to it."""
        row = {"id": [node_id], "role": [role], "started_at": [started_at], "seen_at": [now], "report": [dict(report)]}
        await self.dialect.insert(self.conn, nodes, row, conflict="replace")
        wish = await self.conn.scalar(select(nodes.c.wish).where(nodes.c.id == node_id))
        return None if wish is None else NodeRequest(wish)

    async def wish(self, node_id: str, wish: NodeRequest) -> None:
        await self.conn.execute(update(nodes).where(nodes.c.id == node_id).values(wish=wish.value))

    async def leave(self, node_id: str) -> None:
        """Delete a node; its counts are kept."""
        await self._forget(nodes.c.id == node_id)

    async def forget_nodes(self, before: datetime) -> int:
        return await self._forget(nodes.c.seen_at < before)

    async def _forget(self, which: ColumnElement[bool]) -> int:
        """Delete nodes; their counts stay in the sum."""
        query = self.dialect.lock(select(nodes.c.id, nodes.c.report).where(which).order_by(nodes.c.id), skip=True)
        left = (await self.conn.execute(query)).all()
        if not left:
            return 0
        counts: Counter[str] = Counter()
        for row in left:
            counts.update(metric_counters.counters(row.report))
        await metric_counters.add(self.conn, self.dialect, counts)
        await self.conn.execute(delete(nodes).where(self.dialect.among(nodes.c.id, [row.id for row in left])))
        return len(left)

    async def nodes(self, since: datetime | None = None) -> list[Mapping[str, Any]]:
        lately = [] if since is None else [nodes.c.seen_at >= since]
        rows = await self.conn.execute(select(nodes).where(*lately).order_by(nodes.c.id))
        return [dict(row) for row in rows.mappings()]

    async def gone(self) -> Mapping[str, Any]:
        """What forgotten nodes have counted, as one report; with it `runs`, the ended ones that are kept, by state."""
        return await metric_counters.total(self.conn)

    async def counts(self, tenant_id: str | None = None) -> Mapping[str, Any]:
        """Schedules by status, open runs by state, queues with depth and the oldest waiting moment, and parked runs."""
        mine = [] if tenant_id is None else [runs.c.tenant_id == tenant_id]
        ours = [] if tenant_id is None else [schedules.c.tenant_id == tenant_id]
        by_status = await self.conn.execute(
            select(schedules.c.status, func.count()).where(*ours).group_by(schedules.c.status)
        )
        return {
            "schedules": {ScheduleStatus(status).value: count for status, count in by_status},
            "runs": await self._open(mine),
            "queues": await self.queues(tenant_id),
            "parked": await self.parked(tenant_id),
        }

    async def parked(self, tenant_id: str | None = None) -> Mapping[str, Any]:
        """`count` of parked runs, and `oldest`: when the next check is due."""
        mine = [] if tenant_id is None else [runs.c.tenant_id == tenant_id]
        waiting = select(func.count(), func.min(runs.c.poll_at)).where(
            runs.c.poll_at.is_not(None), runs.c.state == RunState.RUNNING, *mine
        )
        count, oldest = (await self.conn.execute(waiting)).one()
        looked_at = select(func.count()).where(runs.c.lease_until.is_not(None), runs.c.handle.is_not(None), *mine)
        return {"count": count + (await self.conn.scalar(looked_at) or 0), "oldest": oldest}

    async def _open(self, mine: Sequence[ColumnElement[bool]]) -> dict[str, int]:
        """Open runs by state, through the indexes of open work: ended runs are never read."""
        claimable = select(runs.c.state, func.count()).where(runs.c.lane.is_not(None), *mine).group_by(runs.c.state)
        counts = Counter({RunState(state).value: count for state, count in await self.conn.execute(claimable)})
        for state, column in (
            (RunState.QUEUED, runs.c.buffered_of),
            # Of batches whose items are not there yet.
            (RunState.QUEUED, runs.c.poll_at),
            (RunState.RUNNING, runs.c.lease_until),
            (RunState.RUNNING, runs.c.poll_at),
        ):
            there = (column.is_not(None), runs.c.state == state, *mine)
            counts[state.value] += await self.conn.scalar(select(func.count()).select_from(runs).where(*there)) or 0
        return {state: count for state, count in counts.items() if count}

    async def queues(self, tenant_id: str | None = None) -> Mapping[str, Mapping[str, Any]]:
        """How many runs wait in each queue, and since when the oldest does; read through an index."""
        mine = [] if tenant_id is None else [runs.c.tenant_id == tenant_id]
        return {
            queue: {"depth": count, "oldest": oldest}
            for queue, (count, oldest) in (await waiting_by_queue(self.conn, *mine)).items()
        }

    async def probe(self) -> None:
        """A write that changes nothing: whether the database would take one."""
        await self.conn.execute(update(nodes).where(nodes.c.id == "").values(wish=None))

    async def time(self) -> datetime:
        """The database's clock."""
        clock = self.dialect.now()
        if clock is None:
            return wall()
        moment: datetime = (await self.conn.execute(select(clock))).scalar_one()
        return moment


async def waiting_by_queue(conn: AsyncConnection, *mine: ColumnElement[bool]) -> dict[str, tuple[int, datetime]]:
    """How many runs wait in each queue, and since when the oldest could start: runs with a lane, and batches."""
    claimable = select(runs.c.lane.label("queue"), func.count().label("waiting"), func.min(runs.c.ready_at).label("at"))
    unopened = select(runs.c.queue, func.count(), func.min(runs.c.ready_at))
    parts = union_all(
        claimable.where(runs.c.lane.is_not(None), *mine).group_by(runs.c.lane),
        # Each through its own partial index, both of which hold open work only.
        unopened.where(runs.c.poll_at.is_not(None), runs.c.state == RunState.QUEUED, *mine).group_by(runs.c.queue),
    ).subquery()
    query = select(parts.c.queue, func.sum(parts.c.waiting), func.min(parts.c.at)).group_by(parts.c.queue)
    return {queue: (int(count), oldest) for queue, count, oldest in await conn.execute(query)}


_PRUNED = (
    *quarter_counts.COUNTED,
    runs.c.version,
    runs.c.finished_at,
    runs.c.state,
    runs.c.resolved_by,
    runs.c.poll_at,
    runs.c.kind,
)


def _may_go(row: Any) -> bool:
    """Open runs stay, ended ones whose effect is not released yet, and a dead letter until a replay of it succeeds."""
    if row.poll_at is not None:
        return False
    return row.state not in OPEN and (row.state != RunState.DEAD_LETTER or row.resolved_by is not None)


_LEDGER = ("schedule_id", "first_at", "fate", "tenant_id", "last_at", "count", "version", "reason")


def _ranges(trigger: Trigger | None, instants: Sequence[datetime]) -> list[tuple[datetime, datetime, int]]:
    """Adjacent instants as (first, last, count); without a trigger, each is a range of its own."""
    ranges: list[tuple[datetime, datetime, int]] = []
    for instant in instants:
        if ranges and trigger is not None and trigger.next_after(ranges[-1][1]) == instant:
            first, _, count = ranges[-1]
            ranges[-1] = (first, instant, count + 1)
        else:
            ranges.append((instant, instant, 1))
    return ranges
