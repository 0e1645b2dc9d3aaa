"""Compares the watches of a file with those that are stored, and writes what differs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from foliot.commands.envelope import CommandContext
from foliot.core.document import check_label
from foliot.core.errors import Conflict, Invalid, InvalidMany
from foliot.db.database import Transaction
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.plans.model.difference import ComparedDocument, FieldChange, PlanAct, PlannedChange, differences
from foliot.features.plans.model.request import PlanRequest
from foliot.features.plans.sql import AppliedDocument, SqlAppliedDocuments
from foliot.features.schedules.model.document import under
from foliot.features.watches.model.request import as_document
from foliot.features.watches.model.watch import MOST_WATCHES, Watch, WatchSettings
from foliot.features.watches.sql.watches import SqlWatches
from foliot.features.watches.stored import read_stored
from foliot.features.watches.usecases.watches import Watches, find_watch

THING = "watches"
MOST_SHOWN = 20
"""URLs of a watch that a plan shows."""
STATUSES = {"active": False, "paused": True}
_READ_ONLY = frozenset(
    [
        "changes",
        "created_at",
        "created_by",
        "fed_by",
        "feed_url",
        "id",
        "last_change_at",
        "last_visit_at",
        "line",
        "next_visit_at",
        "pages",
        "paused",
        "problem",
        "schedule_id",
        "states",
        "status",
        "summary",
        "updated_at",
    ]
)
"""What `GET` shows of a watch beside its document."""


@dataclass(frozen=True, slots=True)
class WantedWatch:
    """One document: its settings, and whether it says that the watch is paused."""

    settings: WatchSettings
    paused: bool | None


@dataclass(frozen=True, slots=True)
class PlannedWatch:
    """One watch of a plan, and what is written for it."""

    change: PlannedChange
    stored: Watch | None = None
    wanted: WantedWatch | None = None
    row: AppliedDocument | None = None
    """What is kept of the document; its thing's id follows where the watch is created."""


@dataclass(frozen=True, slots=True)
class WatchPlanInput:
    """What is stored: the watches of the tenant, their schedules, and what files define."""

    watches: Sequence[Watch]
    schedules: Mapping[str, Schedule]
    applied: Mapping[tuple[str, str], AppliedDocument]

    @classmethod
    async def of(cls, tx: Transaction, tenant_id: str, asked: PlanRequest) -> WatchPlanInput:
        applied = await SqlAppliedDocuments(tx).applied(tenant_id, THING)
        if not asked.documents.watches and not applied:
            return cls((), {}, {})
        watches = await SqlWatches(tx).find(tenant_id, PageRequest(MOST_WATCHES), read_stored)
        schedules = await SqlSchedules(tx).by_ids(tenant_id, [watch.schedule_id for watch in watches])
        return cls(watches, schedules, applied)

    def paused(self, watch: Watch) -> bool:
        schedule = self.schedules.get(watch.schedule_id)
        return schedule is not None and schedule.status is ScheduleStatus.PAUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPlanner:
    """Without I/O."""

    watches: Watches
    asked: PlanRequest
    there: WatchPlanInput

    def plan(self) -> list[PlannedWatch]:
        """Every document in order, then what the file no longer contains; `Invalid` names each fault with its place."""
        faults: list[Invalid] = []
        wanted: dict[int, WantedWatch] = {}
        for place, raw in enumerate(self.asked.documents.watches):
            try:
                wanted[place] = self._read(raw)
            except Invalid as wrong:
                faults += _placed(place, wrong)
        seen = Counter(one.settings.name for one in wanted.values())
        planned = []
        for place, one in wanted.items():
            name = one.settings.name
            if seen[name] > 1:
                faults.append(Invalid(f"{THING}[{place}].name", f"is the name of {seen[name]} documents", got=name))
                continue
            try:
                planned.append(self._one(place, one))
            except Invalid as wrong:
                faults += _placed(place, wrong)
        if faults:
            raise InvalidMany(faults[:1000])
        return [*planned, *self._left(set(seen))]

    def _read(self, raw: object) -> WantedWatch:
        if not isinstance(raw, Mapping):
            raise Invalid("", "must be an object", got=raw)
        check_label("name", "" if raw.get("name") is None else raw["name"])
        status, paused = raw.get("status"), raw.get("paused")
        if status is not None and status not in STATUSES:
            raise Invalid("status", "must be active or paused", got=status)
        if paused is not None and not isinstance(paused, bool):
            raise Invalid("paused", "must be true or false", got=paused)
        if paused is None and status is not None:
            paused = STATUSES[status]
        # As `GET` shows it, a field that is not given is null.
        given = {name: value for name, value in raw.items() if name not in _READ_ONLY and value is not None}
        return WantedWatch(self.watches.read(given), paused)

    def _one(self, place: int, one: WantedWatch) -> PlannedWatch:
        name = one.settings.name
        row = self.there.applied.get((THING, name))
        by_id = {watch.id: watch for watch in self.there.watches}
        stored = by_id.get(row.thing_id) if row is not None else None
        stored = stored or next((watch for watch in self.there.watches if watch.settings.name == name), None)
        if row is not None and row.file not in {"", self.asked.file}:
            raise Invalid("name", f"is managed by file:{row.file}: give this one another name", got=name)
        if stored is None:
            return self._created(place, one, row)
        if stored.settings.fed_by is not None:
            raise Invalid("name", f"is the watch that {stored.settings.fed_by} feeds: give another name", got=name)
        mine = row if row is not None and row.thing_id == stored.id else None
        wanted = document_of(one.settings, paused=one.paused)
        now = document_of(stored.settings, paused=None if one.paused is None else self.there.paused(stored))
        # One whose document said nothing was active when it was made.
        fields = differences(wanted, now, None if mine is None else {"paused": False, **mine.made})
        act = PlanAct.CHANGE if fields else PlanAct.NONE
        if any(each.by_hand for each in fields) and not self.asked.overwrite:
            act = PlanAct.DRIFT
        change = PlannedChange(THING, name, act, stored.id, _version(stored), fields, place)
        kept = None if act is PlanAct.DRIFT else AppliedDocument(THING, name, self.asked.file, stored.id, wanted.shown)
        return PlannedWatch(change, stored, one, None if kept == mine else kept)

    def _created(self, place: int, one: WantedWatch, row: AppliedDocument | None) -> PlannedWatch:
        name = one.settings.name
        if row is not None and not self.asked.overwrite:
            gone = FieldChange("status", "deleted", "paused" if one.paused else "active", by_hand=True)
            return PlannedWatch(PlannedChange(THING, name, PlanAct.DRIFT, fields=(gone,), place=place))
        made = document_of(one.settings, paused=one.paused).shown
        kept = AppliedDocument(THING, name, self.asked.file, "", made)
        return PlannedWatch(PlannedChange(THING, name, PlanAct.CREATE, place=place), None, one, kept)

    def _left(self, wanted: set[str]) -> list[PlannedWatch]:
        """What the file defined before and no longer contains."""
        by_id = {watch.id: watch for watch in self.there.watches}
        left = []
        for (_, name), row in sorted(self.there.applied.items()):
            stored = by_id.get(row.thing_id)
            if row.file != self.asked.file or name in wanted or stored is None:
                continue
            made = {field: value for field, value in row.made.items() if field != "paused"}
            now = document_of(stored.settings, paused=None).shown
            compared = self.asked.prune and not self.asked.overwrite
            drift = differences(ComparedDocument.plain(made), ComparedDocument.plain(now), {}) if compared else ()
            act = PlanAct.DRIFT if drift else PlanAct.DELETE if self.asked.prune else PlanAct.NONE
            left.append(PlannedWatch(PlannedChange(THING, name, act, stored.id, _version(stored), drift), stored))
        return left


