"""Outcomes and durations of the newest runs of schedules, each read through the index by schedule.

Rows of declared schedules: which schedules code and presets have created.

Pages of a schedule's versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, func, literal, null, select, type_coerce, union_all, update

from foliot.core.errors import Contended
from foliot.db.clock import Elapsed
from foliot.db.database import Statements
from foliot.db.metadata import DamagedDocument, Document
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import ScheduleSpec
from foliot.engine.sql.schedules import spec_of
from foliot.engine.sql.tables import runs, schedule_stats, schedules, spans, versions
from foliot.engine.sql.tenant_limits import BODY, HOLDS
from foliot.features.schedules.model.document import DeclaredSchedule
from foliot.features.schedules.model.health import BAD, GOOD, SLOW, EndedRun, ScheduleRecord, two_digits
from foliot.features.schedules.tables import declared


@dataclass(frozen=True, slots=True)
class SqlDeclarations(Statements):
    """One row per declaration; the insert serialises processes that start at the same time."""

    async def take(self, tenant_id: str, source: str, name: str) -> DeclaredSchedule | None:
        """Locks and returns the row; concurrent callers wait. None when this transaction has inserted it."""
        row = {"tenant_id": [tenant_id], "source": [source], "name": [name], "wanted": [""], "made": [{}]}
        # Blocks while another transaction has inserted the same key and not committed yet.
        await self.dialect.insert(self.conn, declared, row, conflict="ignore")
        query = select(declared).where(*_this(tenant_id, source, name))
        stored = (await self.conn.execute(self.dialect.lock(query))).first()
        if stored is None:
            # Another transaction deleted the row after our insert met it: nothing is written yet; the retry inserts it.
            raise Contended(f"the declaration of {name} was dropped", told="another request changed it in the meantime")
        return None if stored.schedule_id is None else _declared(stored)

    async def put(self, one: DeclaredSchedule) -> None:
        """Updates the row that `take` has locked."""
        values = {"schedule_id": one.schedule_id, "wanted": one.wanted, "made": dict(one.made)}
        where = _this(one.tenant_id, one.source, one.name)
        await self.conn.execute(update(declared).where(*where).values(**values))

    async def of(self, tenant_id: str, source: str) -> Sequence[DeclaredSchedule]:
        where = (declared.c.tenant_id == tenant_id, declared.c.source == source, declared.c.schedule_id.is_not(None))
        rows = await self.conn.execute(select(declared).where(*where).order_by(declared.c.name))
        return [_declared(row) for row in rows]

    async def drop(self, tenant_id: str, source: str, name: str) -> None:
        await self.conn.execute(delete(declared).where(*_this(tenant_id, source, name)))


def _this(tenant_id: str, source: str, name: str) -> tuple[ColumnElement[bool], ...]:
    return declared.c.tenant_id == tenant_id, declared.c.source == source, declared.c.name == name


def _declared(row: Any) -> DeclaredSchedule:
    return DeclaredSchedule(**{column.name: getattr(row, column.name) for column in declared.c})


@dataclass(frozen=True, slots=True)
class SqlScheduleHealth(Statements):
    """Reads names and last outcomes of schedules."""

    async def names(self, tenant_id: str, schedule_ids: Sequence[str]) -> dict[str, str]:
        """The names of the tenant's schedules among these, deleted ones too."""
        query = select(schedules.c.id, schedules.c.name).where(
            self.dialect.among(schedules.c.id, schedule_ids), schedules.c.tenant_id == tenant_id
        )
        return {row.id: row.name for row in await self.conn.execute(query)} if schedule_ids else {}

    async def outcomes(
        self, tenant_id: str, schedule_ids: Sequence[str], each: int, *, why: bool = False
    ) -> dict[str, list[EndedRun]]:
        """The last ended runs of each of these schedules, oldest first; `why` they failed only if asked for.

        One statement that scans the index of each schedule no further than it must.
        """
        if not schedule_ids:
            return {}
        error = type_coerce(runs.c.error if why else null(), Document).label("error")
        columns = (runs.c.id, runs.c.schedule_id, runs.c.state, runs.c.started_at, runs.c.finished_at, error)
        # SQLite keeps no statistics, and would otherwise choose the tenant's index.
        mine = (func.coalesce(runs.c.tenant_id, literal("")) == tenant_id, runs.c.finished_at.is_not(None))
        parts = [
            select(
                select(*columns)
                .where(runs.c.schedule_id == schedule_id, *mine)
                .order_by(runs.c.id.desc())
                .limit(each)
                .subquery()
            )
            for schedule_id in schedule_ids
        ]
        found: dict[str, list[EndedRun]] = {}
        for row in await self.conn.execute(union_all(*parts)):
            found.setdefault(row.schedule_id, []).append(_ended(row))
        return {schedule_id: sorted(ended, key=lambda one: one.run_id) for schedule_id, ended in found.items()}

    async def candidates(self, tenant_id: str, since: datetime, most: int) -> list[str]:
        """Schedules with the highest scores whose newest run ended since then: so many slow and so many flaky ones."""
        stats = schedule_stats.c
        found: set[str] = set()
        for score in (stats.slow, stats.flaky):
            mine = (stats.tenant_id == tenant_id, score.is_not(None), stats.ended_at >= since)
            query = select(stats.schedule_id).where(*mine).order_by(score.desc()).limit(most)
            found.update((await self.conn.execute(query)).scalars())
        return sorted(found)

    async def recent_records(
        self, tenant_id: str, schedule_ids: Sequence[str], since: datetime, most: int
    ) -> list[ScheduleRecord]:
        """How the newest `most` runs of each of these schedules ended that were created since then."""
        if not schedule_ids:
            return []
        mine = (
            # SQLite keeps no statistics, and would otherwise choose the tenant's index.
            func.coalesce(runs.c.tenant_id, literal("")) == tenant_id,
            runs.c.created_at >= since,
            runs.c.state.in_(sorted(GOOD | BAD)),
        )
        took = Elapsed(runs.c.started_at, runs.c.finished_at).label("took")
        parts = [
            select(
                select(runs.c.schedule_id, runs.c.state, took)
                .where(runs.c.schedule_id == schedule_id, *mine)
                .order_by(runs.c.id.desc())
                .limit(most)
                .subquery()
            )
            for schedule_id in schedule_ids
        ]
        ended: dict[str, list[Any]] = {}
        for row in await self.conn.execute(union_all(*parts)):
            ended.setdefault(row.schedule_id, []).append(row)
        return [_record(schedule_id, rows) for schedule_id, rows in sorted(ended.items())]


