"""Who changed what: written with each change, and read by whoever may."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from foliot.commands.audit_entry import TrailEntry
from foliot.commands.audit_sql import SqlTrail
from foliot.core.access import Caller, Thing, Verb, demand
from foliot.core.document import rfc3339
from foliot.core.ids import ENTRY, new_id
from foliot.core.mask import shown
from foliot.db.database import Database
from foliot.db.transaction import Transaction
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import Page
from foliot.features.insights.sql.history import SqlHistory
from foliot.features.schedules.model.document import document

MASK = "***"
SMALL = 8 * 1024
"""Documents up to this many bytes are kept whole."""
SHORT = 1024
"""In larger ones, fields up to this many bytes are; of the others, the size and the digest."""


@dataclass(frozen=True, slots=True)
class Change:
    """What somebody did to a thing: `create`, `pause`, `revoke`, … `was` and `became` never hold a secret."""

    verb: str
    thing: Thing
    thing_id: str
    was: Mapping[str, Any] | None = None
    became: Mapping[str, Any] | None = None


async def record(tx: Transaction, caller: Caller, now: datetime, *changes: Change) -> None:
    """Write the changes down in the transaction that makes them: both happen, or neither. One statement."""
    if changes:
        await SqlTrail(tx).add([entry(caller, tx.audit_time or now, change) for change in changes])


def entry(caller: Caller, now: datetime, change: Change) -> TrailEntry:
    """A change as the trail keeps it, for whoever writes it with something else."""
    return TrailEntry(
        id=new_id(ENTRY),
        tenant_id=caller.tenant_id,
        at=now,
        user_id=caller.user_id,
        key_id=caller.key_id,
        door=caller.door.value,
        verb=change.verb,
        thing=word(change.thing),
        thing_id=change.thing_id,
        was=_brief(_discreet(change.was)),
        became=_brief(_discreet(change.became)),
    )


def word(thing: Thing) -> str:
    """The thing as one word: `dead_letter`."""
    return thing.value.replace(" ", "_")


def differences(was: Mapping[str, Any], became: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Only the fields that differ, before and after."""
    names = [name for name in {**was, **became} if was.get(name) != became.get(name)]
    return {name: was.get(name) for name in names}, {name: became.get(name) for name in names}


def edited(verb: str, was: Schedule, became: Schedule) -> Change:
    """A schedule was changed in part: the fields that differ."""
    before, after = differences(_standing(was), _standing(became))
    return Change(verb, Thing.SCHEDULE, became.id, masked(before), masked(after))


def portrait(schedule: Schedule) -> dict[str, Any]:
    """A schedule as the trail shows it."""
    return masked(_standing(schedule))


def _standing(schedule: Schedule) -> dict[str, Any]:
    state: dict[str, Any] = {"status": schedule.status.value, "paused_reason": schedule.paused_reason}
    state["version"] = schedule.version
    if schedule.skip_at is not None:
        state["skips"] = rfc3339(schedule.skip_at)
    return {**document(schedule), **state}


def masked(told: Mapping[str, Any]) -> dict[str, Any]:
    """Values of headers are often secrets, and the trail is kept forever: it keeps their names."""
    action = told.get("action")
    if not isinstance(action, Mapping) or not isinstance(action.get("headers"), Mapping):
        return dict(told)
    return {**told, "action": {**action, "headers": dict.fromkeys(action["headers"], MASK)}}


def _discreet(told: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Whatever is told of an action, without the credentials in it."""
    action = None if told is None else told.get("action")
    return told if told is None or not isinstance(action, Mapping) else {**told, "action": shown(action)}


def _brief(told: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The document, with what is large told by its size and digest."""
    if told is None or len(orjson.dumps(told)) <= SMALL:
        return told
    return {name: _told(value) for name, value in told.items()}


def _told(value: object) -> object:
    written = orjson.dumps(value)
    if len(written) <= SHORT:
        return value
    return {"bytes": len(written), "sha256": hashlib.sha256(written).hexdigest()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """Read what was written."""

    store: Database

    async def list(
        self,
        caller: Caller,
        page: Page,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        **filters: str | None,
    ) -> Sequence[TrailEntry]:
        """The caller's tenant's entries, newest first. `filters`: user_id, thing, thing_id, verb."""
        demand(caller, Verb.READ, Thing.TRAIL)
        async with self.store.read(caller.tenant_id) as tx:
            return await SqlTrail(tx).find(caller.tenant_id, page, start=start, end=end, **filters)

    async def names(self, caller: Caller, entries: Sequence[TrailEntry]) -> Mapping[str, str]:
        """What the schedules are called now that entries are about, by their ids; deleted ones too. One question."""
        demand(caller, Verb.READ, Thing.TRAIL)
        ids = sorted({one.thing_id for one in entries if one.thing == word(Thing.SCHEDULE)})
        if not ids:
            return {}
        async with self.store.read(caller.tenant_id) as tx:
            return await SqlHistory(tx).names(caller.tenant_id, ids)
