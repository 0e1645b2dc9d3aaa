"""A claimed run: its row, its action, and its lease."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, select

from foliot.core.errors import Invalid
from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.db.metadata import DamagedDocument
from foliot.db.sealer import UnsealedAction
from foliot.engine.model.run import Fence, Origin
from foliot.engine.model.schedule import ScheduleSpec, load_spec
from foliot.engine.model.views import ClaimedRun
from foliot.engine.sql.tables import runs, versions
from foliot.engine.sql.tenant_limits import BODY, HOLDS

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


@dataclass(slots=True)
class LoadedVersion:
    """One version of a schedule, as it is stored."""

    spec: ScheduleSpec | None
    action: Mapping[str, Any]
    fault: str | None = None
    plain: UnsealedAction | None = None
    """The action, opened, if it holds no credential: what is secret is decrypted anew each time."""


_GONE = LoadedVersion(None, {}, "its schedule's version is gone")
_NONE = LoadedVersion(None, {})


class VersionCache(dict[tuple[str, int], LoadedVersion]):
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
                loaded = LoadedVersion(load_spec(row.spec, row.anchor), row.action, fault)
            except Invalid as error:
                loaded = LoadedVersion(None, {}, str(error))
            self.versions[row.schedule_id, row.version] = loaded

    def claimed(self, row: Any, fence: Fence, attempt: int, started_at: datetime) -> ClaimedRun:
        """The row as claimed under this fence, with its action; `load` it first."""
        loaded = self.versions.get((row.schedule_id, row.version), _GONE) if row.schedule_id else _NONE
        fault = "its action is not JSON" if isinstance(row.action, DamagedDocument) else loaded.fault
        opened = self._opened(row, loaded)
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
            spec=loaded.spec,
            config=opened.action,
            fault=fault,
            hidden=opened.hidden,
            locked=opened.locked,
            replay=row.origin == Origin.REPLAY,
        )

    def _opened(self, row: Any, loaded: LoadedVersion) -> UnsealedAction:
        if row.action is None and loaded.plain is not None:
            return loaded.plain
        action = loaded.action if row.action is None else row.action
        opened = UnsealedAction(action) if self.sealer is None else self.sealer.open(row.tenant_id, action)
        if (
            row.action is None
            and not opened.hidden
            and not opened.locked
            and loaded is not _GONE
            and loaded is not _NONE
        ):
            loaded.plain = opened
        return opened
