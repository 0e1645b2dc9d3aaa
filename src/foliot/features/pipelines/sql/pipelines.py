"""Statements on stored pipelines, and on their runs without a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, delete, func, insert, or_, select

from foliot.db.database import Statements
from foliot.db.metadata import DamagedDocument
from foliot.engine.model.run import CLAIMABLE
from foliot.engine.model.schedule import ManagedBy, Schedule, ScheduleStatus
from foliot.engine.sql.schedules import schedule_of
from foliot.engine.sql.tables import runs, schedules
from foliot.features.pipelines.model import PIPELINE, FileFault, PipelineDefinition, StoredPipeline
from foliot.features.pipelines.tables import pipeline_of, pipeline_runs, pipelines


@dataclass(frozen=True, slots=True)
class SqlPipelines(Statements):
    """Reads and writes pipelines by tenant and name."""

    async def find(self, tenant_id: str, name: str) -> PipelineDefinition | None:
        """The last valid definition under this name."""
        kept = await self.get(tenant_id, name)
        return None if kept is None else kept.definition

    async def names(self, tenant_id: str) -> Sequence[str]:
        """Names of the pipelines with a valid definition."""
        where = (pipelines.c.tenant_id == tenant_id, pipelines.c.definition.is_not(None))
        return list((await self.conn.execute(select(pipelines.c.name).where(*where))).scalars())

    async def all(self, tenant_id: str) -> Sequence[StoredPipeline]:
        """All pipelines of the tenant, in the order of the file."""
        query = select(pipelines).where(pipelines.c.tenant_id == tenant_id)
        return [_kept(row) for row in await self.conn.execute(query.order_by(pipelines.c.place, pipelines.c.name))]

    async def get(self, tenant_id: str, name: str) -> StoredPipeline | None:
        row = (await self.conn.execute(select(pipelines).where(*_this(tenant_id, name)))).first()
        return None if row is None else _kept(row)

    async def put(self, kept: StoredPipeline) -> None:
        """Inserts or replaces a pipeline; the caller holds the lock of its declaration."""
        await self.conn.execute(delete(pipelines).where(*_this(kept.tenant_id, kept.name)))
        await self.conn.execute(
            insert(pipelines).values(
                tenant_id=kept.tenant_id,
                name=kept.name,
                file=kept.file,
                place=kept.place,
                definition=None if kept.definition is None else kept.definition.to_dict(),
                steps=[dict(step) for step in kept.steps],
                fault=None if kept.fault is None else kept.fault.to_dict(),
                yaml=kept.yaml,
                schedule_id=kept.schedule_id,
                updated_at=kept.updated_at,
            )
        )

    async def drop(self, tenant_id: str, name: str, unrun: Sequence[str] = ()) -> None:
        """Deletes a pipeline. Which revisions have run is kept, except for `unrun`: cancelled before they started."""
        mine = (pipeline_runs.c.tenant_id == tenant_id, pipeline_runs.c.name == name)
        gone = or_(pipeline_runs.c.first_of.is_(None), self.dialect.among(pipeline_runs.c.run_id, unrun))
        await self.conn.execute(delete(pipelines).where(*_this(tenant_id, name)))
        await self.conn.execute(delete(pipeline_runs).where(*mine, gone))

    async def waiting(self, tenant_id: str, name: str) -> Sequence[str]:
        """Ids of its runs without a schedule that have not started."""
        # Found by their action, because a retry of such a run has no row in `pipeline_runs`.
        waits = (runs.c.tenant_id == tenant_id, runs.c.state.in_(sorted(CLAIMABLE)))
        query = select(runs.c.id, runs.c.action).where(*waits, runs.c.kind == PIPELINE, runs.c.schedule_id.is_(None))
        rows = await self.conn.execute(query.order_by(runs.c.id))
        return [run_id for run_id, action in rows if pipeline_of(action) == name]

    async def first(self, tenant_id: str, name: str, revision: str, run_id: str) -> bool:
        """Records the run as the first of this revision; false when there was one. Unique for ever."""
        row = {"tenant_id": [tenant_id], "name": [name], "run_id": [run_id], "first_of": [revision]}
        await self.dialect.insert(self.conn, pipeline_runs, row, conflict="ignore")
        mine = (pipeline_runs.c.tenant_id == tenant_id, pipeline_runs.c.name == name)
        query = select(pipeline_runs.c.run_id).where(*mine, pipeline_runs.c.first_of == revision)
        return (await self.conn.execute(query)).scalar_one_or_none() == run_id

    async def noted(self, tenant_id: str, name: str, run_id: str) -> None:
        """Records a run without a schedule."""
        await self.conn.execute(insert(pipeline_runs).values(tenant_id=tenant_id, name=name, run_id=run_id))

    async def runs(self, tenant_id: str, name: str, limit: int) -> Sequence[str]:
        """Ids of its newest runs, newest first: recorded ones, and those of its schedules."""
        mine = (pipeline_runs.c.tenant_id == tenant_id, pipeline_runs.c.name == name)
        query = select(pipeline_runs.c.run_id).where(*mine).order_by(pipeline_runs.c.run_id.desc()).limit(limit)
        ids = list((await self.conn.execute(query)).scalars())
        where = (
            schedules.c.tenant_id == tenant_id,
            schedules.c.kind == PIPELINE,
            schedules.c.status != ScheduleStatus.DELETED,
        )
        for schedule_id, action in await self.conn.execute(select(schedules.c.id, schedules.c.action).where(*where)):
            if action.get(PIPELINE) == name:
                of = select(runs.c.id).where(runs.c.schedule_id == schedule_id)
                ids += (await self.conn.execute(of.order_by(runs.c.id.desc()).limit(limit))).scalars()
        # Ids sort by time.
        return sorted(set(ids), reverse=True)[:limit]

    async def newest(self, tenant_id: str) -> Mapping[str, str]:
        """The id of the newest run of each pipeline."""
        mine = pipeline_runs.c.tenant_id == tenant_id
        noted = select(pipeline_runs.c.name, func.max(pipeline_runs.c.run_id)).where(mine)
        rows = await self.conn.execute(noted.group_by(pipeline_runs.c.name))
        found: dict[str, str] = {row[0]: row[1] for row in rows}
        # One index lookup for each schedule, however many runs it has had.
        last = select(func.max(runs.c.id)).where(runs.c.schedule_id == schedules.c.id).scalar_subquery()
        where = (
            schedules.c.tenant_id == tenant_id,
            schedules.c.kind == PIPELINE,
            schedules.c.status != ScheduleStatus.DELETED,
        )
        for action, run_id in await self.conn.execute(select(schedules.c.action, last).where(*where)):
            if run_id is not None:
                name = str(action.get(PIPELINE))
                found[name] = max(run_id, found.get(name, ""))
        return found

    async def schedules(self, tenant_id: str) -> Mapping[str, Schedule]:
        """The schedules that the file created, by id."""
        where = (
            schedules.c.tenant_id == tenant_id,
            schedules.c.kind == PIPELINE,
            schedules.c.status != ScheduleStatus.DELETED,
        )
        query = select(schedules).where(*where, schedules.c.managed_by == ManagedBy.FILE)
        return {row.id: schedule_of(row) for row in await self.conn.execute(query)}


def _this(tenant_id: str, name: str) -> tuple[ColumnElement[bool], ...]:
    return pipelines.c.tenant_id == tenant_id, pipelines.c.name == name


def _kept(row: Any) -> StoredPipeline:
    # A damaged document is not run; it is rewritten the next time the file is read.
    sound = row.definition is not None and not isinstance(row.definition, DamagedDocument)
    fault = row.fault if not isinstance(row.fault, DamagedDocument) else None
    return StoredPipeline(
        tenant_id=row.tenant_id,
        name=row.name,
        file=row.file,
        place=row.place,
        definition=PipelineDefinition.from_dict(row.definition) if sound else None,
        steps=row.steps if isinstance(row.steps, list) else (),
        fault=None if fault is None else FileFault.from_dict(fault),
        yaml=row.yaml,
        schedule_id=row.schedule_id,
        updated_at=row.updated_at,
    )
