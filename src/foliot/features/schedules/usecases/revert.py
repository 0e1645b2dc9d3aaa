"""Reverts an edit of a schedule: restores the state before it, as a new edit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from foliot.commands.audit import word
from foliot.commands.audit_sql import EDITS, AuditEntry, SqlAuditLog
from foliot.commands.envelope import CommandContext, command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Thing, Verb
from foliot.core.document import rfc3339
from foliot.core.errors import Conflict, NotFound
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.model.schedule import Schedule, ScheduleSpec, ScheduleStatus
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.model.document import whole
from foliot.features.schedules.usecases.schedules import Schedules, find_schedule
from foliot.wakeups.feed import Feed

_WORDS: Mapping[str, type] = {"name": str, "description": str, "tags": list}
"""Fields that are not versioned, and are read from the audit log instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reverts:
    """Reverts only the last edit of a schedule, so that later edits are never overwritten unseen.

    The audit log masks headers and truncates large values, so action and trigger are read from the stored versions.
    """

    store: Database
    clock: Clock
    feed: Feed
    schedules: Schedules

    @command(Verb.WRITE, Thing.SCHEDULE, (Verb.READ, Thing.AUDIT_LOG))
    async def revert(self, ctx: CommandContext, entry_id: str, once: IdempotentRequest = EACH_TIME) -> Schedule:
        """The schedule after the revert. `Conflict` says why an edit cannot be reverted."""
        try:
            schedule, before = await self._standing(ctx, entry_id)
        except Conflict:
            # Unless this very request did it: with the same idempotency key, it gets its first answer again.
            if once.key is not None:
                await ctx.begin()
            raise
        # An edit between this read and that write makes another version, which the match refuses to overwrite.
        return await self.schedules.put_back(ctx, schedule.id, before, str(schedule.version), entry_id)

    async def _standing(self, ctx: CommandContext, entry_id: str) -> tuple[Schedule, dict[str, Any]]:
        """The schedule, and its document before the edit."""
        async with ctx.read() as tx:
            entry = await SqlAuditLog(tx).get(ctx.tenant_id, entry_id)
            if entry is None:
                raise NotFound("entry of the audit log", entry_id)
            old, new = _versions(entry)
            schedule = await find_schedule(tx, ctx.caller, entry.thing_id)
            if schedule.status is ScheduleStatus.DELETED:
                raise Conflict(f"schedule {schedule.id} is deleted: nothing is restored")
            await _refuse_later(tx, entry, schedule, new)
            return schedule, await _before(tx, entry, schedule, old)


def _versions(entry: AuditEntry) -> tuple[int, int]:
    """The version before the edit, and the one it created."""
    if entry.thing != word(Thing.SCHEDULE) or entry.verb not in EDITS:
        raise Conflict(
            f"entry {entry.id} is not an edit of a schedule: {entry.verb} of a {entry.thing.replace('_', ' ')}"
        )
    old, new = (shown.get("version") for shown in (entry.was or {}, entry.became or {}))
    if not isinstance(old, int) or not isinstance(new, int):
        raise Conflict(f"entry {entry.id} does not contain the previous state: the schedule was damaged then")
    return old, new


async def _refuse_later(tx: Transaction, entry: AuditEntry, schedule: Schedule, new: int) -> None:
    """Pausing and resuming create versions too, but change no setting."""
    for verb in EDITS:
        entries = await SqlAuditLog(tx).find(
            entry.tenant_id, PageRequest(1), thing=entry.thing, thing_id=entry.thing_id, verb=verb
        )
        for other in entries:
            later = (other.became or {}).get("version")
            if other.id != entry.id and isinstance(later, int) and later > new:
                edit = f"{other.user_id} changed it at {rfc3339(other.at)} ({other.verb}, entry {other.id})"
                raise Conflict(f"schedule {schedule.id} was changed since: {edit}; look at it, or revert that first")
    spec, action = await _version(tx, schedule, new)
    if (spec, action) != (schedule.spec, schedule.action):
        raise Conflict(f"schedule {schedule.id} was changed since version {new}; look at it first")


async def _before(tx: Transaction, entry: AuditEntry, schedule: Schedule, old: int) -> dict[str, Any]:
    """The document of the schedule before the edit."""
    spec, action = await _version(tx, schedule, old)
    was = whole(replace(schedule, spec=spec, action=dict(action)))
    for name, kind in _WORDS.items():
        if name in (entry.was or {}):
            value = (entry.was or {})[name]
            if not isinstance(value, kind):
                raise Conflict(f"the previous value of {name!r} was too large for the audit log: set it by hand")
            was[name] = value
    return was


async def _version(tx: Transaction, schedule: Schedule, number: int) -> tuple[ScheduleSpec, Mapping[str, Any]]:
    spec = (await SqlSchedules(tx).specs(schedule.id)).get(number)
    action = (await SqlSchedules(tx).actions(schedule.tenant_id, {(schedule.id, number)})).get((schedule.id, number))
    if not isinstance(spec, ScheduleSpec) or action is None:
        raise Conflict(f"version {number} of schedule {schedule.id} cannot be read any more")
    return spec, action
