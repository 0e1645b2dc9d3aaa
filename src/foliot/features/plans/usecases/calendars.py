"""Compares the calendars of a file with those that are stored, and writes what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from foliot.commands.envelope import CommandContext
from foliot.core.access import Caller
from foliot.core.errors import Conflict, Invalid, InvalidMany
from foliot.core.time.resolved_calendar import ResolvedCalendar
from foliot.engine.model.restrictions import CalendarBook
from foliot.features.calendars.model.calendar import CalendarSettings, StoredCalendar
from foliot.features.calendars.sql import SqlCalendars
from foliot.features.calendars.usecases import NamedCalendars
from foliot.features.plans.model.difference import ComparedDocument, FieldChange, PlanAct, PlannedChange, differences
from foliot.features.plans.model.request import PlanRequest
from foliot.features.plans.sql import AppliedDocument, SqlAppliedDocuments
from foliot.features.plans.usecases.schedules import SchedulePlanInput
from foliot.features.schedules.model.document import under

THING = "calendars"


@dataclass(frozen=True, slots=True)
class PlannedCalendar:
    """One calendar of a plan, and what is written for it."""

    change: PlannedChange
    stored: StoredCalendar | None = None
    wanted: StoredCalendar | None = None
    """As it is to become, resolved."""
    row: AppliedDocument | None = None


@dataclass(frozen=True, slots=True)
class CalendarPlanner:
    """Compares documents with stored calendars of the same names."""

    cases: NamedCalendars
    asked: PlanRequest
    there: SchedulePlanInput

    async def plan(self, caller: Caller) -> list[PlannedCalendar]:
        """Every document in order, then what the file no longer contains; `Invalid` names each fault with its place."""
        faults: list[Invalid] = []
        wanted: dict[int, CalendarSettings] = {}
        planned: list[PlannedCalendar] = []
        for place, raw in enumerate(self.asked.documents.calendars):
            try:
                wanted[place] = CalendarSettings.of(raw)
                planned.append(await self._one(caller, place, wanted[place]))
            except Invalid as wrong:
                placed = under(f"{THING}[{place}]", wrong)
                faults += placed.errors if isinstance(placed, InvalidMany) else [placed]
        seen = Counter(one.name for one in wanted.values())
        faults += [
            Invalid(f"{THING}[{place}].name", f"is the name of {seen[one.name]} documents", got=one.name)
            for place, one in wanted.items()
            if seen[one.name] > 1
        ]
        if faults:
            raise InvalidMany(faults)
        return [*planned, *self._left(set(seen))]

    async def _one(self, caller: Caller, place: int, settings: CalendarSettings) -> PlannedCalendar:
        stored = next((one for one in self.there.calendars if one.settings.name == settings.name), None)
        drafted = await self.cases.drafted(caller, settings)
        row = self.there.applied.get((THING, settings.name))
        made = AppliedDocument(THING, settings.name, self.asked.file, drafted.id, document_of(settings))
        if stored is None:
            change = PlannedChange(THING, settings.name, PlanAct.CREATE, place=place)
            return PlannedCalendar(change, wanted=drafted, row=made)
        mine = row if row is not None and row.thing_id == stored.id and row.file == self.asked.file else None
        fields: tuple[FieldChange, ...] = differences(
            ComparedDocument.plain(document_of(settings)),
            ComparedDocument.plain(document_of(stored.settings)),
            None if mine is None else mine.made,
        )
        act = PlanAct.CHANGE if fields else PlanAct.NONE
        if any(one.by_hand for one in fields) and not self.asked.overwrite:
            act = PlanAct.DRIFT
        revision = stored.resolved.revision
        change = PlannedChange(THING, settings.name, act, stored.id, revision, fields, place)
        kept = None if act is PlanAct.DRIFT else replace(made, thing_id=stored.id)
        return PlannedCalendar(change, stored, drafted, None if kept == mine else kept)

    def _left(self, wanted: set[str]) -> list[PlannedCalendar]:
        """What the file defined before and no longer contains."""
        by_id = {one.id: one for one in self.there.calendars}
        left = []
        for (thing, name), row in sorted(self.there.applied.items()):
            if thing != THING or row.file != self.asked.file or name in wanted or row.thing_id not in by_id:
                continue
            stored = by_id[row.thing_id]
            act = PlanAct.DELETE if self.asked.prune else PlanAct.NONE
            left.append(PlannedCalendar(PlannedChange(THING, name, act, stored.id, stored.resolved.revision), stored))
        return left


def book_of(there: SchedulePlanInput, planned: Sequence[PlannedCalendar]) -> CalendarBook:
    """The calendars as they are once the plan is applied."""
    found: dict[str, ResolvedCalendar] = {one.settings.name: one.resolved for one in there.calendars}
    for one in planned:
        if one.wanted is not None and one.change.act in {PlanAct.CREATE, PlanAct.CHANGE}:
            found[one.change.name] = one.wanted.resolved
    return CalendarBook(found, sorted(found))


@dataclass(frozen=True, slots=True)
class CalendarWrites:
    """Writes planned calendars as part of the caller's transaction."""

    cases: NamedCalendars

    async def write(self, ctx: CommandContext, planned: Sequence[PlannedCalendar]) -> None:
        """Creates and changes; `Conflict` when one was changed since it was planned."""
        for one in planned:
            if one.wanted is None:
                continue
            if one.change.act is PlanAct.CREATE:
                await self.cases.add(ctx, one.wanted)
            elif one.change.act is PlanAct.CHANGE:
                known = await self._locked(ctx, one)
                await self.cases.change(ctx, known, one.wanted.settings, replace(one.wanted.resolved, id=known.id))
        await SqlAppliedDocuments(ctx.tx).put(ctx.tenant_id, [one.row for one in planned if one.row is not None])

    async def delete(self, ctx: CommandContext, planned: Sequence[PlannedCalendar]) -> None:
        """After the schedules: one that is still named is refused."""
        gone = [one for one in planned if one.change.act is PlanAct.DELETE]
        for one in gone:
            await self.cases.remove(ctx, await self._locked(ctx, one))
        await SqlAppliedDocuments(ctx.tx).drop(ctx.tenant_id, THING, [one.change.name for one in gone])

    async def _locked(self, ctx: CommandContext, one: PlannedCalendar) -> StoredCalendar:
        known = await SqlCalendars(ctx.tx).get(ctx.tenant_id, one.change.id or "", lock=True)
        if known is None or known.resolved.revision != one.change.version:
            raise Conflict(f"calendar {one.change.name!r} was changed since the plan was made: plan again")
        return known


def document_of(settings: CalendarSettings) -> dict[str, Any]:
    """A calendar as it is compared."""
    return {**settings.as_request(), "ics": settings.ics or None}
