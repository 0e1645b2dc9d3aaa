"""Makes the schedules that code and presets declare: each once, and never against what somebody has edited since."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson
import structlog

from foliot.commands.envelope import CommandContext, unchecked_command
from foliot.core.access import CODE
from foliot.core.errors import Invalid, InvalidMany, TooMany
from foliot.core.ids import SCHEDULE
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.schedule import ManagedBy, Schedule, Status
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.model.declared import Declared
from foliot.features.schedules.model.document import document
from foliot.features.schedules.sql.declared import SqlDeclarations
from foliot.features.schedules.usecases.change import hold
from foliot.features.schedules.usecases.schedules import Owner, Schedules
from foliot.features.tasks.model.catalogue import TaskCatalogue
from foliot.wakeups.feed import Feed

FROM_CODE = "code"
DONE = 24 * 3600.0
"""Seconds of rest once everything is made: what is declared changes with the next start."""

log = structlog.get_logger("foliot.tasks")

Wanted = Callable[[Schedule | None], Mapping[str, Any]]
"""The request that makes the schedule, given the one that stands."""


class Fate(StrEnum):
    """What became of a declared schedule."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    KEPT = "kept"
    """Somebody edited it: it stays as they want it."""
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Made:
    """One declared schedule, and what became of it."""

    name: str
    fate: Fate
    schedule: Schedule


def edited(schedule: Schedule, declared: Declared) -> bool:
    """Whether its rules are not those it was made with. Pausing is no edit; a field that is new in Foliot is none."""
    stands = _plain(document(schedule))
    return any(stands.get(name) != value for name, value in declared.made.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaring:
    """Makes one schedule, inside the transaction of whoever declares it."""

    schedules: Schedules

    async def make(self, ctx: CommandContext, of: tuple[str, str], wanted: Wanted) -> Made:
        """`of` is who declares it, and under which name. One that was deleted is left to the calling method."""
        source, name = of
        tx = ctx.tx
        declared = await SqlDeclarations(tx).take(ctx.tenant_id, source, name)
        schedule = None
        if declared is not None and declared.schedule_id is not None:
            schedule = await SqlSchedules(tx).get(ctx.tenant_id, declared.schedule_id, lock=True)
        if declared is None or schedule is None:
            return await self.create(ctx, of, wanted(None))
        if schedule.status is Status.DELETED:
            return Made(name, Fate.DELETED, schedule)
        raw = wanted(schedule)
        if declared.wanted == digest(raw):
            return Made(name, Fate.UNCHANGED, schedule)
        if schedule.fault is not None or edited(schedule, declared):
            return Made(name, Fate.KEPT, schedule)
        held = await hold(ctx, schedule, self.schedules.clock.now())
        changed = await self.schedules.rewrite(ctx, held, raw)
        await self.note(ctx, of, raw, changed)
        return Made(name, Fate.UPDATED, changed)

    async def create(self, ctx: CommandContext, of: tuple[str, str], raw: Mapping[str, Any]) -> Made:
        """Make it anew. Only after `make`, which took its place."""
        owner = Owner(self.schedules.new_id(SCHEDULE), ctx.caller.user_id, _maker(of[0]))
        schedule = await self.schedules.add(ctx, raw, owner)
        await self.note(ctx, of, raw, schedule)
        return Made(of[1], Fate.CREATED, schedule)

    async def note(self, ctx: CommandContext, of: tuple[str, str], raw: Mapping[str, Any], schedule: Schedule) -> None:
        """Remember what was asked for, and what came of it."""
        await SqlDeclarations(ctx.tx).put(
            Declared(
                tenant_id=ctx.tenant_id,
                source=of[0],
                name=of[1],
                schedule_id=schedule.id,
                wanted=digest(raw),
                made=_plain(document(schedule)),
            )
        )


def _maker(source: str) -> ManagedBy:
    """Who looks after what this source declares; a program around Foliot is code too."""
    word = source.partition(":")[0]
    return ManagedBy(word) if word in set(ManagedBy) else ManagedBy.CODE


def digest(raw: Mapping[str, Any]) -> str:
    """The same for the same request, however it is ordered."""
    return hashlib.sha256(orjson.dumps(raw, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _plain(raw: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = orjson.loads(orjson.dumps(raw))
    return made


@dataclass(frozen=True, slots=True)
class Did:
    """What a round did."""

    rest: float


@dataclass(slots=True, kw_only=True)
class Declarer:
    """Makes, when a process starts, the schedules that its tasks declare; for the tenant that keeps the house."""

    store: Database
    tasks: TaskCatalogue
    declaring: Declaring
    name: str = "declarer"
    topics: Sequence[str] = ()
    troubles: list[str] = field(default_factory=list)
    """What could not be made, a sentence each."""

    @property
    def clock(self) -> Clock:
        return self.declaring.schedules.clock

    @property
    def feed(self) -> Feed:
        return self.declaring.schedules.feed

    async def run_once(self) -> Did:
        self.troubles.clear()
        for task in self.tasks.views(CODE.tenant_id):
            if task.schedule is not None:
                await self._one(task.name, task.schedule)
        return Did(DONE)

    async def _one(self, name: str, wanted: Mapping[str, Any]) -> None:
        try:
            made = await self._make(CODE, name, wanted)
        except (Invalid, TooMany) as wrong:
            each = wrong.errors if isinstance(wrong, InvalidMany) else [wrong]
            said = f"task {name}: its schedule cannot be made: {'; '.join(map(str, each))}"
            self.troubles.append(said)
            log.error(said, action="declared_wrong", task=name)  # noqa: TRY400 -- a sentence, not a surprise
            return
        if made.fate is Fate.KEPT:
            log.warning(
                "the code declares another schedule, and somebody edited this one: it stays",
                action="declared_kept",
                task=name,
                schedule_id=made.schedule.id,
            )
        elif made.fate in (Fate.CREATED, Fate.UPDATED):
            log.info("a declared schedule", action=f"declared_{made.fate}", task=name, schedule_id=made.schedule.id)

    @unchecked_command
    async def _make(self, ctx: CommandContext, name: str, wanted: Mapping[str, Any]) -> Made:
        await ctx.begin(self.declaring.schedules.limiter)
        return await self.declaring.make(ctx, (FROM_CODE, name), lambda _: wanted)
