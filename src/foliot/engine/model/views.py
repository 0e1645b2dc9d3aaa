"""Values that the engine, its SQL and the interfaces exchange: claims, endings, requests, and views of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from foliot.core.queue_name import DEFAULT_QUEUE
from foliot.engine.model.event import EventLine
from foliot.engine.model.run import CLAIMABLE, Fence, Origin, RunState
from foliot.engine.model.schedule import ScheduleSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedRun:
    """A run that is claimed by one attempt."""

    fence: Fence
    tenant_id: str
    schedule_id: str | None
    kind: str
    queue: str = DEFAULT_QUEUE
    attempt: int
    max_attempts: int
    timeout_seconds: int | None
    scheduled_for: datetime | None
    """Its instant, or that of the run it repeats; of one that was asked for, the moment of asking."""
    ready_at: datetime
    started_at: datetime
    cancel_requested: bool
    spec: ScheduleSpec | None
    config: Mapping[str, Any] = field(repr=False)
    """The action as configured; empty when its row is damaged, with `fault` saying how."""
    fault: str | None = None
    handle: Mapping[str, Any] | None = None
    """How to find its effect again, when it may have started one that goes on elsewhere."""
    ended: bool = False
    """Ended from outside: only its effect is to be let go."""
    lost_looks: int = 0
    """How many times in a row the process that checked it disappeared."""
    hidden: tuple[str, ...] = field(default=(), repr=False)
    """Credentials of its configuration: nothing that is kept of it repeats them."""
    locked: bool = False
    """A credential of its configuration cannot be opened, and stands there sealed."""
    replay: bool = False
    """Repeats a dead letter, which stays until this succeeds: failing for good makes no second letter."""


@dataclass(frozen=True, slots=True)
class PostponedRun:
    """Why a ready run is not started, and until when it need not be offered again."""

    until: datetime
    code: str
    message: str

    def as_dict(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message}


Admit = Callable[[Sequence[ClaimedRun]], Mapping[str, PostponedRun | None]]
"""Asked before runs are claimed: which of them are not to be. None: it stays ready as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnding:
    """How an attempt ended, ready to be written."""

    fence: Fence
    state: RunState
    outcome: str
    at: datetime
    result: Any = None
    error: Mapping[str, Any] | None = None
    response: Mapping[str, Any] | None = None
    ready_at: datetime | None = None
    """When the run may be claimed again; only for `retrying` and `queued`."""
    refund: bool = False
    """A run handed back keeps its attempt."""
    lost: bool = False
    """Written for a lost attempt by the process that reclaimed its run: its fence ends with it."""
    lines: Sequence[EventLine] = ()
    given_up: RunState = RunState.DEAD_LETTER
    """What a final failure of this run is: also when its own ending cannot be stored."""
    host: str | None = None
    """Where it was going: failures at different hosts are not alike, even where their errors do not name it."""


@dataclass(frozen=True, slots=True)
class EndingsResult:
    """What became of a batch of endings."""

    states: Mapping[str, RunState]
    """As which each run was stored: a cancel that was asked for meanwhile is known only under the row's lock."""
    stale: frozenset[str]
    released: int = 0

    @property
    def accepted(self) -> frozenset[str]:
        return frozenset(self.states)


@dataclass(frozen=True, slots=True)
class RewindResult:
    """What was found beyond the moment that a schedule was set back to."""

    early: Sequence[datetime]
    """Instants that have a run already, oldest first."""
    last_run_at: datetime | None


@dataclass(frozen=True, slots=True)
class PlansRecorded:
    """What a batch of plans wrote."""

    runs: int = 0
    later: Sequence[datetime] = ()
    """When those that are not ready yet will be."""
    lateness: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which part of a list is wanted: `limit` things after `cursor`, newest first."""

    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run as people see it."""

    id: str
    tenant_id: str
    user_id: str
    schedule_id: str | None
    version: int | None
    kind: str
    origin: Origin
    state: RunState
    scheduled_for: datetime | None
    ready_at: datetime
    queue: str
    priority: int
    attempt: int
    max_attempts: int
    timeout_seconds: int | None
    worker: str | None
    cancel_requested: bool
    buffered: bool
    event_seq: int
    created_at: datetime
    due_at: datetime | None
    """When it was ready for its first start; None before that."""
    started_at: datetime | None
    finished_at: datetime | None
    result: Any
    error: Mapping[str, Any] | None
    parent_id: str | None
    resolved_by: str | None
    action: Mapping[str, Any] | None
    handle: Mapping[str, Any] | None = None
    """How to find the effect of its last attempt, where it went on elsewhere."""
    put_off: Mapping[str, Any] | None = None
    """Why it was not started when it was ready; stays until its next attempt begins."""
    attempts: Sequence[AttemptView] = ()
    """The ended attempts, oldest first, where they were requested."""
    schedule_name: str | None = None
    """As it is called now; None also where the run was read to be changed."""
    fingerprint: str | None = None
    """What it has in common with failures that are alike."""
    fills: datetime | None = None
    """The instant that it makes up for: a backfill's, or that of the run it repeats."""

    @property
    def waiting(self) -> Mapping[str, Any] | None:
        """Why it waits until `ready_at` although it was ready before."""
        return self.put_off if self.state in CLAIMABLE else None

    @property
    def parked(self) -> bool:
        """Its effect goes on elsewhere, or may; it takes no slot."""
        return self.state is RunState.RUNNING and self.handle is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """One ended attempt."""

    epoch: int
    number: int
    worker: str | None
    outcome: str
    started_at: datetime
    ended_at: datetime
    error: Mapping[str, Any] | None
    response: Mapping[str, Any] | None
    retry_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A requested run, outside any instant."""

    id: str
    tenant_id: str
    user_id: str
    kind: str
    origin: Origin
    queue: str
    priority: int
    max_attempts: int
    timeout_seconds: int | None
    schedule_id: str | None = None
    version: int | None = None
    action: Mapping[str, Any] | None = None
    parent_id: str | None = None
    fills: datetime | None = None
    parked: bool = False
    """A batch whose items are created in the same transaction: it is running from the start, and never claimed."""

    def made(self, now: datetime, schedule_name: str | None = None) -> RunView:
        """The run as the creating transaction leaves it, so that it need not be read back."""
        return RunView(
            id=self.id,
            tenant_id=self.tenant_id,
            user_id=self.user_id,
            schedule_id=self.schedule_id,
            version=self.version,
            kind=self.kind,
            origin=self.origin,
            state=RunState.RUNNING if self.parked else RunState.QUEUED,
            scheduled_for=None,
            ready_at=now,
            queue=self.queue,
            priority=self.priority,
            attempt=int(self.parked),
            max_attempts=self.max_attempts,
            timeout_seconds=self.timeout_seconds,
            worker=None,
            cancel_requested=False,
            buffered=False,
            event_seq=1 + self.parked,
            created_at=now,
            due_at=now if self.parked else None,
            started_at=now if self.parked else None,
            finished_at=None,
            result=None,
            error=None,
            parent_id=self.parent_id,
            resolved_by=None,
            action=self.action,
            schedule_name=schedule_name,
            fills=self.fills,
        )


@dataclass(frozen=True, slots=True)
class DeadLetterGroupView:
    """Dead letters that failed alike."""

    code: str
    message: str
    kind: str
    count: int
    first_at: datetime
    last_at: datetime
    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response that an idempotency key remembers; one that held a secret is remembered without its body."""

    fingerprint: str
    status: int | None
    body: str | None
    headers: Mapping[str, str] = field(default_factory=dict)


KEYS_KEPT = timedelta(hours=24)
"""How long an idempotency key holds."""
