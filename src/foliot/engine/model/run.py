"""A run: one execution of an action, and its state machine.

                    ┌──────────── handed back ────────────┐
                    ▼                                     │
    created ──▶ queued ──────────── claim ───────────▶ running ──▶ success
                    │                                  ▲  │  └───▶ partial
                    │                                  │  │  └───▶ degraded
                    │                            claim │  │  └───▶ failed
                    │                                  │  ▼  └───▶ dead_letter
                    │                               retrying
                    │                                  │  │
                    └──────────▶ cancelled ◀───────────┴──┘ (also from running)

A running run is either held by a worker, under a lease, or parked: its effect continues elsewhere, and is checked from
time to time.

    claim ──▶ held by a worker ──── parked ───▶ parked ◀── parked again, or the watcher is lost ─────┐
                     │                             └──────────── its check is due ─────▶ held by a watcher
                     ▼                                                                               ▼
          any of the arrows above                                                       any of the arrows above

Final states are final: nothing leaves success, partial, degraded, failed, dead_letter or cancelled.
A buffered run is queued and waits for its predecessor: it has no place in the order yet.

A batch is a run that is made of items, each of which is claimed work of its own. No executor claims it: it is queued
until its items exist and parked from the transaction that creates them, and the transaction that ends its last item
ends it.

    created ──▶ queued ── its items are created ──▶ parked ── its last item ends ──▶ success, partial, failed, …

Facts about a run, numbered without gaps from 1.

Parked runs: their effect continues elsewhere; they are checked when due, and parked again or ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from foliot.core.queue_name import PRIORITIES

LINE_LIMIT = 16 * 1024
LINES_PER_RUN = 1_000_000
LOG_BYTES = 256 * 1024 * 1024
"""Maximum bytes of the log of one run, over all its attempts."""


class EventType(StrEnum):
    """The types of events."""

    STATE = "state"
    LOG = "log"
    PROGRESS = "progress"


@dataclass(slots=True)
class EventLine:
    """A log line or a progress step that has no number yet; not frozen, for runs write very many."""

    at: datetime
    type: EventType
    level: str = "info"
    message: str = ""
    data: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One numbered fact: a change of state, a log line or a progress step."""

    seq: int
    at: datetime
    type: EventType
    state: str | None = None
    attempt: int | None = None
    level: str | None = None
    message: str = ""
    data: Mapping[str, Any] | None = None


DEFAULT_PRIORITY = 5
AGEING = timedelta(seconds=30)
"""Each step of priority is worth this much waiting, so that nothing starves."""

MANUAL_QUEUE = "manual"

BATCH_KINDS = frozenset({"articles"})
"""Kinds of actions whose runs are batches. A name and no more: the statements that create and release runs need to know
which of them must not become claimable."""
BATCH_CHECK = timedelta(minutes=1)
"""How often an open batch is checked although the end of its last item ends it."""


