"""A claimed run: its row, its action, and its lease."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, select

from foliot.core.errors import Invalid
from foliot.db.columns import DamagedDocument
from foliot.db.dialects import Dialect
from foliot.db.sealer import UnsealedAction
from foliot.db.transaction import Statements
from foliot.engine.model.run import Fence, Origin
from foliot.engine.model.schedule import ScheduleSpec, load_spec
from foliot.engine.model.views import ClaimedRun
from foliot.engine.sql.stored_bytes import BODY, HOLDS
from foliot.engine.sql.tables import runs, versions

ROW = (
    runs.c.id,
    runs.c.tenant_id,
    runs.c.schedule_id,
    runs.c.version,
    runs.c.kind,
    runs.c.queue,
    runs.c.attempt,
    runs.c.max_attempts,
    runs.c.timeout_seconds,
    runs.c.scheduled_for,
    runs.c.fills,
    runs.c.ready_at,
    runs.c.created_at,
    runs.c.epoch,
    runs.c.token,
    runs.c.attempt_at,
    runs.c.cancel_requested,
    runs.c.action,
    runs.c.priority,
    runs.c.due_at,
    runs.c.origin,
)


class VersionCache(dict[tuple[str, int], tuple[ScheduleSpec | None, Mapping[str, Any], str | None]]):
    """Versions of schedules that were read once; they never change."""


@cache
def _versions(dialect: Dialect) -> Select[Any]:
    """Versions by schedule and number; reads a few more than needed, so that the statement's text stays the same."""
    columns = (versions.c.schedule_id, versions.c.version, versions.c.spec, versions.c.anchor, BODY.c.action)
    return (
        select(*columns)
        .join(BODY, HOLDS)
        .where(
            dialect.listed(versions.c.schedule_id, "ids"),
            versions.c.version.in_(bindparam("numbers", expanding=True)),
        )
    )


@dataclass(frozen=True, slots=True)
class SqlClaimedRows(Statements):
    """Base of the statements that claim runs."""

    @property
    def versions(self) -> VersionCache:
        return self.tx.cache(VersionCache)

    async def load(self, rows: Sequence[Any]) -> None:
        """Versions never change, so what was read once is kept."""
        wanted = {(row.schedule_id, row.version) for row in rows if row.schedule_id is not None}
        missing = sorted(key for key in wanted if key not in self.versions)
        if not missing:
            return
        if len(self.versions) > 10_000:
            self.versions.clear()
            missing = sorted(wanted)
        wanted_ids = {"ids": [schedule_id for schedule_id, _ in missing], "numbers": sorted({at for _, at in missing})}
        for row in await self.conn.execute(_versions(self.dialect), wanted_ids):
            try:
                fault = "its action is not JSON" if isinstance(row.action, DamagedDocument) else None
                self.versions[row.schedule_id, row.version] = (load_spec(row.spec, row.anchor), row.action, fault)
            except Invalid as error:
                self.versions[row.schedule_id, row.version] = (None, {}, str(error))

    def claimed(self, row: Any, fence: Fence, attempt: int, started_at: datetime) -> ClaimedRun:
        """The row as claimed under this fence, with its action; `load` it first."""
        absent: tuple[ScheduleSpec | None, Mapping[str, Any], str | None] = (None, {}, "its schedule's version is gone")
        spec, config, fault = (
            self.versions.get((row.schedule_id, row.version), absent) if row.schedule_id else (None, {}, None)
        )
        if isinstance(row.action, DamagedDocument):
            fault = "its action is not JSON"
        config = row.action if row.action is not None else config
        opened = UnsealedAction(config) if self.sealer is None else self.sealer.open(row.tenant_id, config)
        return ClaimedRun(
            fence=fence,
            tenant_id=row.tenant_id,
            schedule_id=row.schedule_id,
            kind=row.kind,
            queue=row.queue,
            attempt=attempt,
            max_attempts=row.max_attempts,
            timeout_seconds=row.timeout_seconds,
            scheduled_for=row.scheduled_for or row.fills or row.created_at,
            ready_at=row.ready_at,
            started_at=started_at,
            cancel_requested=row.cancel_requested,
            spec=spec,
            config=opened.action,
            fault=fault,
            hidden=opened.hidden,
            locked=opened.locked,
            replay=row.origin == Origin.REPLAY,
        )
