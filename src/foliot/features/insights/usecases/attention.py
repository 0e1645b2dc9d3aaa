"""Collects what needs attention now. Empty means that there is nothing to do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Caller, Thing, Verb, may
from foliot.core.errors import Unavailable
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.model.node import SEEN, NodeState
from foliot.engine.model.queue import QueuePause
from foliot.engine.model.stall import PATIENCE, Standstill, StandstillReason
from foliot.engine.sql.queues import SqlQueues
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.health.usecases import KnownStandstills
from foliot.features.insights.model import attention
from foliot.features.insights.model.attention import AttentionEntry, AttentionKind
from foliot.features.insights.sql.attention import SqlTroubles
from foliot.features.schedules.model.health import SHOWN, ScheduleOutcomes
from foliot.features.schedules.sql import SqlScheduleHealth
from foliot.features.schedules.usecases.change import SKEW
from foliot.features.workers.usecases import WorkerView, read_worker

WINDOW = timedelta(hours=24)
OVERDUE = timedelta(seconds=60)
"""An instant, or a run in a paused queue, is late after this."""
SLOW = timedelta(minutes=5)
"""How long a run may wait in a queue that has workers."""
EACH = 20
"""Entries of one kind; the rest is summed up in one more."""
LETTERS = 1000


AttentionSource = Callable[[Transaction, Caller], Awaitable[Sequence[AttentionEntry]]]
"""Entries of another feature: a few bounded statements, and nothing that the caller may not read."""


@dataclass(frozen=True, slots=True)
class AttentionFindings:
    """When it was checked, and the entries, worst first."""

    at: datetime
    items: Sequence[AttentionEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Reads little besides the problems themselves: its cost does not grow with what is stored."""

    store: Database
    clock: Clock
    knowledge: KnownStandstills
    sources: Sequence[AttentionSource] = ()

    @query(Verb.READ, Thing.RUN)
    async def check(self, ctx: QueryContext) -> AttentionFindings:
        """Requests that the caller may not make are left out, and processes for all but operators.

        When the store is unavailable, this process reports the standstills that it knows itself.
        """
        now = self.clock.now()
        own = await self.knowledge.own()
        try:
            items = await self._found(ctx, own, now)
        except Unavailable:
            items = _standing(self.knowledge.told(own, ()), ctx.caller, now, waits=False)
            if not items:
                raise
        return AttentionFindings(now, [_allowed(one, ctx.caller) for one in attention.ranked(items)])

    async def _found(self, ctx: QueryContext, own: Sequence[Standstill], now: datetime) -> list[AttentionEntry]:
        async with ctx.read() as tx:
            items = await self._troubles(tx, ctx.caller, now)
            for source in self.sources:
                items += await source(tx, ctx.caller)
            waiting = await SqlTroubles(tx).waiting(ctx.tenant_id)
        # Queues and processes belong to no tenant: a transaction with row-level security would not see them.
        async with ctx.read(across_tenants=True) as tx:
            pauses = {queue.name: queue for queue in await SqlQueues(tx).said()}
            rows = await SqlRetention(tx).nodes(now - WINDOW)
        workers = [read_worker(row, now) for row in rows]
        items += _queues(waiting, pauses, workers, now)
        if may(ctx.caller, Verb.READ, Thing.INSTALLATION):
            items += _lost(workers, now)
        late = now - timedelta(seconds=PATIENCE)
        waits = any(oldest < late for _, oldest in waiting.values()) or any(
            one.kind is AttentionKind.LATE for one in items
        )
        stands = self.knowledge.told(
            own, [(row["id"], row["report"] or {}) for row in rows if row["seen_at"] > now - SEEN]
        )
        return items + _standing(stands, ctx.caller, now, waits=waits)

    async def _troubles(self, tx: Transaction, caller: Caller, now: datetime) -> list[AttentionEntry]:
        tenant_id, found = caller.tenant_id, SqlTroubles(tx)
        items = await self._failing(tx, tenant_id, now)
        late, first = await found.overdue(tenant_id, now - OVERDUE, EACH + 1)
        dues = [(one.name, one.schedule_id, one.at) for one in first if one.at is not None]
        if late > EACH:
            items.append(attention.all_late(late, dues[0][2], now))
        else:
            items += [attention.late(name, schedule_id, due, now) for name, schedule_id, due in dues]
        items += [
            attention.missed(one.name, one.schedule_id, one.count, one.first, one.reason)
            for one in await found.missed(tenant_id, now - WINDOW, now + SKEW, EACH)
        ]
        items += [
            attention.damaged(one.name, one.schedule_id, one.why, one.at)
            for one in await found.damaged(tenant_id, EACH)
        ]
        led = await SqlSchedules(tx).ahead(now + SKEW, EACH + 1, tenant_id)
        if len(led) > EACH:
            items.append(attention.all_ahead(EACH))
        else:
            items += [attention.ahead(name, schedule_id) for _, schedule_id, name in led]
        if may(caller, Verb.READ, Thing.DEAD_LETTER) and (dead := await found.letters(tenant_id, LETTERS, now)):
            items.append(
                attention.dead_letters(dead.count, LETTERS, dead.alike, dead.message, dead.oldest, dead.newest_id)
            )
        return items

    async def _failing(self, tx: Transaction, tenant_id: str, now: datetime) -> list[AttentionEntry]:
        named = await SqlTroubles(tx).failing(tenant_id, now - WINDOW, EACH * 10 + 1)
        shown = named[:EACH]
        outcomes = await SqlScheduleHealth(tx).outcomes(tenant_id, [one.schedule_id for one in shown], SHOWN, why=True)
        wells = [(one.name, ScheduleOutcomes(one.schedule_id, outcomes.get(one.schedule_id, ()))) for one in shown]
        items = [item for name, wellness in wells if (item := attention.failing(name, wellness))]
        return [*items, attention.more_failing(len(named) - EACH)] if len(named) > EACH else items


