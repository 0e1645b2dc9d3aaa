"""A bulk action: one operation on many things, which can be followed, paused and stopped.

    running ◀──▶ paused
       │            │
       ├────────────┴──▶ stopped     by a user, or because too many failed
       └───────────────▶ finished    every item was tried

Which things it acts on is fixed when it is created; each of them is acted on once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from foliot.core.access import Thing, Verb
from foliot.core.document import Fields
from foliot.core.errors import Invalid
from foliot.engine.model.run import OPEN, RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.features.filters.model.query import MOST_CHARACTERS, FilterTerm
from foliot.features.runs.model.replay import ReplayOptions, read_terms
from foliot.features.schedules.model.document import read_tags

BULK = "blk"
BULKS_TOPIC = "bulks"
MOST_IDS = 10_000
MOST_ITEMS = 100_000
"""Matches of a filter, at most."""
RATES = range(1, 51)
USUAL_RATE = 5
TURNS = 5
"""At high rates a second is divided into this many turns: more would be no smoother for the targets."""


class BulkOperation(StrEnum):
    """The operation: the first four act on runs, the others on schedules, the last on instants of one."""

    CANCEL = "cancel"
    RETRY = "retry"
    REPLAY = "replay"
    DISCARD = "discard"
    PAUSE = "pause"
    RESUME = "resume"
    RUN = "run"
    TAG = "tag"
    DELETE = "delete"
    BACKFILL = "backfill"

    @property
    def thing(self) -> Thing:
        return Thing.RUN if self in _NARROWED_RUNS else Thing.SCHEDULE

    @property
    def needs(self) -> tuple[Verb, Thing]:
        """The permission that the same operation on a single thing needs."""
        return _NEEDS[self]

    @property
    def narrows(self) -> tuple[FilterTerm, ...]:
        """The terms that restrict a filter to things the operation can be applied to."""
        return _NARROWED_RUNS.get(self) or _NARROWED_SCHEDULES[self]


_UNANSWERED = (FilterTerm("state", (RunState.DEAD_LETTER.value,)), FilterTerm("resolved", ("true",), negated=True))
_NARROWED_RUNS: Mapping[BulkOperation, tuple[FilterTerm, ...]] = {
    BulkOperation.CANCEL: (FilterTerm("state", tuple(sorted(OPEN))),),
    BulkOperation.RETRY: (FilterTerm("state", tuple(sorted(state.value for state in RunState if state.final))),),
    BulkOperation.REPLAY: (*_UNANSWERED, FilterTerm("replaying", ("true",), negated=True)),
    BulkOperation.DISCARD: _UNANSWERED,
}
_NARROWED_SCHEDULES: Mapping[BulkOperation, tuple[FilterTerm, ...]] = {
    BulkOperation.PAUSE: (FilterTerm("status", (ScheduleStatus.ACTIVE.value,)),),
    BulkOperation.RESUME: (FilterTerm("status", (ScheduleStatus.PAUSED.value,)),),
    BulkOperation.RUN: (FilterTerm("status", (ScheduleStatus.DELETED.value,), negated=True),),
    BulkOperation.TAG: (FilterTerm("status", (ScheduleStatus.DELETED.value,), negated=True),),
    BulkOperation.DELETE: (FilterTerm("status", (ScheduleStatus.DELETED.value,), negated=True),),
    BulkOperation.BACKFILL: (),
}
_NEEDS: Mapping[BulkOperation, tuple[Verb, Thing]] = {
    BulkOperation.CANCEL: (Verb.WRITE, Thing.RUN),
    BulkOperation.RETRY: (Verb.RUN, Thing.RUN),
    BulkOperation.REPLAY: (Verb.RUN, Thing.DEAD_LETTER),
    BulkOperation.DISCARD: (Verb.WRITE, Thing.RUN),
    BulkOperation.PAUSE: (Verb.WRITE, Thing.SCHEDULE),
    BulkOperation.RESUME: (Verb.WRITE, Thing.SCHEDULE),
    BulkOperation.RUN: (Verb.RUN, Thing.SCHEDULE),
    BulkOperation.TAG: (Verb.WRITE, Thing.SCHEDULE),
    BulkOperation.DELETE: (Verb.WRITE, Thing.SCHEDULE),
    BulkOperation.BACKFILL: (Verb.RUN, Thing.SCHEDULE),
}


class BulkState(StrEnum):
    """The state of a bulk action."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    FINISHED = "finished"


OVER = frozenset({BulkState.STOPPED, BulkState.FINISHED})


