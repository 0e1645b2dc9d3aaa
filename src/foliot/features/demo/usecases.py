"""Use cases of the demo: whether it is on, and its removal with everything that it created."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.core.access import Thing, Verb
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.demo.model.week import ErasedRows
from foliot.features.demo.past_alerts import RULE_ID
from foliot.features.demo.sql import SqlPast
from foliot.features.monitors.model import MONITOR, MONITORS_TOPIC
from foliot.features.monitors.sql import SqlMonitors
from foliot.features.pipelines.sql.pipelines import SqlPipelines
from foliot.features.schedules.sql import SqlDeclarations
from foliot.features.watches.sql.pages import SqlVersions
from foliot.features.watches.sql.watches import SqlWatches
from foliot.wakeups.feed import RUNS_TOPIC, SCHEDULES_TOPIC, Feed

if TYPE_CHECKING:
    from foliot.features.demo.model.site import DemoPage

SOURCE = "demo"
"""The source under which the demo's schedules are declared; nothing else is declared under it."""
BACKUP, ROTATION = "nightly-backup", "log-rotation"
"""The names of its monitors."""
SERVICE = "foliot"
"""The name of this server's own gRPC server in the address book."""


Site = Callable[[str, datetime], "DemoPage"]
"""The demo's site: the page at a path, at a time."""


def monitor_id(name: str) -> str:
    """The id of a monitor of the one demo of an installation: it is deleted with the demo."""
    return f"{MONITOR}_{hashlib.sha256(f'demo {name}'.encode()).hexdigest()[:32]}"


@dataclass(frozen=True, slots=True)
class DemoContents:
    """The demo's data."""

    schedules: int
    runs: int

    @property
    def on(self) -> bool:
        return self.schedules > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """Show and remove the demo."""

    store: Database
    clock: Clock
    feed: Feed
    site: Site | None = None
    """The site, in a process that serves it."""

    @query(Verb.READ, Thing.SCHEDULE)
    async def schedules(self, ctx: QueryContext) -> int:
        """How many schedules of the caller's tenant are the demo's."""
        async with ctx.read() as tx:
            return len(await SqlDeclarations(tx).of(ctx.tenant_id, SOURCE))

    @query(Verb.READ, Thing.SCHEDULE)
    async def about(self, ctx: QueryContext) -> DemoContents:
        async with ctx.read() as tx:
            ids = [one.schedule_id or "" for one in await SqlDeclarations(tx).of(ctx.tenant_id, SOURCE)]
            return DemoContents(len(ids), await SqlPast(tx).count_runs(ctx.tenant_id, ids))

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def remove(self, ctx: CommandContext) -> ErasedRows:
        """Its schedules with all of their runs, also those that users started; the audit log records the removal."""
        tx = await ctx.begin()
        declared = await SqlDeclarations(tx).of(ctx.tenant_id, SOURCE)
        monitors = [key for key in map(monitor_id, (BACKUP, ROTATION)) if await SqlMonitors(tx).get(ctx.tenant_id, key)]
        ids = [one.schedule_id or "" for one in declared]
        erased = await SqlPast(tx).erase(ctx.tenant_id, ids, RULE_ID, monitors)
        for key in monitors:
            await SqlMonitors(tx).delete(key)
        for key in await SqlWatches(tx).ids_of(ctx.tenant_id, ids):
            await SqlVersions(tx).forget(key)
            await SqlWatches(tx).delete(key)
        for kept in await SqlPipelines(tx).all(ctx.tenant_id):
            if kept.file == SOURCE:
                await SqlPipelines(tx).drop(ctx.tenant_id, kept.name)
        gone = [
            AuditedChange("delete", Thing.SCHEDULE, one.schedule_id or "", was={"name": one.name, "source": SOURCE})
            for one in declared
        ]
        ctx.audit(*gone)
        ctx.wake(SCHEDULES_TOPIC, RUNS_TOPIC, MONITORS_TOPIC)
        return erased