def _queues(
    waiting: Mapping[str, tuple[int, datetime]],
    said: Mapping[str, QueuePause],
    workers: Sequence[WorkerView],
    now: datetime,
) -> list[AttentionEntry]:
    items = []
    alive = [one for one in workers if one.state is not NodeState.STALE]
    for queue, (depth, oldest) in sorted(waiting.items()):
        paused = said.get(queue, QueuePause(queue)).paused_at is not None
        if paused and now - oldest > OVERDUE:
            items.append(attention.stalled(queue, depth, oldest, now, said[queue].reason))
        elif not paused and now - oldest > OVERDUE and not any(one.takes(queue) for one in alive):
            items.append(attention.no_worker(queue, depth, oldest))
        elif not paused and now - oldest > SLOW:
            items.append(attention.stalled(queue, depth, oldest, now, None))
    return items


def _standing(found: Sequence[Standstill], caller: Caller, now: datetime, *, waits: bool) -> list[AttentionEntry]:
    """Operators see all standstills; a tenant those that concern everyone, and, while its own runs wait, why."""
    if may(caller, Verb.READ, Thing.INSTALLATION):
        return [attention.standstill(one.why.value, one.whole(), one.seconds, now) for one in found]
    return [
        attention.standstill(one.why.value, one.seen_by(caller.tenant_id), one.seconds, now)
        for one in found
        if waits or one.why in {StandstillReason.STORE, StandstillReason.CLOCK}
    ]


def _lost(workers: Sequence[WorkerView], now: datetime) -> list[AttentionEntry]:
    silent = [one for one in workers if one.state is NodeState.STALE and one.takes_runs]
    silent.sort(key=lambda one: one.seen_at, reverse=True)
    return [attention.lost_worker(one.id, one.seen_at, one.in_flight, now) for one in silent[:EACH]]


def _allowed(item: AttentionEntry, caller: Caller) -> AttentionEntry:
    return replace(item, actions=[action for action in item.actions if may(caller, *action.needs)])