class BulkOrder(StrEnum):
    """Which things come first."""

    OLDEST = "oldest"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkSpec:
    """A validated request for a bulk action."""

    act: BulkOperation
    filter: str | None
    ids: tuple[str, ...]
    rate: int
    stop_after: int | None
    order: BulkOrder
    dry_run: bool
    expect: int | None
    details: Mapping[str, Any] | None = None
    """Further parameters of the operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """A bulk action with its progress."""

    id: str
    tenant_id: str
    user_id: str
    key_id: str | None
    door: str
    act: BulkOperation
    filter: str | None
    ids_given: int
    order: BulkOrder
    rate: int
    stop_after: int | None
    state: BulkState
    total: int
    ok: int
    failed: int
    reason: str
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    details: Mapping[str, Any] | None = None
    """Further parameters of the operation."""

    @property
    def terms(self) -> ReplayOptions:
        """The options of its replays; a bulk action stored before there was a choice follows the old settings."""
        return ReplayOptions.of(self.details or {})

    @property
    def done(self) -> int:
        return self.ok + self.failed


@dataclass(frozen=True, slots=True)
class BulkItem:
    """One thing that a bulk action is to act on."""

    position: int
    thing_id: str


def bulk_topic(bulk_id: str) -> str:
    """The topic that wakes readers of one bulk action."""
    return f"bulk:{bulk_id}"


def turn(rate: int) -> tuple[int, float]:
    """The number of items per turn and its length in seconds, at this many items a second."""
    items = max(1, rate // TURNS)
    return items, items / rate


_ID = {Thing.RUN: re.compile(r"run_[0-9a-f]{32}"), Thing.SCHEDULE: re.compile(r"sch_[0-9a-f]{32}")}


def read_request(raw: object) -> BulkSpec:
    """Parse a request; `Invalid` names what is wrong with it."""
    fields = Fields.of("", raw)
    given = fields.value("action")
    if not isinstance(given, str) or given not in set(BulkOperation):
        raise Invalid("action", f"must be one of {', '.join(BulkOperation)}", got=given)
    act = BulkOperation(given)
    if act is BulkOperation.BACKFILL:
        raise Invalid("action", "is asked of one schedule: POST /api/schedules/{id}/backfill", got=given)
    named, ids = fields.value("filter"), fields.value("ids")
    if (named is None) == (ids is None):
        raise Invalid("filter", "or 'ids' must be given: one of the two; an empty filter means all")
    request = BulkSpec(
        act=act,
        filter=None if named is None else fields.text("filter", "", most=MOST_CHARACTERS),
        ids=() if ids is None else _ids(act, ids),
        rate=fields.integer("rate", USUAL_RATE, low=RATES[0], high=RATES[-1]),
        stop_after=fields.integer("stop_after", 0, low=1, high=MOST_ITEMS) or None,
        order=fields.choice("order", BulkOrder, BulkOrder.OLDEST),
        dry_run=fields.flag("dry_run", default=False),
        expect=None if fields.value("expect") is None else fields.integer("expect", 0, low=0, high=2**31),
        details=_details(act, fields),
    )
    fields.finish()
    return request


def _details(act: BulkOperation, fields: Fields) -> Mapping[str, Any] | None:
    match act:
        case BulkOperation.REPLAY:
            return read_terms(fields).details()
        case BulkOperation.TAG:
            return _tagging(fields)
        case _:
            return None


def _tagging(fields: Fields) -> Mapping[str, Any]:
    add, remove = read_tags(fields, "add_tags"), read_tags(fields, "remove_tags")
    if not add and not remove:
        raise Invalid("add_tags", "or 'remove_tags' must name a tag")
    if both := sorted(set(add) & set(remove)):
        raise Invalid("remove_tags", "must not name a tag that is added too", got=both[0])
    return {"add_tags": list(add), "remove_tags": list(remove)}


def _ids(act: BulkOperation, ids: object) -> tuple[str, ...]:
    if not isinstance(ids, list):
        raise Invalid("ids", "must be a list", got=type(ids).__name__)
    if not 1 <= len(ids) <= MOST_IDS:
        raise Invalid("ids", f"must be 1 to {MOST_IDS} ids", got=f"{len(ids)} ids")
    for place, one in enumerate(ids):
        if not isinstance(one, str) or not _ID[act.thing].fullmatch(one):
            raise Invalid(f"ids[{place}]", f"must be the id of a {act.thing.value}, on which {act.value} acts", got=one)
    return tuple(dict.fromkeys(ids))
