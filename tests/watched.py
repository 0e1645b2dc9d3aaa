"""An action whose effects go on elsewhere, with an elsewhere that a test can see and break."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from foliot.engine.model.run import Cancelled, Outcome, Parked, Succeeded
from foliot.engine.ports import ActionContext, ParkedRun

Looking = Callable[[ParkedRun], Awaitable[Outcome | None]]
Starting = Callable[[ActionContext], Awaitable[None]]


@dataclass
class Elsewhere:
    """Starts one job for each run that asks; each job goes on until the test says that it is done."""

    kind: str = "probe"
    timeout: timedelta = timedelta(seconds=60)
    every: timedelta = timedelta(seconds=5)
    started: list[str] = field(default_factory=list)
    """Run ids, once for each job that was started."""
    stopped: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)
    groups: list[list[str]] = field(default_factory=list)
    looks: list[ParkedRun] = field(default_factory=list)
    inside: asyncio.Event = field(default_factory=asyncio.Event)
    starting: Starting | None = None
    """What happens after the note and before the start."""
    looking: Looking | None = None
    """What a look does instead; None in its answer leaves the run out."""

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return dict(config)

    async def perform(self, ctx: ActionContext) -> Outcome:
        handle = {"job": ctx.run_id, "looked": 0}
        await ctx.note(handle)
        self.inside.set()
        if self.starting is not None:
            await self.starting(ctx)
        self.started.append(ctx.run_id)
        return Parked(handle, self.every)

    async def look(self, looks: Sequence[ParkedRun]) -> Mapping[str, Outcome]:
        self.groups.append([look.ctx.run_id for look in looks])
        self.looks += looks
        self.inside.set()
        found = {look.ctx.run_id: await (self.looking or self.answer)(look) for look in looks}
        return {run_id: answer for run_id, answer in found.items() if answer is not None}

    async def answer(self, look: ParkedRun) -> Outcome:
        """What an honest action says."""
        run_id = look.ctx.run_id
        if look.cancel or look.ended:
            self.stopped.add(run_id)
            return Cancelled("stopped elsewhere")
        times = look.handle["looked"] + 1
        look.ctx.log(f"looked at {times} times")
        if run_id in self.done:
            return Succeeded({"looked": times})
        return Parked({**look.handle, "looked": times}, self.every, items=[{"look": times}])
