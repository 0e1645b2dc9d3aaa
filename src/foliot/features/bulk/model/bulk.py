"""One action on many things, as a thing of its own that can be followed, paused and stopped.

    running ◀──▶ paused
       │            │
       ├────────────┴──▶ stopped     somebody had enough, or too many failed
       └───────────────▶ finished    every item was tried

Which things it acts on is fixed when it is made; each of them is acted on once.
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
from foliot.engine.model.schedule import Status
from foliot.features.filters.model.query import MOST_CHARACTERS, Term
from foliot.features.runs.model.replay import Terms, read_terms
from foliot.features.schedules.model.document import read_tags

BULK = "blk"
MOST_IDS = 10_000
MOST_ITEMS = 100_000
"""That a filter may match."""
RATES = range(1, 51)
USUAL_RATE = 5
TURNS = 5
"""A second is cut into so many turns where the rate is high: more would be no smoother to whoever is called."""


class Act(StrEnum):
    """What is done to each: the first four to runs, the others to schedules, the last to instants of one."""

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
        """What whoever asks for it must be allowed to do to a single one."""
        return _NEEDS[self]

    @property
    def narrows(self) -> tuple[Term, ...]:
        """To which of those that a filter describes it can be done at all."""
        return _NARROWED_RUNS.get(self) or _NARROWED_SCHEDULES[self]


_UNANSWERED = (Term("state", (RunState.DEAD_LETTER.value,)), Term("resolved", ("true",), negated=True))
_NARROWED_RUNS: Mapping[Act, tuple[Term, ...]] = {
    Act.CANCEL: (Term("state", tuple(sorted(OPEN))),),
    Act.RETRY: (Term("state", tuple(sorted(state.value for state in RunState if state.final))),),
    Act.REPLAY: (*_UNANSWERED, Term("replaying", ("true",), negated=True)),
    Act.DISCARD: _UNANSWERED,
}
_NARROWED_SCHEDULES: Mapping[Act, tuple[Term, ...]] = {
    Act.PAUSE: (Term("status", (Status.ACTIVE.value,)),),
    Act.RESUME: (Term("status", (Status.PAUSED.value,)),),
    Act.RUN: (Term("status", (Status.DELETED.value,), negated=True),),
    Act.TAG: (Term("status", (Status.DELETED.value,), negated=True),),
    Act.DELETE: (Term("status", (Status.DELETED.value,), negated=True),),
    Act.BACKFILL: (),
}
_NEEDS: Mapping[Act, tuple[Verb, Thing]] = {
    Act.CANCEL: (Verb.WRITE, Thing.RUN),
    Act.RETRY: (Verb.RUN, Thing.RUN),
    Act.REPLAY: (Verb.RUN, Thing.DEAD_LETTER),
    Act.DISCARD: (Verb.WRITE, Thing.RUN),
    Act.PAUSE: (Verb.WRITE, Thing.SCHEDULE),
    Act.RESUME: (Verb.WRITE, Thing.SCHEDULE),
    Act.RUN: (Verb.RUN, Thing.SCHEDULE),
    Act.TAG: (Verb.WRITE, Thing.SCHEDULE),
    Act.DELETE: (Verb.WRITE, Thing.SCHEDULE),
    Act.BACKFILL: (Verb.RUN, Thing.SCHEDULE),
}


class BulkState(StrEnum):
    """Where a bulk action is."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    FINISHED = "finished"


OVER = frozenset({BulkState.STOPPED, BulkState.FINISHED})


class Order(StrEnum):
    """Which things come first."""

    OLDEST = "oldest"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRequest:
    """What somebody asks for."""

    act: Act
    filter: str | None
    ids: tuple[str, ...]
    rate: int
    stop_after: int | None
    order: Order
    dry_run: bool
    expect: int | None
    details: Mapping[str, Any] | None = None
    """What the action needs to know besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """A bulk action as it stands."""

    id: str
    tenant_id: str
    user_id: str
    key_id: str | None
    door: str
    act: Act
    filter: str | None
    ids_given: int
    order: Order
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
    """What the action needs to know besides."""

    @property
    def terms(self) -> Terms:
        """On which it replays; one from before there was a choice does what its letters did."""
        return Terms.of(self.details or {})

    @property
    def done(self) -> int:
        return self.ok + self.failed


def turn(rate: int) -> tuple[int, float]:
    """How many items make one turn, and how many seconds it takes, at so many items a second."""
    items = max(1, rate // TURNS)
    return items, items / rate


_ID = {Thing.RUN: re.compile(r"run_[0-9a-f]{32}"), Thing.SCHEDULE: re.compile(r"sch_[0-9a-f]{32}")}


def read_request(raw: object) -> BulkRequest:
    """`Invalid` names what is wrong with it."""
    fields = Fields.of("", raw)
    given = fields.value("action")
    if not isinstance(given, str) or given not in set(Act):
        raise Invalid("action", f"must be one of {', '.join(Act)}", got=given)
    act = Act(given)
    if act is Act.BACKFILL:
        raise Invalid("action", "is asked of one schedule: POST /api/schedules/{id}/backfill", got=given)
    named, ids = fields.value("filter"), fields.value("ids")
    if (named is None) == (ids is None):
        raise Invalid("filter", "or 'ids' must be given: one of the two; an empty filter means all")
    request = BulkRequest(
        act=act,
        filter=None if named is None else fields.text("filter", "", most=MOST_CHARACTERS),
        ids=() if ids is None else _ids(act, ids),
        rate=fields.integer("rate", USUAL_RATE, low=RATES[0], high=RATES[-1]),
        stop_after=fields.integer("stop_after", 0, low=1, high=MOST_ITEMS) or None,
        order=fields.choice("order", Order, Order.OLDEST),
        dry_run=fields.flag("dry_run", default=False),
        expect=None if fields.value("expect") is None else fields.integer("expect", 0, low=0, high=2**31),
        details=_details(act, fields),
    )
    fields.finish()
    return request


def _details(act: Act, fields: Fields) -> Mapping[str, Any] | None:
    match act:
        case Act.REPLAY:
            return read_terms(fields).details()
        case Act.TAG:
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


def _ids(act: Act, ids: object) -> tuple[str, ...]:
    if not isinstance(ids, list):
        raise Invalid("ids", "must be a list", got=type(ids).__name__)
    if not 1 <= len(ids) <= MOST_IDS:
        raise Invalid("ids", f"must be 1 to {MOST_IDS} ids", got=f"{len(ids)} ids")
    for place, one in enumerate(ids):
        if not isinstance(one, str) or not _ID[act.thing].fullmatch(one):
            raise Invalid(f"ids[{place}]", f"must be the id of a {act.thing.value}, on which {act.value} acts", got=one)
    return tuple(dict.fromkeys(ids))
