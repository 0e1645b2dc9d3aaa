"""Values that the engine, its SQL and the interfaces exchange: claims, endings, requests, and views of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from foliot.core.queue_name import DEFAULT_QUEUE
from foliot.engine.model.run import CLAIMABLE, EventLine, Fence, Origin, RunState
from foliot.engine.model.schedule import ScheduleSpec


@dataclass(slots=True, kw_only=True)
class ClaimedRun:
    """A run that is claimed by one attempt. Not frozen: a frozen one takes three times as long to make."""

    fence: Fence
    tenant_id: str
    schedule_id: str | None
    kind: str
    queue: str = DEFAULT_QUEUE
    attempt: int
    max_attempts: int
    timeout_seconds: int | None
    scheduled_for: datetime | None
    """Its instant, or that of the run it repeats; of a requested run, the time of the request."""
    ready_at: datetime
    started_at: datetime
    cancel_requested: bool
    spec: ScheduleSpec | None
    config: Mapping[str, Any] = field(repr=False)
    """The action as configured; empty when its row is damaged, with `fault` saying how."""
    fault: str | None = None
    handle: Mapping[str, Any] | None = None
    """How to find its effect again, when it may have started one that continues elsewhere."""
    ended: bool = False
    """The run was ended from outside: only its effect is to be released."""
    lost_looks: int = 0
    """How many times in a row the process that checked it disappeared."""
    hidden: tuple[str, ...] = field(default=(), repr=False)
    """Credentials of its configuration: they are redacted in everything that is stored."""
    locked: bool = False
    """A credential of its configuration cannot be decrypted, and is still encrypted in it."""
    replay: bool = False
    """It replays a dead letter, which stays until this succeeds: a permanent failure makes no second one."""


@dataclass(frozen=True, slots=True)
class PostponedRun:
    """Why a ready run is not started, and until when it is not offered again."""

    until: datetime
    code: str
    message: str

    def as_dict(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message}


Admit = Callable[[Sequence[ClaimedRun]], Mapping[str, PostponedRun | None]]
"""Decides before a claim which runs are postponed. None: the run stays ready as it is."""


@dataclass(slots=True, kw_only=True)
class AttemptEnding:
    """How an attempt ended, ready to be written; not frozen, as a claimed run."""

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
    """The state of this run after a final failure, also when its own ending cannot be stored."""
    changed: bool = False
    """It found a change that counts; of a run that has ended well."""
    host: str | None = None
    """The target's host: failures at different hosts are not alike, even where their errors do not name it."""


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run that has reached a final state, for what features do in the transaction that ends it."""

    run_id: str
    tenant_id: str
    schedule_id: str | None
    kind: str
    origin: str
    state: RunState
    at: datetime
    error: Mapping[str, Any] | None
    repeats: str | None = None
    """The run that it repeats."""


@dataclass(frozen=True, slots=True)
class EndingsResult:
    """What became of a batch of endings."""

    states: Mapping[str, RunState]
    """The stored state of each run: a concurrent cancellation is seen only under the row's lock."""
    stale: frozenset[str]
    released: int = 0
    ended: Sequence[RunEnded] = ()
    topics: frozenset[str] = frozenset()
    """What to wake after the commit, besides readers of the runs."""

    @property
    def accepted(self) -> frozenset[str]:
        return frozenset(self.states)


@dataclass(frozen=True, slots=True)
class RewindResult:
    """What existed beyond the moment that a schedule was rewound to."""

    early: Sequence[datetime]
    """Instants that have a run already, oldest first."""
    last_run_at: datetime | None


@dataclass(frozen=True, slots=True)
class PlansRecorded:
    """What a batch of plans wrote."""

    runs: int = 0
    later: Sequence[datetime] = ()
    """The times at which the runs that are not ready yet become so."""
    lateness: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page of a list: `limit` items after `cursor`, newest first."""

    limit: int = 50
    cursor: str | None = None


@dataclass(slots=True)
class RunView:
    """A run as people see it. Not frozen: lists hold hundreds, and a frozen one takes three times as long to make."""

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
    """How to find the effect of its last attempt, where it continued elsewhere."""
    put_off: Mapping[str, Any] | None = None
    """Why it was not started when it was ready; stays until its next attempt begins."""
    fingerprint: str | None = None
    """What it has in common with failures that are alike."""
    changed: bool | None = None
    """It found a change that counts."""
    catchup: bool | None = None
    """It makes up for an instant that no scheduler settled in time."""
    fills: datetime | None = None
    """The instant that it makes up for: a backfill's, or that of the run it repeats."""
    schedule_name: str | None = None
    """The schedule's current name; None also where the run was read with a lock."""
    attempts: Sequence[AttemptView] = ()
    """The ended attempts, oldest first, where they were requested."""

    @property
    def waiting(self) -> Mapping[str, Any] | None:
        """Why it waits until `ready_at` although it was ready before."""
        return self.put_off if self.state in CLAIMABLE else None

    @property
    def parked(self) -> bool:
        """Whether its effect continues elsewhere, or may; it takes no slot."""
        return self.state is RunState.RUNNING and self.handle is not None


@dataclass(slots=True, kw_only=True)
class AttemptView:
    """One ended attempt; not frozen, as a run."""

    epoch: int
    number: int
    worker: str | None
    outcome: str
    started_at: datetime
    ended_at: datetime
    error: Mapping[str, Any] | None
    response: Mapping[str, Any] | None
    retry_at: datetime | None
    request: Mapping[str, Any] | None = None
    timing: Mapping[str, float | None] | None = None


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
    """The response stored with an idempotency key; one that contained a secret is stored without its body."""

    fingerprint: str
    status: int | None
    body: str | None
    headers: Mapping[str, str] = field(default_factory=dict)


KEYS_KEPT = timedelta(hours=24)
"""How long an idempotency key is valid."""
