"""Schedules of a program that embeds Foliot: each is created once by its name, however often the program starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.core.access import Thing, Verb
from foliot.core.ids import SCHEDULE
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.schedules.sql import SqlDeclarations
from foliot.features.schedules.usecases.check_target import objection
from foliot.features.schedules.usecases.declared import DeclarationOutcome, DeclarationResult, Declarations
from foliot.wakeups.feed import Feed

FROM_PROGRAM = "program"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSchedules:
    """Adds schedules by name, and finds them."""

    store: Database
    declaring: Declarations

    @property
    def clock(self) -> Clock:
        return self.declaring.schedules.clock

    @property
    def feed(self) -> Feed:
        return self.declaring.schedules.feed

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def add(self, ctx: CommandContext, name: str, raw: Mapping[str, Any]) -> DeclarationResult:
        """Create or update the schedule of this name; one that a user has edited since is left as it is.

        One that was deleted is created again, for the program asks for it again.
        """
        schedules, of = self.declaring.schedules, (FROM_PROGRAM, name)
        objects = await objection(schedules.actions, ctx.caller, raw, schedules.check_for(ctx.caller))
        await ctx.begin(schedules.limiter)
        result = await self.declaring.make(ctx, of, lambda _: raw)
        if result.fate is DeclarationOutcome.DELETED:
            result = await self.declaring.create(ctx, of, raw)
        if objects is not None:
            raise objects
        return result

    @query(Verb.READ, Thing.SCHEDULE)
    async def id_of(self, ctx: QueryContext, which: str) -> str:
        """The id of a schedule, given its id or the name under which the program added it."""
        if which.startswith(f"{SCHEDULE}_"):
            return which
        async with ctx.read() as tx:
            added = await SqlDeclarations(tx).of(ctx.tenant_id, FROM_PROGRAM)
        return next((one.schedule_id for one in added if one.name == which and one.schedule_id), which)
