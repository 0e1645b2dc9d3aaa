"""Schedules that a program around Foliot asks for: each once by its name, however often the program starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foliot.commands.retry_on_conflict import again
from foliot.core.access import Caller, Thing, Verb, demand
from foliot.core.ids import SCHEDULE
from foliot.db.database import Database
from foliot.features.schedules.sql.declared import SqlDeclarations
from foliot.features.schedules.usecases.check_target import objection
from foliot.features.schedules.usecases.declared import Declaring, Fate, Made
from foliot.wakeups.feed import SCHEDULES_TOPIC

FROM_PROGRAM = "program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Add, find."""

    store: Database
    declaring: Declaring

    @again
    async def add(self, caller: Caller, name: str, raw: Mapping[str, Any]) -> Made:
        """The schedule of this name as the program wants it now; one that somebody edited since stays as they want it.

        One that was removed is made anew, for the program asks for it again.
        """
        demand(caller, Verb.WRITE, Thing.SCHEDULE)
        schedules, of = self.declaring.schedules, (FROM_PROGRAM, name)
        limits = await schedules.limiter.of(caller.tenant_id)
        objects = await objection(schedules.actions, caller, raw, schedules.check_for(caller.tenant_id))
        async with self.store.begin(caller.tenant_id) as tx:
            made = await self.declaring.make(tx, caller, of, lambda _: raw, limits)
            if made.fate is Fate.DELETED:
                made = await self.declaring.create(tx, caller, of, raw, limits)
            if objects is not None:
                raise objects
        schedules.feed.wake(SCHEDULES_TOPIC)
        return made

    async def id_of(self, caller: Caller, which: str) -> str:
        """The id of the schedule that is meant: by its id, or by the name under which the program added it."""
        if which.startswith(f"{SCHEDULE}_"):
            return which
        demand(caller, Verb.READ, Thing.SCHEDULE)
        async with self.store.read(caller.tenant_id) as tx:
            added = await SqlDeclarations(tx).of(caller.tenant_id, FROM_PROGRAM)
        return next((one.schedule_id for one in added if one.name == which and one.schedule_id), which)
