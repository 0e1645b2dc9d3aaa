"""Use cases of worker and scheduler processes: list, ping, drain, restart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Thing, Verb
from foliot.core.document import rfc3339
from foliot.core.errors import Conflict, NotFound
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.node import NodeRequest, NodeState, state_of
from foliot.engine.sql.retention import SqlRetention
from foliot.wakeups.feed import Feed, node_topic

EXECUTING = frozenset({"up", "scheduler", "worker"})
"""Roles that take runs, unless they report zero slots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """One process, by its last report."""

    id: str
    role: str
    host: str
    pid: int | None
    started_at: datetime
    seen_at: datetime
    slots: int
    free: int
    in_flight: int
    queues: Sequence[str] | None
    """The queues it takes runs from; None is every queue."""
    state: NodeState
    wish: NodeRequest | None
    per_minute: Mapping[str, int]
    """Runs that ended in it within the last minute, by queue."""

    @property
    def takes_runs(self) -> bool:
        return self.role in EXECUTING and self.slots > 0

    def takes(self, queue: str) -> bool:
        return self.takes_runs and (self.queues is None or queue in self.queues)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """List, ping, drain and restart processes."""

    store: Database
    clock: Clock
    feed: Feed

    @query(Verb.READ, Thing.INSTALLATION)
    async def list(self, ctx: QueryContext) -> Sequence[WorkerView]:
        async with ctx.read(across_tenants=True) as tx:
            now = self.clock.now()
            return [read_worker(row, now) for row in await SqlRetention(tx).nodes()]

    @command(Verb.READ, Thing.INSTALLATION)
    async def ping(self, ctx: CommandContext, once: IdempotentRequest = EACH_TIME) -> Sequence[WorkerView]:
        """Ask every process to report at once, and return the state before: a live process then reports again."""
        workers = await self.list(ctx.caller)
        if once.key is not None:
            await ctx.begin(across_tenants=True)
        ctx.wake(*(node_topic(one.id) for one in workers if one.state is not NodeState.STALE))
        return workers

    @command(Verb.WRITE, Thing.INSTALLATION)
    async def ask(
        self, ctx: CommandContext, node_id: str, wish: NodeRequest, once: IdempotentRequest = EACH_TIME
    ) -> WorkerView:
        """The process reads the request within seconds, takes no new runs, and finishes those it has."""
        tx = await ctx.begin(across_tenants=True)
        workers = [read_worker(row, ctx.now) for row in await SqlRetention(tx).nodes() if row["id"] == node_id]
        if not workers:
            raise NotFound("worker", node_id[:200])
        (was,) = workers
        if was.state is NodeState.STALE:
            raise Conflict(f"{node_id} has not reported since {rfc3339(was.seen_at)}: it would not receive this")
        if was.wish is not wish:
            await SqlRetention(tx).wish(node_id, wish)
            before = {"wish": was.wish.value if was.wish else None}
            ctx.audit(AuditedChange(wish.value, Thing.INSTALLATION, node_id, before, {"wish": wish.value}))
        (became,) = [read_worker(row, ctx.now) for row in await SqlRetention(tx).nodes() if row["id"] == node_id]
        ctx.wake(node_topic(node_id))
        return became


def read_worker(row: Mapping[str, Any], now: datetime) -> WorkerView:
    """A process from its row and report; where the report has no slots, they are those free and in use."""
    report = row["report"] if isinstance(row["report"], Mapping) else {}
    free, in_flight = _count(report.get("free")), _count(report.get("in_flight"))
    queues = report.get("queues")
    slots = report.get("slots")
    rates = report.get("per_minute")
    return WorkerView(
        id=row["id"],
        role=row["role"],
        host=str(report.get("host") or row["id"].partition(":")[0]),
        pid=_count(report.get("pid")) or None,
        started_at=row["started_at"],
        seen_at=row["seen_at"],
        slots=free + in_flight if slots is None else _count(slots),
        free=free,
        in_flight=in_flight,
        queues=sorted(map(str, queues)) if isinstance(queues, list) else None,
        state=state_of(row["seen_at"], row["wish"], now),
        wish=None if row["wish"] is None else NodeRequest(row["wish"]),
        per_minute={str(name): _count(count) for name, count in rates.items()} if isinstance(rates, Mapping) else {},
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
