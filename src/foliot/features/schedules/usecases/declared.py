"""Creates the schedules that code and presets declare: each once, and never over a user's edits."""

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
from foliot.features.schedules.model.document import DeclaredSchedule, document
from foliot.features.schedules.sql import SqlDeclarations
from foliot.features.schedules.usecases.change import hold
from foliot.features.schedules.usecases.create import ScheduleOwner
from foliot.features.schedules.usecases.schedules import Schedules

log = structlog.get_logger("foliot.tasks")

Wanted = Callable[[Schedule | None], Mapping[str, Any]]
"""Builds the request for the schedule, given the existing one."""


class DeclarationOutcome(StrEnum):
    """What became of a declared schedule."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    KEPT = "kept"
    """A user has edited it, so it is left as it is."""
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class DeclarationResult:
    """One declared schedule, and what became of it."""

    name: str
    fate: DeclarationOutcome
    schedule: Schedule


def edited(schedule: Schedule, declared: DeclaredSchedule) -> bool:
    """Whether its rules differ from those it was created with. Pausing is no edit; nor is a field new in Foliot."""
    stands = _plain(document(schedule))
    return any(stands.get(name) != value for name, value in declared.made.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarations:
    """Creates or updates one declared schedule, inside the caller's transaction."""

    schedules: Schedules

    async def make(self, ctx: CommandContext, of: tuple[str, str], wanted: Wanted) -> DeclarationResult:
        """`of` is the source and the declared name. One that was deleted is left to the calling method."""
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
        """Create it again. Only after `make`, which has locked its row."""
        owner = ScheduleOwner(self.schedules.new_id(SCHEDULE), ctx.caller.user_id, _maker(of[0]))
        schedule = await self.schedules.add(ctx, raw, owner)
        await self.note(ctx, of, raw, schedule)
        return DeclarationResult(of[1], DeclarationOutcome.CREATED, schedule)

    async def note(self, ctx: CommandContext, of: tuple[str, str], raw: Mapping[str, Any], schedule: Schedule) -> None:
        """Store the digest of the request, and the document that was created from it."""
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
    """The manager of what this source declares; a program that embeds Foliot counts as code."""
    word = source.partition(":")[0]
    return ManagedBy(word) if word in set(ManagedBy) else ManagedBy.CODE


def digest(raw: Mapping[str, Any]) -> str:
    """Equal for equal requests, whatever the order of their keys."""
    return hashlib.sha256(orjson.dumps(raw, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _plain(raw: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = orjson.loads(orjson.dumps(raw))
    return made


@dataclass(frozen=True, slots=True)
class DeclarerRound:
    """What one round of a declarer did."""

    rest: float
