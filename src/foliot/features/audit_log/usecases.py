"""Who changed what: written with each change, and read by whoever may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.commands.audit import Change, differences, word
from foliot.commands.audit_entry import TrailEntry
from foliot.commands.audit_sql import SqlTrail
from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb
from foliot.core.document import rfc3339
from foliot.db.database import Database
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import Page
from foliot.features.insights.sql.history import SqlHistory
from foliot.features.schedules.model.document import document

MASK = "***"


def edited(verb: str, was: Schedule, became: Schedule) -> Change:
    """A schedule was changed in part: the fields that differ."""
    before, after = differences(_standing(was), _standing(became))
    return Change(verb, Thing.SCHEDULE, became.id, masked(before), masked(after))


def portrait(schedule: Schedule) -> dict[str, Any]:
    """A schedule as the trail shows it."""
    return masked(_standing(schedule))


def _standing(schedule: Schedule) -> dict[str, Any]:
    state: dict[str, Any] = {"status": schedule.status.value, "paused_reason": schedule.paused_reason}
    state["version"] = schedule.version
    if schedule.skip_at is not None:
        state["skips"] = rfc3339(schedule.skip_at)
    return {**document(schedule), **state}


def masked(told: Mapping[str, Any]) -> dict[str, Any]:
    """Values of headers are often secrets, and the trail is kept forever: it keeps their names."""
    action = told.get("action")
    if not isinstance(action, Mapping) or not isinstance(action.get("headers"), Mapping):
        return dict(told)
    return {**told, "action": {**action, "headers": dict.fromkeys(action["headers"], MASK)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """Read what was written."""

    store: Database

    @query(Verb.READ, Thing.TRAIL)
    async def list(
        self,
        ctx: QueryContext,
        /,
        page: Page,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        **filters: str | None,
    ) -> Sequence[TrailEntry]:
        """The caller's tenant's entries, newest first. `filters`: user_id, thing, thing_id, verb."""
        async with ctx.read() as tx:
            return await SqlTrail(tx).find(ctx.tenant_id, page, start=start, end=end, **filters)

    @query(Verb.READ, Thing.TRAIL)
    async def names(self, ctx: QueryContext, entries: Sequence[TrailEntry]) -> Mapping[str, str]:
        """What the schedules are called now that entries are about, by their ids; deleted ones too. One question."""
        ids = sorted({one.thing_id for one in entries if one.thing == word(Thing.SCHEDULE)})
        if not ids:
            return {}
        async with ctx.read() as tx:
            return await SqlHistory(tx).names(ctx.tenant_id, ids)