def _record(schedule_id: str, rows: Sequence[Any]) -> ScheduleRecord:
    times = sorted(int(row.took) for row in rows if row.took is not None)
    # The first of which 95 of 100 are not above.
    p95 = times[-(-len(times) * round(SLOW * 100) // 100) - 1] if times else None
    bad = sum(row.state in BAD for row in rows)
    return ScheduleRecord(schedule_id, len(rows), bad, None if p95 is None else two_digits(p95))


def _ended(row: Any) -> EndedRun:
    took = None if row.started_at is None else round((row.finished_at - row.started_at).total_seconds() * 1000, 3)
    return EndedRun(row.id, RunState(row.state), row.finished_at, took, message_of(row.error))


def message_of(error: Any) -> str:
    """The message of a stored error, however damaged."""
    return str(error.get("message") or error.get("code") or "") if isinstance(error, Mapping) else ""


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """One version of a schedule as it is stored."""

    version: int
    at: datetime
    active: bool
    reason: str
    spec: ScheduleSpec | str
    """A damaged one is its error."""
    action: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class SqlScheduleVersions(Statements):
    """The versions of a schedule, newest first."""

    async def page(self, tenant_id: str, schedule_id: str, before: int | None, limit: int) -> list[StoredVersion]:
        """At most `limit` versions older than `before`, each with the last of its spans."""
        mine = [versions.c.tenant_id == tenant_id, versions.c.schedule_id == schedule_id]
        if before is not None:
            mine.append(versions.c.version < before)
        columns = (versions.c.version, versions.c.created_at, versions.c.spec, versions.c.anchor, BODY.c.action)
        query = select(*columns).outerjoin(BODY, HOLDS).where(*mine)
        found = (await self.conn.execute(query.order_by(versions.c.version.desc()).limit(limit))).all()
        if not found:
            return []
        held = select(spans.c.version, spans.c.active, spans.c.reason).where(
            spans.c.schedule_id == schedule_id, spans.c.version.in_([row.version for row in found])
        )
        rows = await self.conn.execute(held.order_by(spans.c.start_at, spans.c.id))
        last = {row.version: (row.active, row.reason) for row in rows}
        return [
            StoredVersion(
                row.version,
                row.created_at,
                *last.get(row.version, (False, "")),
                spec_of(row.spec, row.anchor),
                None if isinstance(row.action, DamagedDocument) else row.action,
            )
            for row in found
        ]
