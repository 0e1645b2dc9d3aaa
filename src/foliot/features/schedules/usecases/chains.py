"""Shows chains: the schedules that one follows, directly or not, and those that follow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.sql.follow_rows import FollowLink
from foliot.engine.sql.follows import ChainNode, SqlFollowUps
from foliot.features.schedules.usecases.schedules import find_schedule


@dataclass(frozen=True, slots=True)
class ChainView:
    """The schedules of a chain, and who follows whom."""

    nodes: Sequence[ChainNode]
    links: Sequence[FollowLink]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """Reads the chain around a schedule."""

    store: Database
    clock: Clock

    @query(Verb.READ, Thing.SCHEDULE)
    async def of_schedule(self, ctx: QueryContext, schedule_id: str) -> ChainView:
        """A schedule that follows nothing, and that nothing follows, is a chain of one."""
        async with ctx.read() as tx:
            await find_schedule(tx, ctx.caller, schedule_id)
            return ChainView(*await SqlFollowUps(tx).chain(ctx.tenant_id, schedule_id))
