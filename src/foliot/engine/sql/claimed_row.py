"""A claimed run: its row, its action, and its lease."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, select

from foliot.core.errors import Invalid
from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.db.metadata import DamagedDocument
from foliot.db.sealer import UnsealedAction
from foliot.engine.model.run import Fence, Origin
from foliot.engine.model.schedule import ScheduleSpec, load_policies
from foliot.engine.model.views import ClaimedRun
from foliot.engine.sql.tables import runs, versions
from foliot.engine.sql.tenant_limits import BODY, HOLDS


class ClaimableRun(NamedTuple):
    """What a claim needs to know of a row. Read often: a field costs a third of what it does on a row."""

    id: str
    tenant_id: str
    schedule_id: str | None
    version: int | None
    kind: str
    queue: str
    attempt: int
    max_attempts: int
    timeout_seconds: int | None
    scheduled_for: datetime | None
    fills: datetime | None
    ready_at: datetime
    created_at: datetime
    epoch: int
    token: str | None
    attempt_at: datetime | None
    cancel_requested: bool
    action: Any
    priority: int
    catchup: bool | None
    due_at: datetime | None
    origin: str


ROW = tuple(runs.c[name] for name in ClaimableRun._fields)


@dataclass(slots=True)
class LoadedVersion:
    """One version of a schedule, as it is stored."""

    spec: ScheduleSpec | None
    """Its policies: no attempt asks when the schedule fires."""
    action: Mapping[str, Any]
    fault: str | None = None
    plain: UnsealedAction | None = None
    """The action, opened, if it holds no credential: what is secret is decrypted anew each time."""


_GONE = LoadedVersion(None, {}, "the version of its schedule no longer exists")
_NONE = LoadedVersion(None, {})


class VersionCache(dict[tuple[str, int], LoadedVersion]):
    """Versions of schedules that were read once; they never change."""


@cache
def _versions(dialect: Dialect) -> Select[Any]:
    """Versions by schedule and number; reads a few more than needed, so that the statement's text stays the same."""
    columns = (versions.c.schedule_id, versions.c.version, versions.c.spec, BODY.c.action)
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
        missing = sorted(wanted - self.versions.keys())
        if not missing:
            return
        if len(self.versions) > 10_000:
            self.versions.clear()
            missing = sorted(wanted)
        wanted_ids = {"ids": [schedule_id for schedule_id, _ in missing], "numbers": sorted({at for _, at in missing})}
        versions = self.versions
        for schedule_id, version, spec, action in await self.conn.execute(_versions(self.dialect), wanted_ids):
            try:
                fault = "its action is not JSON" if isinstance(action, DamagedDocument) else None
                loaded = LoadedVersion(load_policies(spec), action, fault)
            except Invalid as error:
                loaded = LoadedVersion(None, {}, str(error))
            versions[schedule_id, version] = loaded

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
