"""Edits of schedules by group commit: concurrent requests lock, change and write their schedules together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foliot.commands.audit import AuditedChange, entry
from foliot.commands.audit_sql import AuditEntry, audit_change
from foliot.commands.limits import Limiter
from foliot.core.access import Caller
from foliot.core.errors import FoliotError
from foliot.core.limits import TenantLimits
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.schedule import Schedule
from foliot.engine.sql.schedule_rows import ScheduleTurn
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.usecases.change import LockedSchedule, hold_settled
from foliot.wakeups.feed import SCHEDULES_TOPIC, Feed

Edit = Callable[[LockedSchedule], tuple[Schedule, AuditedChange | None]]
"""The schedule after the edit, and what the audit log says of it; None where the edit changes nothing."""


@dataclass(frozen=True, slots=True)
class EditOrder:
    """A request in a group commit: its caller, the schedule, the edit and the limits of the tenant."""

    caller: Caller
    schedule_id: str
    edit: Edit
    limits: TenantLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleEdits:
    """Writes the edits of one tenant in one transaction."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter

    async def several(self, tenant_id: str, group: Sequence[EditOrder]) -> Sequence[Schedule | Exception | None]:
        """Each gets the schedule, its own error, or None when it has to run alone.

        Alone run those whose schedule is unknown, locked, due, damaged, ahead, or edited twice in this group.
        """
        answers: list[Schedule | Exception | None] = []
        turns: list[ScheduleTurn] = []
        entries: list[AuditEntry] = []
        async with self.store.begin(tenant_id) as tx:
            now = self.clock.now()
            stored = await SqlSchedules(tx).stored(tenant_id, sorted({order.schedule_id for order in group}))
            for order in group:
                was = stored.pop(order.schedule_id, None)
                held = None if was is None else hold_settled(was.schedule, now)
                if was is None or held is None:
                    answers.append(None)
                    continue
                try:
                    became, change = order.edit(held)
                except FoliotError as refused:
                    answers.append(refused)
                    continue
                answers.append(became)
                if change is not None:
                    turns.append(ScheduleTurn(was, became))
                    entries.append(entry(order.caller, held.now, change))
            if turns:
                await SqlSchedules(tx).turn(turns, *audit_change(entries))
                # Over the limit, all are rolled back and run alone, where each is judged by itself.
                await self.limiter.stored(tx, group[-1].caller, group[-1].limits)
        if turns:
            self.feed.wake(SCHEDULES_TOPIC)
        return answers
