"""Use cases of presets: list, show, load and unload a set of schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from foliot.commands.envelope import CommandContext, command, requires
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Caller, Thing, Verb
from foliot.core.declaration import OR_NULL, declared, read
from foliot.core.document import Fields
from foliot.core.errors import Invalid, NotFound
from foliot.core.json_values import check_plain
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.presets.model import PresetDefinition, PresetEntry
from foliot.features.schedules.sql import SqlDeclarations
from foliot.features.schedules.usecases.declared import DeclarationOutcome, DeclarationResult, Declarations, edited
from foliot.features.tasks.model.task import TaskCatalogue
from foliot.wakeups.feed import Feed


@dataclass(frozen=True, slots=True)
class PresetApplied:
    """The result of a load or an unload, schedule by schedule."""

    preset: str
    made: Sequence[DeclarationResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Presets:
    """List presets, show one, load and unload it."""

    store: Database
    clock: Clock
    feed: Feed
    tasks: TaskCatalogue
    declaring: Declarations
    presets: Mapping[str, PresetDefinition]

    @requires(Verb.READ, Thing.SCHEDULE)
    def list(self, caller: Caller) -> Sequence[PresetDefinition]:
        return [self._seen(caller, self.presets[name]) for name in sorted(self.presets)]

    @requires(Verb.READ, Thing.SCHEDULE)
    def get(self, caller: Caller, name: str) -> PresetDefinition:
        preset = self.presets.get(name)
        if preset is None:
            raise NotFound("preset", name)
        return self._seen(caller, preset)

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def load(
        self, ctx: CommandContext, name: str, raw: object = None, once: IdempotentRequest = EACH_TIME
    ) -> PresetApplied:
        """Create its schedules. Loading again recreates deleted ones, updates those that were not
        edited, and leaves the others alone.
        """
        preset = self.get(ctx.caller, name)
        given = _settings(preset, raw)
        results = []
        await ctx.begin(self.declaring.schedules.limiter)
        for planned in preset.schedules:
            of = (_source(preset), planned.name)

            def wanted(stands: Schedule | None, planned: PresetEntry = planned) -> Mapping[str, Any]:
                return self._wanted(ctx.caller, preset, planned, given, stands)

            one = await self.declaring.make(ctx, of, wanted)
            if one.fate is DeclarationOutcome.DELETED:
                one = await self.declaring.create(ctx, of, wanted(None))
            results.append(one)
        return PresetApplied(name, results)

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def unload(
        self, ctx: CommandContext, name: str, raw: object = None, once: IdempotentRequest = EACH_TIME
    ) -> PresetApplied:
        """Delete its schedules, except edited ones; `edited: true` deletes those too."""
        preset = self.get(ctx.caller, name)
        everything = read(PresetUnloadRequest, raw).edited
        results = []
        tx = await ctx.begin()
        for made in await SqlDeclarations(tx).of(ctx.tenant_id, _source(preset)):
            schedule = await SqlSchedules(tx).get(ctx.tenant_id, made.schedule_id or "", lock=True)
            if schedule is not None and schedule.status is not ScheduleStatus.DELETED:
                if edited(schedule, made) and not everything:
                    results.append(DeclarationResult(made.name, DeclarationOutcome.KEPT, schedule))
                    continue
                await self.declaring.schedules.remove(ctx, schedule)
                results.append(DeclarationResult(made.name, DeclarationOutcome.DELETED, schedule))
            await SqlDeclarations(tx).drop(ctx.tenant_id, made.source, made.name)
        return PresetApplied(name, results)

    def _seen(self, caller: Caller, preset: PresetDefinition) -> PresetDefinition:
        """Without the schedules of tasks that this tenant may not run: their runs would only fail."""
        known = {view.name for view in self.tasks.views(caller.tenant_id)}
        return replace(preset, schedules=[one for one in preset.schedules if _task(one.document) in known])

    def _wanted(
        self,
        caller: Caller,
        preset: PresetDefinition,
        planned: PresetEntry,
        given: Mapping[str, Any],
        stands: Schedule | None,
    ) -> dict[str, Any]:
        """The preset's request with the settings that are given now, and those that were given before."""
        action = dict(planned.document["action"])
        view = self.tasks.view(str(action.get("task")), caller.tenant_id)
        takes = set(view.parameters.get("properties", ())) & set(preset.settings) if view is not None else set[str]()
        before = stands.action.get("parameters", {}) if stands is not None else {}
        kept = {name: value for name, value in before.items() if name in takes}
        chosen = {name: value for name, value in given.items() if name in takes}
        action["parameters"] = {**action.get("parameters", {}), **kept, **chosen}
        return {**planned.document, "action": action}


@declared
class PresetLoadRequest:
    """The preset's settings; one that is left out keeps its present value."""

    settings: dict[str, Any] | None = None


@declared
class PresetUnloadRequest:
    """Whether edited schedules are deleted as well."""

    edited: Annotated[bool, OR_NULL] = False


def _settings(preset: PresetDefinition, raw: object) -> Mapping[str, Any]:
    settings = Fields.of("settings", read(PresetLoadRequest, raw).settings)
    settings.asked |= set(preset.settings)
    settings.finish()
    for name, value in settings.raw.items():
        if value is None:
            raise Invalid(f"settings.{name}", "must not be null: leave it out to keep the current value")
    check_plain("settings", settings.raw)
    return settings.raw


def _source(preset: PresetDefinition) -> str:
    return f"preset:{preset.name}"


def _task(document: Mapping[str, Any]) -> str:
    return str(document["action"].get("task"))
