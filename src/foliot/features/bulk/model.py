"""A bulk action: one operation on many things, which can be followed, paused and stopped.

    running ◀──▶ paused
       │            │
       ├────────────┴──▶ stopped     by a user, or because too many failed
       └───────────────▶ finished    every item was tried

Which things it acts on is fixed when it is created; each of them is acted on once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from annotated_types import Interval, MaxLen, MinLen

from foliot.core.access import Thing, Verb
from foliot.core.declaration import Described, Missing, Parsed, Wire, declared, in_order, read
from foliot.core.document import Complaints, choose, unknown_field
from foliot.core.errors import Invalid
from foliot.engine.model.run import OPEN, RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.features.filters.model import MOST_CHARACTERS, REPLAYABLE, UNANSWERED, FilterTerm
from foliot.features.runs.usecases.replay import AS_OF, PATCH, MergePatch, ReplayOptions, ReplayVersion
from foliot.features.schedules.model.request import Tags

BULK = "blk"
BULKS_TOPIC = "bulks"
MOST_IDS = 10_000
MOST_ITEMS = 100_000
"""Matches of a filter, at most."""
RATES = range(1, 51)
USUAL_RATE = 5
MOST_CANARIES = 100
USUAL_CANARY = 1
TURNS = 5
"""At high rates a second is divided into this many turns: more would be no smoother for the targets."""


class BulkOperation(StrEnum):
    """The operation: the first four act on runs, the next five on schedules, then on instants of one, and on pages."""

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
    REEXTRACT = "reextract"

    @property
    def thing(self) -> Thing:
        if self is BulkOperation.REEXTRACT:
            return Thing.PAGE
        return Thing.RUN if self in _NARROWED_RUNS else Thing.SCHEDULE

    @property
    def needs(self) -> tuple[Verb, Thing]:
        """The permission that the same operation on a single thing needs."""
        return _NEEDS[self]

    @property
    def narrows(self) -> tuple[FilterTerm, ...]:
        """The terms that restrict a filter to things the operation can be applied to."""
        return _NARROWED_RUNS.get(self) or _NARROWED_SCHEDULES[self]


_NARROWED_RUNS: Mapping[BulkOperation, tuple[FilterTerm, ...]] = {
    BulkOperation.CANCEL: (FilterTerm("state", tuple(sorted(OPEN))),),
    BulkOperation.RETRY: (FilterTerm("state", tuple(sorted(state.value for state in RunState if state.final))),),
    BulkOperation.REPLAY: REPLAYABLE,
    BulkOperation.DISCARD: UNANSWERED,
}
_NARROWED_SCHEDULES: Mapping[BulkOperation, tuple[FilterTerm, ...]] = {
    BulkOperation.PAUSE: (FilterTerm("status", (ScheduleStatus.ACTIVE.value,)),),
    BulkOperation.RESUME: (FilterTerm("status", (ScheduleStatus.PAUSED.value,)),),
    BulkOperation.RUN: (FilterTerm("status", (ScheduleStatus.DELETED.value,), negated=True),),
    BulkOperation.TAG: (FilterTerm("status", (ScheduleStatus.DELETED.value,), negated=True),),
    BulkOperation.DELETE: (FilterTerm("status", (ScheduleStatus.DELETED.value,), negated=True),),
    BulkOperation.BACKFILL: (),
    BulkOperation.REEXTRACT: (),
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
    BulkOperation.REEXTRACT: (Verb.WRITE, Thing.PAGE),
}

ON_PAGES = frozenset({BulkOperation.REEXTRACT})
"""Operations that read stored pages: processes that run work carry them out, many items at a time."""
ONE_BY_ONE = frozenset(BulkOperation) - ON_PAGES
"""The others: the bulk runner carries them out at their rate."""


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

    @property
    def canary(self) -> int:
        """How many of its items are sent first, and must end well before the others follow; 0 where none does."""
        first = int((self.details or {}).get("canary", 0))
        return first if first < self.total else 0


@dataclass(frozen=True, slots=True)
class BulkItem:
    """One thing that a bulk action is to act on."""

    position: int
    thing_id: str


_GOOD = frozenset({RunState.SUCCESS, RunState.PARTIAL})


@dataclass(frozen=True, slots=True)
class CanaryRun:
    """One of the items that are sent first, and its run."""

    thing_id: str
    message: str | None
    """Why it was not sent."""
    run_id: str | None
    state: RunState | None
    error: Mapping[str, Any] | None

    @property
    def open(self) -> bool:
        return self.state in OPEN

    @property
    def fault(self) -> str | None:
        """Why the others must not follow; None while it is open, and when it has ended well."""
        if self.state in OPEN | _GOOD:
            return None
        if self.run_id is None or self.state is None:
            return f"{self.thing_id} was not sent: {self.message or 'its run is gone'}"
        message = str((self.error or {}).get("message") or "")
        ended = f"{self.run_id} ended as {self.state.value}"
        return f"{ended}: {message}" if message else ended


def canary_fault(runs: Sequence[CanaryRun], left: int) -> str | None:
    """Why a bulk action stops after its canary; None when it has succeeded or is not over."""
    faults = [run.fault for run in runs if run.fault is not None]
    return f"the canary failed, so {left} were not sent. {faults[0]}" if faults else None


def bulk_topic(bulk_id: str) -> str:
    """The topic that wakes readers of one bulk action."""
    return f"bulk:{bulk_id}"


def turn(rate: int) -> tuple[int, float]:
    """The number of items per turn and its length in seconds, at this many items a second."""
    items = max(1, rate // TURNS)
    return items, items / rate


_ID = {Thing.RUN: re.compile(r"run_[0-9a-f]{32}"), Thing.SCHEDULE: re.compile(r"sch_[0-9a-f]{32}")}


def _operation(path: str, got: object) -> BulkOperation:
    act = choose(path, got, BulkOperation)
    if act is BulkOperation.BACKFILL:
        raise Invalid(path, "is asked of one schedule: POST /api/schedules/{id}/backfill", got=got)
    if act is BulkOperation.REEXTRACT:
        raise Invalid(path, "is asked of stored pages: POST /api/pages/reextract", got=got)
    return act


def _ids(path: str, ids: object) -> tuple[str, ...]:
    if not isinstance(ids, list):
        raise Invalid(path, "must be a list", got=type(ids).__name__)
    if not 1 <= len(ids) <= MOST_IDS:
        raise Invalid(path, f"must be 1 to {MOST_IDS} ids", got=f"{len(ids)} ids")
    return tuple(dict.fromkeys(ids)) if all(isinstance(one, str) for one in ids) else tuple(ids)


@declared
class NewBulkAction:
    """One action on many: cancel, retry, replay and discard act on runs, the others on schedules."""

    action: Annotated[BulkOperation, Missing(f"must be one of {', '.join(BulkOperation)}"), Parsed(_operation)]
    filter: Annotated[str | None, MaxLen(MOST_CHARACTERS)] = None
    """Everything that this filter matches now."""
    ids: Annotated[
        tuple[str, ...] | None, Wire(Annotated[list[str], MinLen(1), MaxLen(MOST_IDS)] | None), Parsed(_ids)
    ] = None
    """Or these."""
    rate: Annotated[int, Interval(ge=RATES[0], le=RATES[-1])] = USUAL_RATE
    """Items a second."""
    stop_after: Annotated[int | None, Interval(ge=1, le=MOST_ITEMS)] = None
    """Stop when so many failed."""
    order: BulkOrder = BulkOrder.OLDEST
    dry_run: bool = False
    """Only say what would be done."""
    expect: Annotated[int | None, Interval(ge=0, le=2**31)] = None
    """Refuse (409) unless so many match now."""
    add_tags: Tags = ()
    """With `tag`: these are added."""
    remove_tags: Tags = ()
    """With `tag`: these are taken away."""
    as_of: Annotated[ReplayVersion, Described({"description": f"Of replay. {AS_OF}"})] = ReplayVersion.NOW
    patch: Annotated[MergePatch, Described({"description": f"Of replay. {PATCH}"})] = None
    canary: Annotated[int, Interval(ge=0, le=MOST_CANARIES)] = USUAL_CANARY
    """Of replay: so many are sent first. The others follow when these have succeeded, retries included; if one of them
    fails, the bulk action stops. 0 sends all without waiting."""

    @property
    def details(self) -> Mapping[str, Any] | None:
        """Further parameters of the operation, as they are stored."""
        match self.action:
            case BulkOperation.REPLAY:
                first = {"canary": self.canary} if self.canary else {}
                return ReplayOptions(self.as_of, self.patch).details() | first
            case BulkOperation.TAG:
                return {"add_tags": list(self.add_tags), "remove_tags": list(self.remove_tags)}
            case _:
                return None


_OWN = {BulkOperation.TAG: ("add_tags", "remove_tags"), BulkOperation.REPLAY: ("as_of", "patch", "canary")}
"""Fields that belong to one operation."""


def read_request(raw: object) -> NewBulkAction:
    """Parse a request; `Invalid` names what is wrong with it."""
    wrong = Complaints()
    asked: NewBulkAction = wrong.attempt(lambda: read(NewBulkAction, raw))
    wrong.attempt(lambda: _one_of_two(raw))
    if wrong.found:
        Complaints(in_order(NewBulkAction, wrong.found)).speak()
    _refuse_others(asked.action, raw)
    for place, one in enumerate(asked.ids or ()):
        if not _ID[asked.action.thing].fullmatch(str(one)):
            rule = f"must be the id of a {asked.action.thing.value}, on which {asked.action.value} acts"
            raise Invalid(f"ids[{place}]", rule, got=one)
    if asked.action is BulkOperation.TAG:
        _check_tags(asked)
    return asked


def _one_of_two(raw: object) -> None:
    given = raw if isinstance(raw, Mapping) else {}
    if (given.get("filter") is None) == (given.get("ids") is None):
        raise Invalid("filter", "or 'ids' must be given: one of the two; an empty filter means all")


def _refuse_others(act: BulkOperation, raw: object) -> None:
    """Fields of other operations are unknown to this one."""
    others = [name for owner, names in _OWN.items() if owner is not act for name in names]
    given = [name for name in others if isinstance(raw, Mapping) and name in raw]
    if given:
        known = [each.name for each in fields(NewBulkAction) if each.name not in others]
        Complaints([unknown_field("", name, known) for name in given]).speak()


def _check_tags(asked: NewBulkAction) -> None:
    if not asked.add_tags and not asked.remove_tags:
        raise Invalid("add_tags", "or 'remove_tags' must name a tag")
    if both := sorted(set(asked.add_tags) & set(asked.remove_tags)):
        raise Invalid("remove_tags", "must not name a tag that is also added", got=both[0])
