"""Makes the schedules that code and presets declare: each once, and never against what somebody has edited since."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson
import structlog

from foliot.commands.envelope import CommandContext
from foliot.core.ids import SCHEDULE
from foliot.engine.model.schedule import ManagedBy, Schedule, ScheduleStatus
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.model.declared import DeclaredSchedule
from foliot.features.schedules.model.document import document
from foliot.features.schedules.sql.declared import SqlDeclarations
from foliot.features.schedules.usecases.change import hold
from foliot.features.schedules.usecases.schedules import ScheduleOwner, Schedules

log = structlog.get_logger("foliot.tasks")

Wanted = Callable[[Schedule | None], Mapping[str, Any]]
"""The request that makes the schedule, given the one that stands."""


class DeclarationOutcome(StrEnum):
    """What became of a declared schedule."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    KEPT = "kept"
    """Somebody edited it: it stays as they want it."""
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class DeclarationResult:
    """One declared schedule, and what became of it."""

    name: str
    fate: DeclarationOutcome
    schedule: Schedule


def edited(schedule: Schedule, declared: DeclaredSchedule) -> bool:
    """Whether its rules are not those it was made with. Pausing is no edit; a field that is new in Foliot is none."""
    stands = _plain(document(schedule))
    return any(stands.get(name) != value for name, value in declared.made.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarations:
    """Makes one schedule, inside the transaction of whoever declares it."""

    schedules: Schedules

    async def make(self, ctx: CommandContext, of: tuple[str, str], wanted: Wanted) -> DeclarationResult:
        """`of` is who declares it, and under which name. One that was deleted is left to the calling method."""
        source, name = of
        tx = ctx.tx
        declared = await SqlDeclarations(tx).take(ctx.tenant_id, source, name)
        schedule = None
        if declared is not None and declared.schedule_id is not None:
            schedule = await SqlSchedules(tx).get(ctx.tenant_id, declared.schedule_id, lock=True)
        if declared is None or schedule is None:
            return await self.create(ctx, of, wanted(None))
        if schedule.status is ScheduleStatus.DELETED:
            return DeclarationResult(name, DeclarationOutcome.DELETED, schedule)
        raw = wanted(schedule)
        if declared.wanted == digest(raw):
            return DeclarationResult(name, DeclarationOutcome.UNCHANGED, schedule)
        if schedule.fault is not None or edited(schedule, declared):
            return DeclarationResult(name, DeclarationOutcome.KEPT, schedule)
        held = await hold(ctx, schedule, self.schedules.clock.now())
        changed = await self.schedules.rewrite(ctx, held, raw)
        await self.note(ctx, of, raw, changed)
        return DeclarationResult(name, DeclarationOutcome.UPDATED, changed)

    async def create(self, ctx: CommandContext, of: tuple[str, str], raw: Mapping[str, Any]) -> DeclarationResult:
        """Make it anew. Only after `make`, which took its place."""
        owner = ScheduleOwner(self.schedules.new_id(SCHEDULE), ctx.caller.user_id, _maker(of[0]))
        schedule = await self.schedules.add(ctx, raw, owner)
        await self.note(ctx, of, raw, schedule)
        return DeclarationResult(of[1], DeclarationOutcome.CREATED, schedule)

    async def note(self, ctx: CommandContext, of: tuple[str, str], raw: Mapping[str, Any], schedule: Schedule) -> None:
        """Remember what was asked for, and what came of it."""
        await SqlDeclarations(ctx.tx).put(
            DeclaredSchedule(
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
class DeclarerRound:
    """What a round did."""

    rest: float