async def write_watches(watches: Watches, ctx: CommandContext, part: Sequence[PlannedWatch]) -> None:
    """Write planned watches as part of the caller's transaction, which has read the tenant's limits.

    `Conflict` when one of them was changed since it was planned.
    """
    rows = []
    for one in part:
        schedule_id, thing_id = "", one.change.id or ""
        was_paused = False
        if one.stored is not None and one.change.act in {PlanAct.CHANGE, PlanAct.DELETE}:
            known = await find_watch(ctx.tx, ctx.tenant_id, one.stored.id, lock=True)
            if _version(known) != one.change.version:
                raise Conflict(f"watch {one.change.name!r} was changed since the plan was made: plan again")
            if one.change.act is PlanAct.DELETE:
                await watches.remove(ctx, known)
                await SqlAppliedDocuments(ctx.tx).drop(ctx.tenant_id, THING, [one.change.name])
                continue
            if one.wanted is not None:
                view = await watches.rewrite(ctx, known, one.wanted.settings)
                schedule_id = view.watch.schedule_id
                was_paused = view.schedule is not None and view.schedule.status is ScheduleStatus.PAUSED
        elif one.change.act is PlanAct.CREATE and one.wanted is not None:
            made = await watches.add(ctx, one.wanted.settings)
            schedule_id, thing_id = made.watch.schedule_id, made.watch.id
        if schedule_id and one.wanted is not None and one.wanted.paused is not None and one.wanted.paused != was_paused:
            turn = watches.schedules.pause_one if one.wanted.paused else watches.schedules.resume_one
            await turn(ctx, schedule_id)
        if one.row is not None:
            rows.append(AppliedDocument(THING, one.row.name, one.row.file, thing_id, one.row.made))
    await SqlAppliedDocuments(ctx.tx).put(ctx.tenant_id, rows)


def document_of(settings: WatchSettings, *, paused: bool | None) -> ComparedDocument:
    """The document of a watch; of very many URLs their number and digest are shown."""
    whole = as_document(settings) | ({} if paused is None else {"paused": paused})
    shown: dict[str, Any] = orjson.loads(orjson.dumps(whole))
    urls = shown.get("urls", ())
    if len(urls) > MOST_SHOWN:
        shown["urls"] = f"{len(urls):,} URLs, {hashlib.sha256(orjson.dumps(urls)).hexdigest()[:12]}"
    return ComparedDocument(whole, shown)


def _version(watch: Watch) -> int:
    """A watch has no number: the moment of its last change stands for one."""
    return int(watch.updated_at.timestamp() * 1_000_000)


def _placed(place: int, wrong: Invalid) -> list[Invalid]:
    placed = under(f"{THING}[{place}]", wrong)
    return placed.errors if isinstance(placed, InvalidMany) else [placed]