class RunState(StrEnum):
    """The states of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCESS = "success"
    PARTIAL = "partial"
    DEGRADED = "degraded"
    FAILED = "failed"
    DEAD_LETTER = "dead_letter"
    CANCELLED = "cancelled"

    final: bool
    """Nothing leaves a final state. Set below: it is asked several times for each run that ends."""


_ENDS = frozenset(
    {
        RunState.SUCCESS,
        RunState.PARTIAL,
        RunState.DEGRADED,
        RunState.FAILED,
        RunState.DEAD_LETTER,
        RunState.CANCELLED,
    }
)

TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.RUNNING, RunState.CANCELLED}),
    RunState.RUNNING: _ENDS | {RunState.RETRYING, RunState.QUEUED},
    RunState.RETRYING: frozenset({RunState.RUNNING, RunState.CANCELLED}),
    RunState.SUCCESS: frozenset(),
    RunState.PARTIAL: frozenset(),
    RunState.DEGRADED: frozenset(),
    RunState.FAILED: frozenset(),
    RunState.DEAD_LETTER: frozenset(),
    RunState.CANCELLED: frozenset(),
}

for state in RunState:
    state.final = not TRANSITIONS[state]
OPEN = frozenset(state for state in RunState if not state.final)
CLAIMABLE = frozenset({RunState.QUEUED, RunState.RETRYING})
FAILURES = frozenset({RunState.FAILED, RunState.DEAD_LETTER})


class Origin(StrEnum):
    """Where a run comes from."""

    INSTANT = "instant"
    MANUAL = "manual"
    RETRY = "retry"
    REPLAY = "replay"
    AFTER = "after"
    """A run of a schedule that this one follows has ended: its parent."""


REPEATS = frozenset({Origin.RETRY, Origin.REPLAY})
"""Runs that repeat their parent: the two count as one for the schedules that follow."""


@dataclass(frozen=True, slots=True)
class AttemptError:
    """Why an attempt did not succeed: a code for machines, a sentence for people."""

    code: str
    message: str
    cause: str | None = None
    """A finer word than the code, where there is one: `connect_refused` of a target that is `target_unreachable`."""

    def as_dict(self) -> dict[str, Any]:
        document = {"code": self.code, "message": self.message}
        return document if self.cause is None else document | {"cause": self.cause}


EXCHANGE = "exchange"
"""Key in the response of an attempt: the request that was sent (`request`) and how long its phases took (`timing`)."""


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The action finished; `partial` when some of its items failed."""

    result: Any = None
    partial: bool = False
    degraded: AttemptError | None = None
    """Which expectations of its data were broken: the run is degraded then, whatever else it is."""
    response: dict[str, Any] | None = None
    changed: bool = False
    """What it looks at has changed in a way that counts: schedules can follow that."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The action did not succeed. A permanent failure is not tried again."""

    problem: AttemptError
    permanent: bool = False
    retry_after: timedelta | None = None
    response: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The run was cancelled on request."""

    reason: str = "cancelled"


@dataclass(frozen=True, slots=True)
class HandedBack:
    """The worker leaves: the run returns to its queue and keeps its attempt."""

    reason: str = "the worker is shutting down"


@dataclass(frozen=True, slots=True)
class Lost:
    """The worker vanished in mid-attempt: its lease ran out."""

    problem: AttemptError = field(
        default=AttemptError(
            "worker_lost", "the worker stopped renewing its lease; it was killed, froze or lost its database connection"
        )
    )


Ended = Succeeded | Failed | Cancelled | HandedBack | Lost


@dataclass(frozen=True, slots=True)
class Parked:
    """The effect continues elsewhere: no worker holds the run until its next check."""

    handle: Mapping[str, Any]
    """What the next check needs: JSON, small, and without secrets, because clients see it with the run."""
    after: timedelta
    """When to check again; zero when there is more to fetch at once."""
    items: Sequence[Any] = ()
    """JSON documents that the effect produced since the last check; stored with the run, once each."""


Outcome = Ended | Parked


@dataclass(frozen=True, slots=True)
class Fence:
    """Identifies one attempt (fencing token). A write with an older one changes nothing."""

    run_id: str
    epoch: int
    token: str


def order_key(ready_at: datetime, priority: int, *, catchup: bool | None = None) -> datetime:
    """The position of a run in its queue: by time, delayed by priority, so that waiting always wins in the end.

    What catches up has the lowest priority: it waits behind what is on time.
    """
    return ready_at + ((PRIORITIES[-1] if catchup else priority) - 1) * AGEING


TEST = "test"
"""Key of a configuration that only tries its target out. No request can set it: only we do."""
TESTABLE = frozenset({"webhook"})
"""The kinds whose configuration may have it."""


def is_test(kind: str, config: Mapping[str, object]) -> bool:
    """Whether a run only tests its target: it is sent even while the breaker is open, and leaves no dead letter."""
    return kind in TESTABLE and config.get(TEST) is True


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedUpdate:
    """A run to be parked until `poll_at`: its handle, lines and items are written together."""

    fence: Fence
    handle: Mapping[str, Any]
    poll_at: datetime
    at: datetime
    lines: Sequence[EventLine] = ()
    items: Sequence[Any] = ()
    cancelling: bool = False
    """The check knows of a requested cancellation."""
    given_up: RunState = RunState.DEAD_LETTER
    """As in `AttemptEnding`."""


@dataclass(frozen=True, slots=True)
class DueParkedRuns:
    """Parked runs whose moment has come, the longest overdue first, and when the first of the others is due."""

    due: Sequence[str] = ()
    next_at: datetime | None = None
