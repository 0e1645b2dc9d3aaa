"""Use cases of queues: list them with their depth, pause and resume."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from foliot.commands.audit import AuditedChange, differences
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Thing, Verb, may
from foliot.core.declaration import read
from foliot.core.ports import Clock
from foliot.core.queue_name import KNOWN_QUEUES, PauseRequest, queue_name
from foliot.db.database import Database, Transaction
from foliot.engine.model.node import NodeState
from foliot.engine.model.queue import QueuePause
from foliot.engine.sql.queues import SqlQueues
from foliot.engine.sql.retention import SqlRetention
from foliot.features.queues.model import EVERY_QUEUE, HistoryRange, SampledQueues, history
from foliot.features.queues.sql import SqlQueueHistory
from foliot.features.workers.usecases import WorkerView, read_worker
from foliot.wakeups.feed import QUEUES_TOPIC, RUNS_TOPIC, Feed


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """One queue. Tenants see their own runs in it, and no worker processes."""

    name: str
    depth: int = 0
    oldest: datetime | None = None
    in_flight: int = 0
    per_minute: int | None = None
    """Runs that ended within the last minute."""
    paused_at: datetime | None = None
    paused_by: str | None = None
    reason: str | None = None
    workers: Sequence[str] | None = None
    """Live processes that take its runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues:
    """List, pause and resume queues."""

    store: Database
    clock: Clock
    feed: Feed

    @query(Verb.READ, Thing.QUEUE)
    async def list(self, ctx: QueryContext) -> Sequence[QueueView]:
        """The built-in ones first, then the others by name."""
        if may(ctx.caller, Verb.READ, Thing.INSTALLATION):
            return await self._all(ctx)
        async with ctx.read() as tx:
            waiting = await SqlRetention(tx).queues(ctx.tenant_id)
            in_flight = await SqlQueues(tx).in_flight(ctx.tenant_id)
            pauses = {queue.name: queue for queue in await SqlQueues(tx).said()}
        return [
            _view(pauses.get(name, QueuePause(name)), waiting, in_flight) for name in _names([*waiting, *in_flight])
        ]

    async def _all(self, ctx: QueryContext) -> Sequence[QueueView]:
        async with ctx.read(across_tenants=True) as tx:
            waiting = await SqlRetention(tx).queues()
            in_flight = await SqlQueues(tx).in_flight()
            said = {queue.name: queue for queue in await SqlQueues(tx).said()}
            workers = await live_workers(tx, self.clock.now())
        names = _names([*waiting, *in_flight, *said])
        return [_whole(said.get(name, QueuePause(name)), waiting, in_flight, workers) for name in names]

    @command(Verb.WRITE, Thing.QUEUE)
    async def pause(
        self, ctx: CommandContext, name: str, raw: object = None, once: IdempotentRequest = EACH_TIME
    ) -> QueueView:
        """After the answer no run of this queue starts; running ones continue, and new ones wait."""
        name, reason = queue_name(name), read(PauseRequest, raw).reason or ""
        tx = await ctx.begin(across_tenants=True)
        waiting = await SqlRetention(tx).queues()
        await SqlQueues(tx).close(name)
        was = await SqlQueues(tx).get(name)
        became = QueuePause(name, ctx.now, ctx.caller.user_id, reason)
        if was.paused_at is not None:
            became = replace(was, reason=reason or was.reason)
        await _change(ctx, "pause", was, became)
        ctx.wake(QUEUES_TOPIC)
        return _whole(became, waiting, await SqlQueues(tx).in_flight(), await live_workers(tx, self.clock.now()))

    @command(Verb.WRITE, Thing.QUEUE)
    async def resume(self, ctx: CommandContext, name: str, once: IdempotentRequest = EACH_TIME) -> QueueView:
        """Its runs start again, highest priority first."""
        name = queue_name(name)
        tx = await ctx.begin(across_tenants=True)
        waiting = await SqlRetention(tx).queues()
        was, became = await SqlQueues(tx).get(name, lock=True), QueuePause(name)
        if was.paused_at is not None:
            await SqlQueues(tx).forget_offers(name)
            await _change(ctx, "resume", was, became)
        ctx.wake(QUEUES_TOPIC, RUNS_TOPIC)
        return _whole(became, waiting, await SqlQueues(tx).in_flight(), await live_workers(tx, self.clock.now()))

    @query(Verb.READ, Thing.INSTALLATION)
    async def history(self, ctx: QueryContext, range_: HistoryRange, queue: str | None = None) -> SampledQueues:
        """Of all tenants' runs: what waited, ran and ended in every queue, or in one, and how many slots were busy."""
        now = self.clock.now()
        async with ctx.read(across_tenants=True) as tx:
            rows = await SqlQueueHistory(tx).since(now - range_.length - range_.step)
        if queue is None:
            return history(range_, now, rows, KNOWN_QUEUES)
        return history(range_, now, [row for row in rows if row.queue in (queue, EVERY_QUEUE)], [queue])


async def live_workers(tx: Transaction, now: datetime) -> Sequence[WorkerView]:
    """Processes that take runs and have reported lately."""
    found = [read_worker(row, now) for row in await SqlRetention(tx).nodes()]
    return [one for one in found if one.state is NodeState.LIVE and one.takes_runs]


async def _change(ctx: CommandContext, verb: str, was: QueuePause, became: QueuePause) -> None:
    if became == was:
        return
    await SqlQueues(ctx.tx).put(became)
    before, after = differences(_document(was), _document(became))
    ctx.audit(AuditedChange(verb, Thing.QUEUE, became.name, before, after))


def _names(others: Iterable[str]) -> Sequence[str]:
    return list(dict.fromkeys([*KNOWN_QUEUES, *sorted(others)]))


def _view(queue: QueuePause, waiting: Mapping[str, Mapping[str, Any]], in_flight: Mapping[str, int]) -> QueueView:
    """Without what only operators see: who paused it, and why."""
    waits = waiting.get(queue.name) or {"depth": 0, "oldest": None}
    return QueueView(
        name=queue.name,
        depth=waits["depth"],
        oldest=waits["oldest"],
        in_flight=in_flight.get(queue.name, 0),
        paused_at=queue.paused_at,
    )


def _whole(
    queue: QueuePause,
    waiting: Mapping[str, Mapping[str, Any]],
    in_flight: Mapping[str, int],
    workers: Sequence[WorkerView],
) -> QueueView:
    waits = waiting.get(queue.name) or {"depth": 0, "oldest": None}
    return QueueView(
        name=queue.name,
        depth=waits["depth"],
        oldest=waits["oldest"],
        in_flight=in_flight.get(queue.name, 0),
        per_minute=sum(one.per_minute.get(queue.name, 0) for one in workers),
        paused_at=queue.paused_at,
        paused_by=queue.paused_by or None,
        reason=queue.reason or None,
        workers=[one.id for one in workers if one.takes(queue.name)],
    )


def _document(queue: QueuePause) -> dict[str, Any]:
    return {"paused": queue.paused_at is not None, "reason": queue.reason}
