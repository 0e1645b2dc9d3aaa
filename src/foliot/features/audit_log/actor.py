"""Appends new audit log entries to the hash chain of their tenant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from foliot.commands.audit_sql import SqlAuditLog
from foliot.core.errors import Unavailable
from foliot.db.database import Database
from foliot.engine.extension import EngineContext, EngineExtension
from foliot.engine.loop import Actor
from foliot.engine.model.node import NodeRole

BATCH = 1000
PERIOD = 1.0

log = structlog.get_logger("foliot.engine")


@dataclass(frozen=True, slots=True)
class EntriesChained:
    """The result of one round."""

    entries: int
    rest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditChainer:
    """Safe on every node: the row lock on a tenant's chain head admits one node, and the others skip that tenant."""

    store: Database
    period: float
    batch: int = BATCH
    name: str = "chainer"
    topics: Sequence[str] = ()

    async def run_once(self) -> EntriesChained:
        async with self.store.glance() as look:
            if not await SqlAuditLog(look).waits():
                return EntriesChained(0, self.period)
        async with self.store.begin() as tx:
            entries = await SqlAuditLog(tx).chain(self.batch)
        return EntriesChained(entries, 0 if entries == self.batch else self.period)

    async def chain_all(self) -> None:
        """Chain what was logged in the last second before the process ends."""
        try:
            while (await self.run_once()).entries == self.batch:
                pass
        except Unavailable as error:
            log.warning("could not chain the newest entries", action="chain_failed", error=str(error))


class AuditChaining(EngineExtension):
    """Runs the chainer on every node that fires schedules; a clean stop leaves no entry unchained."""

    def __init__(self, engine: EngineContext) -> None:
        self._chainer = AuditChainer(store=engine.store, period=PERIOD * engine.pace.scale)

    def sources(self) -> Sequence[Actor]:
        return [self._chainer]

    async def close(self) -> None:
        await self._chainer.chain_all()


def audit_chaining(engine: EngineContext) -> EngineExtension:
    """Workers chain nothing: the schedulers do."""
    return EngineExtension() if engine.role is NodeRole.WORKER else AuditChaining(engine)
