"""Creates the schedules that registered functions declare beside their code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from foliot.commands.envelope import CommandContext, unchecked_command
from foliot.core.access import CODE
from foliot.core.errors import Invalid, InvalidMany, TooMany
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.schedules.usecases.declared import (
    DeclarationOutcome,
    DeclarationResult,
    Declarations,
    DeclarerRound,
)
from foliot.features.tasks.model.task import TaskCatalogue
from foliot.wakeups.feed import Feed

log = structlog.get_logger("foliot.tasks")

FROM_CODE = "code"


DONE = 24 * 3600.0
"""Seconds until the next round once every schedule is created: declarations change only with a restart."""


@dataclass(slots=True, kw_only=True)
class Declarer:
    """Creates, when a process starts, the schedules that its tasks declare; in the operator's own tenant."""

    store: Database
    tasks: TaskCatalogue
    declaring: Declarations
    name: str = "declarer"
    topics: Sequence[str] = ()
    troubles: list[str] = field(default_factory=list)
    """Schedules that could not be created, a sentence each."""

    @property
    def clock(self) -> Clock:
        return self.declaring.schedules.clock

    @property
    def feed(self) -> Feed:
        return self.declaring.schedules.feed

    async def run_once(self) -> DeclarerRound:
        self.troubles.clear()
        for task in self.tasks.views(CODE.tenant_id):
            if task.schedule is not None:
                await self._one(task.name, task.schedule)
        return DeclarerRound(DONE)

    async def _one(self, name: str, wanted: Mapping[str, Any]) -> None:
        try:
            declared = await self._make(CODE, name, wanted)
        except (Invalid, TooMany) as wrong:
            each = wrong.errors if isinstance(wrong, InvalidMany) else [wrong]
            message = f"task {name}: its schedule cannot be created: {'; '.join(map(str, each))}"
            self.troubles.append(message)
            log.error(message, action="declared_wrong", task=name)  # noqa: TRY400 -- the message suffices, no stack trace
            return
        if declared.fate is DeclarationOutcome.KEPT:
            log.warning(
                "the code declares another schedule, but this one was edited: it is kept",
                action="declared_kept",
                task=name,
                schedule_id=declared.schedule.id,
            )
        elif declared.fate in (DeclarationOutcome.CREATED, DeclarationOutcome.UPDATED):
            log.info(
                "a declared schedule", action=f"declared_{declared.fate}", task=name, schedule_id=declared.schedule.id
            )

    @unchecked_command
    async def _make(self, ctx: CommandContext, name: str, wanted: Mapping[str, Any]) -> DeclarationResult:
        await ctx.begin(self.declaring.schedules.limiter)
        return await self.declaring.make(ctx, (FROM_CODE, name), lambda _: wanted)
