"""Compares the schedules of a file with those that are stored, and writes what differs, a thousand at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import orjson

from foliot.core.access import Caller
from foliot.core.document import check_label
from foliot.core.errors import FoliotError, Invalid, InvalidMany
from foliot.core.ids import SCHEDULE
from foliot.core.time.business_days import Shift
from foliot.db.sealer import Sealer
from foliot.engine.model.restrictions import NO_CALENDARS, CalendarBook
from foliot.engine.model.schedule import FROM_FILE, ManagedBy, Schedule, ScheduleStatus
from foliot.engine.model.trigger_document import TriggerContext
from foliot.features.calendars.model.calendar import StoredCalendar
from foliot.features.plans.model.difference import ComparedDocument, FieldChange, PlanAct, PlannedChange, differences
from foliot.features.plans.model.request import PlanRequest
from foliot.features.plans.sql import AppliedDocument
from foliot.features.plans.usecases.schedule_names import DocumentParents, ScheduleNames
from foliot.features.schedules.model.document import asleep, document, put_back, read_draft, under, whole
from foliot.features.schedules.usecases.create import ScheduleOwner, UnsavedSchedule, with_defaults
from foliot.features.schedules.usecases.schedules import Schedules

THING = "schedules"
MOST_FAULTS = 1000
"""Faults that a refusal names."""
SPREAD = "x-spread"
"""Beside what was made: the expression of the document, and the one that flattens the peak."""
ADDED: dict[str, Any] = {"exclude": [], "only": [], "shift": Shift.NONE.value}
"""Fields that documents which an earlier Foliot applied do not have."""
_STATUSES = {"active": ScheduleStatus.ACTIVE, "paused": ScheduleStatus.PAUSED}


@dataclass(frozen=True, slots=True)
class WantedSchedule:
    """One document: what it says of the schedule, and whether it says that the schedule is paused."""

    name: str
    raw: object
    status: ScheduleStatus | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class PlannedSchedule:
    """One schedule of a plan, and what is written for it."""

    change: PlannedChange
    stored: Schedule | None = None
    wanted: Schedule | None = None
    """As it is to become; its cursor and version follow when it is written."""
    unsaved: UnsavedSchedule | None = None
    row: AppliedDocument | None = None
    """What is kept of the document; None where nothing is."""
    movable: bool = False
    """Whether an offset may be proposed for it."""

    @property
    def after(self) -> Schedule | None:
        """The schedule once the plan is applied; None for one that is gone then."""
        match self.change.act:
            case PlanAct.CREATE:
                return None if self.unsaved is None else self.unsaved.schedule
            case PlanAct.CHANGE:
                return self.wanted
            case PlanAct.DELETE:
                return None
            case PlanAct.NONE | PlanAct.DRIFT:
                return self.stored


@dataclass(frozen=True, slots=True)
class SchedulePlanInput:
    """What is stored: the schedules of the tenant, and what its files define."""

    schedules: Sequence[Schedule]
    applied: Mapping[tuple[str, str], AppliedDocument]
    refused: Mapping[bytes, Invalid] = field(default_factory=dict)
    """What targets object to, by action."""
    calendars: Sequence[StoredCalendar] = ()


def managed_by(file: str) -> str:
    """How a schedule names the file that defines it."""
    return FROM_FILE + file


def read_wanted(raw: object) -> WantedSchedule:
    """A document without the fields that are not the schedule's own."""
    if not isinstance(raw, Mapping):
        raise Invalid("", "must be an object", got=raw)
    name = check_label("name", "" if raw.get("name") is None else raw["name"])
    rest, reason = asleep(raw)
    status = raw.get("status")
    if status is not None and status not in _STATUSES:
        raise Invalid("status", "must be active or paused", got=status)
    if reason is not None:
        return WantedSchedule(name, rest, ScheduleStatus.PAUSED, reason or None)
    if raw.get("paused") is False:
        return WantedSchedule(name, rest, ScheduleStatus.ACTIVE, None)
    if status is None:
        return WantedSchedule(name, rest, None, None)
    why = raw.get("paused_reason")
    return WantedSchedule(name, rest, _STATUSES[status], why if isinstance(why, str) and status == "paused" else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePlanner:
    """Without I/O: runs in a thread, for thousands of documents take a while to read."""

    schedules: Schedules
    sealer: Sealer | None
    caller: Caller
    asked: PlanRequest
    there: SchedulePlanInput
    now: datetime
    calendars: CalendarBook = NO_CALENDARS
    """As they are once the plan is applied."""

    def plan(self) -> list[PlannedSchedule]:
        """Every document in order, then what the file no longer contains; `Invalid` names each fault with its place."""
        faults: list[Invalid] = []
        wanted: dict[int, WantedSchedule] = {}
        for place, raw in enumerate(self.asked.documents.schedules):
            try:
                wanted[place] = read_wanted(raw)
            except Invalid as wrong:
                faults += _placed(place, wrong)
        seen = Counter(one.name for one in wanted.values())
        for place, one in wanted.items():
            if seen[one.name] > 1:
                faults.append(
                    Invalid(f"{THING}[{place}].name", f"is the name of {seen[one.name]} documents", got=one.name)
                )
        names = ScheduleNames.of(self.there.schedules)
        ids = {one.name: self._target(one.name, names) for one in wanted.values()}
        links = DocumentParents(
            names, {name: target or self.schedules.new_id(SCHEDULE) for name, target in ids.items()}
        )
        planned = []
        for place, one in wanted.items():
            try:
                planned.append(self._one(place, one, names, links))
            except Invalid as wrong:
                faults += _placed(place, wrong)
            except FoliotError as impossible:
                faults.append(Invalid(f"{THING}[{place}].action", str(impossible)))
        if faults:
            raise InvalidMany(faults[:MOST_FAULTS])
        return [*planned, *self._left(set(seen))]

    def _target(self, name: str, names: ScheduleNames) -> str | None:
        """The schedule that a document is about: the one that was made from it, else the one of its name."""
        row = self.there.applied.get((THING, name))
        if row is not None and row.thing_id in names.by_id:
            return row.thing_id
        found = names.by_name.get(name, [])
        return found[0].id if len(found) == 1 else None

    def _one(self, place: int, one: WantedSchedule, names: ScheduleNames, links: DocumentParents) -> PlannedSchedule:
        row = self.there.applied.get((THING, one.name))
        target = self._target(one.name, names)
        if target is None and len(names.by_name.get(one.name, ())) > 1:
            raise Invalid(
                "name", f"is the name of {len(names.by_name[one.name])} schedules: rename all but one", got=one.name
            )
        raw = self._moved(one, links.resolved(one.raw), row)
        objection = self.there.refused.get(action_key(one.raw))
        if objection is not None:
            raise objection
        if target is None:
            return self._created(place, one, raw, links.ids[one.name], row)
        return self._compared(place, one, raw, names.by_id[target], row)

    def _moved(self, one: WantedSchedule, raw: object, row: AppliedDocument | None) -> object:
        """The document with the offset that flattens the peak: a new one, or that of an earlier plan."""
        if not isinstance(raw, Mapping) or not isinstance(raw.get("cron_expr"), str):
            return raw
        offset = self.asked.offsets.get(one.name)
        kept = None if row is None else row.made.get(SPREAD)
        if offset is None and isinstance(kept, list) and kept[:1] == [raw["cron_expr"]]:
            offset = kept[1]
        return raw if offset is None else {**raw, "cron_expr": offset}

    def _created(
        self, place: int, one: WantedSchedule, raw: object, schedule_id: str, row: AppliedDocument | None
    ) -> PlannedSchedule:
        file = managed_by(self.asked.file)
        owner = ScheduleOwner(schedule_id, self.caller.user_id, file)
        asleep_for = (one.reason or "") if one.status is ScheduleStatus.PAUSED else None
        unsaved = self.schedules.creation.draft(self.caller, put_back(raw), owner, asleep_for, self.calendars)
        if self.sealer is not None:
            action = self.sealer.seal(self.caller.tenant_id, unsaved.schedule.action)
            unsaved = replace(unsaved, schedule=replace(unsaved.schedule, action=action))
        if row is not None and not self.asked.overwrite:
            gone = FieldChange("status", ScheduleStatus.DELETED.value, unsaved.schedule.status.value, by_hand=True)
            change = PlannedChange(THING, one.name, PlanAct.DRIFT, fields=(gone,), place=place)
            return PlannedSchedule(change)
        change = PlannedChange(THING, one.name, PlanAct.CREATE, place=place)
        return PlannedSchedule(
            change, unsaved=unsaved, row=self._row(unsaved.schedule, one, raw), movable=_movable(one.raw, raw)
        )

    def _compared(
        self, place: int, one: WantedSchedule, raw: object, stored: Schedule, row: AppliedDocument | None
    ) -> PlannedSchedule:
        self._refuse_foreign(stored, row)
        wanted = self._wanted(one, raw, stored)
        mine = row if row is not None and row.thing_id == stored.id else None
        if stored.fault is not None:
            fields: tuple[FieldChange, ...] = (FieldChange("fault", stored.fault, None),)
        else:
            fields = differences(
                self._document(wanted, one),
                self._document(stored, one),
                None if mine is None else {**ADDED, **mine.made},
            )
        if stored.managed_by != wanted.managed_by:
            # Someone who took a schedule over wants to edit it by hand.
            taken = mine is not None and not mine.file
            fields = (FieldChange("managed_by", str(stored.managed_by), str(wanted.managed_by), taken), *fields)
        act = PlanAct.CHANGE if fields else PlanAct.NONE
        if any(one.by_hand for one in fields) and not self.asked.overwrite:
            act = PlanAct.DRIFT
        change = PlannedChange(THING, one.name, act, stored.id, stored.version, fields, place)
        kept = None if act is PlanAct.DRIFT else self._row(wanted, one, raw)
        if mine is not None and kept is not None and mine == kept:
            kept = None
        movable = act is not PlanAct.DRIFT and _movable(one.raw, raw)
        return PlannedSchedule(change, stored, wanted, row=kept, movable=movable)

    def _wanted(self, one: WantedSchedule, raw: object, stored: Schedule) -> Schedule:
        before = None if stored.fault is not None else stored.spec.trigger
        raw = with_defaults(self.schedules.actions, self.caller.tenant_id, put_back(raw, stored.action))
        calendars = self.calendars.beside(stored.spec.calendars)
        context = TriggerContext(stored.id, self.now, self.schedules.default_zone, before, calendars)
        draft = read_draft(raw, self.schedules.check_for(self.caller), context)
        wanted = replace(
            stored,
            name=draft.name,
            description=draft.description,
            tags=draft.tags,
            spec=draft.spec,
            action=draft.action,
            managed_by=managed_by(self.asked.file),
        )
        if self.sealer is not None:
            # A credential that cannot be stored is a fault of the document, and not of its application.
            self.sealer.seal(self.caller.tenant_id, wanted.action)
        paused = stored.status is ScheduleStatus.PAUSED
        if one.status is ScheduleStatus.PAUSED:
            reason = one.reason if one.reason is not None else stored.paused_reason
            at, by = (stored.paused_at, stored.paused_by) if paused else (self.now, self.caller.user_id)
            return replace(wanted, status=ScheduleStatus.PAUSED, paused_reason=reason, paused_at=at, paused_by=by)
        if one.status is ScheduleStatus.ACTIVE and paused:
            return replace(wanted, status=ScheduleStatus.ACTIVE, paused_reason="", paused_at=None, paused_by=None)
        return wanted

    def _document(self, schedule: Schedule, one: WantedSchedule) -> ComparedDocument:
        opened = schedule
        if self.sealer is not None:
            opened = replace(schedule, action=self.sealer.open(schedule.tenant_id, schedule.action).action)
        return ComparedDocument(_comparable(whole(opened), schedule, one), _comparable(document(opened), schedule, one))

    def _row(self, schedule: Schedule, one: WantedSchedule, raw: object) -> AppliedDocument:
        made = dict(self._document(schedule, one).shown)
        given, used = _expression(one.raw), _expression(raw)
        if given != used:
            made[SPREAD] = [given, used]
        return AppliedDocument(THING, one.name, self.asked.file, schedule.id, made)

    def _refuse_foreign(self, stored: Schedule, row: AppliedDocument | None) -> None:
        owner = str(stored.managed_by)
        if owner in {ManagedBy.API.value, managed_by(self.asked.file)}:
            return
        what = {
            ManagedBy.FILE.value: "is defined by the pipelines file",
            ManagedBy.CODE.value: "is declared in code",
            ManagedBy.PRESET.value: "belongs to a preset",
        }.get(owner, f"is managed by {owner}")
        raise Invalid("name", f"{what}: give this one another name, or remove that one first", got=stored.name)

    def _left(self, wanted: set[str]) -> list[PlannedSchedule]:
        """What the file defined before and no longer contains."""
        by_id = {one.id: one for one in self.there.schedules}
        left = []
        for (thing, name), row in sorted(self.there.applied.items()):
            if thing != THING or row.file != self.asked.file or name in wanted or row.thing_id not in by_id:
                continue
            stored = by_id[row.thing_id]
            said = WantedSchedule(name, None, _said(row.made), row.made.get("paused_reason"))
            before = {name: value for name, value in ({**ADDED, **row.made}).items() if name != SPREAD}
            made, now = ComparedDocument.plain(before), ComparedDocument.plain(self._document(stored, said).shown)
            drift = () if stored.fault or self.asked.overwrite or not self.asked.prune else differences(made, now, {})
            act = PlanAct.DRIFT if drift else PlanAct.DELETE if self.asked.prune else PlanAct.NONE
            left.append(PlannedSchedule(PlannedChange(THING, name, act, stored.id, stored.version, drift), stored))
        return left


def _said(made: Mapping[str, Any]) -> ScheduleStatus | None:
    status = made.get("status")
    return _STATUSES.get(status) if isinstance(status, str) else None


def _comparable(fields: Mapping[str, Any], schedule: Schedule, one: WantedSchedule) -> dict[str, Any]:
    """A document in which schedules that are followed have names, and which has a status if the file gives one."""
    fields = dict(fields)
    rule = schedule.spec.trigger.follows
    if rule is not None:
        fields["after"] = {**rule.as_dict(), "schedule": sorted(rule.names or rule.parents)}
    if one.status is not None:
        paused = schedule.status is ScheduleStatus.PAUSED
        fields["status"] = (ScheduleStatus.PAUSED if paused else ScheduleStatus.ACTIVE).value
        if one.reason is not None:
            fields["paused_reason"] = schedule.paused_reason
    made: dict[str, Any] = orjson.loads(orjson.dumps(fields))
    return made


def _expression(raw: object) -> str | None:
    given = raw.get("cron_expr") if isinstance(raw, Mapping) else None
    return given if isinstance(given, str) else None


def _movable(given: object, used: object) -> bool:
    """Whether an offset may be proposed: not where `H` chooses the place, nor where an earlier plan has chosen one."""
    expression = _expression(given)
    return expression is not None and "H" not in expression and expression == _expression(used)


def action_key(raw: object) -> bytes:
    """Equal for equal actions."""
    action = raw.get("action") if isinstance(raw, Mapping) else None
    return orjson.dumps(action, option=orjson.OPT_SORT_KEYS)


def _placed(place: int, wrong: Invalid) -> list[Invalid]:
    placed = under(f"{THING}[{place}]", wrong)
    return placed.errors if isinstance(placed, InvalidMany) else [placed]
