"""Reads the audit log: who changed what, written in the transaction of each change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from foliot.commands.audit import word
from foliot.commands.audit_sql import AuditEntry, SqlAuditLog
from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb
from foliot.db.database import Database
from foliot.engine.model.views import PageRequest
from foliot.features.schedules.sql import SqlScheduleHealth


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLog:
    """Lists entries."""

    store: Database

    @query(Verb.READ, Thing.AUDIT_LOG)
    async def list(
        self,
        ctx: QueryContext,
        /,
        page: PageRequest,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        **filters: str | None,
    ) -> Sequence[AuditEntry]:
        """The caller's tenant's entries, newest first. `filters`: user_id, thing, thing_id, verb."""
        async with ctx.read() as tx:
            return await SqlAuditLog(tx).find(ctx.tenant_id, page, start=start, end=end, **filters)

    @query(Verb.READ, Thing.AUDIT_LOG)
    async def names(self, ctx: QueryContext, entries: Sequence[AuditEntry]) -> Mapping[str, str]:
        """The present names of the schedules that entries are about, by their ids; deleted ones too. One query."""
        ids = sorted({one.thing_id for one in entries if one.thing == word(Thing.SCHEDULE)})
        if not ids:
            return {}
        async with ctx.read() as tx:
            return await SqlScheduleHealth(tx).names(ctx.tenant_id, ids)
