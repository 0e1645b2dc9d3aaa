"""Lists the versions of a schedule: what each edit, pause and resume left in force, when, and by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from foliot.commands.audit import word
from foliot.commands.audit_sql import AuditEntry, SqlAuditLog
from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb, may
from foliot.core.errors import Invalid
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.model.schedule import Schedule, ScheduleSpec
from foliot.engine.model.views import PageRequest
from foliot.features.schedules.model.document import document
from foliot.features.schedules.sql import SqlScheduleVersions, StoredVersion
from foliot.features.schedules.usecases.schedules import find_schedule

UNVERSIONED = ("name", "description", "tags")
"""Fields of which only the present value is stored; the audit log has their changes."""
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """One version. The author and the verb of the edit are known to those who may read the audit log."""

    version: int
    at: datetime
    active: bool
    reason: str
    user_id: str | None
    change: str | None
    settings: Mapping[str, Any] | None
    """As a request would state them, credentials masked; None when the stored row is damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Reads the versions of a schedule."""

    store: Database
    clock: Clock

    @query(Verb.READ, Thing.SCHEDULE)
    async def list(self, ctx: QueryContext, schedule_id: str, page: PageRequest) -> Sequence[VersionRecord]:
        """Newest first; the cursor is the number of the last version seen."""
        async with ctx.read() as tx:
            schedule = await find_schedule(tx, ctx.caller, schedule_id)
            before = None if page.cursor is None else _number(page.cursor)
            stored = await SqlScheduleVersions(tx).page(ctx.tenant_id, schedule_id, before, page.limit)
            edits = await _edits(tx, schedule, stored) if may(ctx.caller, Verb.READ, Thing.AUDIT_LOG) else {}
        return [_record(schedule, one, edits.get(one.version)) for one in stored]


def _number(text: str) -> int:
    if not text.isdecimal():
        raise Invalid("cursor", "must be the `next_cursor` of this list", got=text)
    return int(text)


async def _edits(tx: Transaction, schedule: Schedule, stored: Sequence[StoredVersion]) -> dict[int, AuditEntry]:
    """The entries of the audit log that created these versions."""
    if not stored:
        return {}
    entries = await SqlAuditLog(tx).find(
        schedule.tenant_id,
        PageRequest(2 * len(stored) + 1),
        start=stored[-1].at,
        end=stored[0].at + _TICK,
        thing=word(Thing.SCHEDULE),
        thing_id=schedule.id,
    )
    numbered = {(one.became or {}).get("version"): one for one in entries}
    return {version: one for version, one in numbered.items() if isinstance(version, int)}


def _record(schedule: Schedule, one: StoredVersion, edit: AuditEntry | None) -> VersionRecord:
    settings = None
    if isinstance(one.spec, ScheduleSpec) and one.action is not None:
        whole = document(replace(schedule, spec=one.spec, action=dict(one.action)))
        settings = {name: value for name, value in whole.items() if name not in UNVERSIONED}
    return VersionRecord(
        version=one.version,
        at=one.at,
        active=one.active,
        reason=one.reason,
        user_id=None if edit is None else edit.user_id,
        change=None if edit is None else edit.verb,
        settings=settings,
    )
