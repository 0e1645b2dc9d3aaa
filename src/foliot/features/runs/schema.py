"""Answers about runs: a run with its attempts, its events and its log."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NotRequired, cast

from pydantic import with_config
from typing_extensions import TypedDict

from foliot.core.declaration import declared
from foliot.core.mask import shown
from foliot.engine.model.run import Event, EventType, Origin, RunState
from foliot.engine.model.views import AttemptView, RunView
from foliot.features.expectations.model.facts import VERDICT
from foliot.features.expectations.schema import ExpectationVerdict
from foliot.servers.http.schema import CLOSED, OPEN


@with_config(OPEN)
class RunError(TypedDict):
    """Why an attempt or a run did not succeed."""

    code: str
    message: str
    cause: NotRequired[str]
    """What exactly failed, where it is known: `dns_failed`, `connect_refused`, `connect_timeout`, `tls_failed`,
    `first_byte_timeout`, `body_timeout`, `http_503`, `redirect`; `target_unreachable` where it is hidden."""


@with_config(OPEN)
class SentRequest(TypedDict):
    """The HTTP request of an attempt."""

    method: str
    url: str
    headers: Mapping[str, str]
    """Credentials are shown as `***`."""


@with_config(OPEN)
class RequestTiming(TypedDict):
    """How long each phase of a request took; null for one that did not take place, as on a kept connection."""

    dns_ms: NotRequired[float | None]
    connect_ms: NotRequired[float | None]
    tls_ms: NotRequired[float | None]
    first_byte_ms: NotRequired[float | None]
    total_ms: float


@declared
class RunAttempt:
    """An attempt that has ended."""

    number: int
    epoch: int
    worker: str | None
    outcome: str
    started_at: datetime
    ended_at: datetime
    duration_ms: float
    error: RunError | None
    response: Mapping[str, Any] | None
    """The response. Lists leave out one of more than 2 KiB: the run by its id has it."""
    retry_at: datetime | None
    request: SentRequest | None
    """What was sent; webhooks have it. Left out where the response is."""
    timing: RequestTiming | None

    @classmethod
    def of(cls, one: AttemptView) -> RunAttempt:
        return cls(
            number=one.number,
            epoch=one.epoch,
            worker=one.worker,
            outcome=one.outcome,
            started_at=one.started_at,
            ended_at=one.ended_at,
            duration_ms=milliseconds(one.started_at, one.ended_at),
            error=cast("RunError | None", one.error),
            response=one.response,
            retry_at=one.retry_at,
            request=cast("SentRequest | None", one.request),
            timing=cast("RequestTiming | None", one.timing),
        )


@declared
class Run:
    """A run, with its ended attempts."""

    id: str
    tenant_id: str
    user_id: str
    schedule_id: str | None
    schedule_name: str | None
    """The present name of its schedule."""
    schedule_version: int | None
    kind: str
    origin: Origin
    state: RunState
    buffered: bool
    catchup: bool
    """Whether it makes up for an outage: it waits behind runs on time, and is released at the tenant's rate."""
    """It waits for an earlier run of its schedule to end."""
    parked: bool
    """Its effect goes on elsewhere (a crawl in Scrapyd, say); it takes no slot."""
    cancel_requested: bool
    scheduled_for: datetime | None
    """Its instant; null when a user asked for the run."""
    fills: datetime | None
    """The instant that it makes up for: a backfill's, or that of the run it repeats."""
    ready_at: datetime
    waiting: WaitReason | None
    """Why it was not started although it was ready; it is considered again at `ready_at`."""
    queue: str
    priority: int
    attempt: int
    max_attempts: int
    worker: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: float | None
    lateness_ms: float | None
    """From when it was ready for its first start to that start; retries do not change it."""
    result: Any
    error: RunError | None
    verdict: list[ExpectationVerdict] | None
    """What was expected of its data, and what came; null for a run without expectations."""
    fingerprint: str | None
    """Equal for failures with the same cause; only failed runs and dead letters have one."""
    parent_id: str | None
    """The run that this one repeats, or, with origin `after`, follows."""
    resolved_by: str | None
    """The replay that resolved this dead letter; `discarded` when a user discarded it."""
    action: dict[str, Any] | None
    """The action of this run, when it differs from that of its schedule's version."""
    attempts: list[RunAttempt]
    links: dict[str, str | None]

    @classmethod
    def of(cls, one: RunView) -> Run:
        began, ended = one.started_at, one.finished_at
        return cls(
            id=one.id,
            tenant_id=one.tenant_id,
            user_id=one.user_id,
            schedule_id=one.schedule_id,
            schedule_name=one.schedule_name,
            schedule_version=one.version,
            kind=one.kind,
            origin=one.origin,
            state=one.state,
            buffered=one.buffered,
            catchup=bool(one.catchup),
            parked=one.parked,
            cancel_requested=one.cancel_requested,
            scheduled_for=one.scheduled_for,
            fills=one.fills,
            ready_at=one.ready_at,
            waiting=cast("WaitReason | None", one.waiting),
            queue=one.queue,
            priority=one.priority,
            attempt=one.attempt,
            max_attempts=one.max_attempts,
            worker=one.worker,
            created_at=one.created_at,
            started_at=began,
            finished_at=ended,
            duration_ms=None if began is None or ended is None else milliseconds(began, ended),
            lateness_ms=_lateness(one),
            result=one.result,
            verdict=_verdict(one.result),
            error=cast("RunError | None", one.error),
            fingerprint=one.fingerprint,
            parent_id=one.parent_id,
            resolved_by=one.resolved_by,
            action=None if one.action is None else shown(one.action),
            attempts=[RunAttempt.of(each) for each in one.attempts],
            links=_links(one),
        )


def _links(one: RunView) -> dict[str, str | None]:
    base = f"/api/runs/{one.id}"
    return {
        "self": base,
        "events": f"{base}/events",
        "schedule": None if one.schedule_id is None else f"/api/schedules/{one.schedule_id}",
        "parent": None if one.parent_id is None else f"/api/runs/{one.parent_id}",
        # A dead letter that was discarded has no run to link to.
        "resolved_by": f"/api/runs/{one.resolved_by}" if (one.resolved_by or "").startswith("run_") else None,
    }


def _lateness(one: RunView) -> float | None:
    """From when the run was ready for its first start to that start, whatever its retries."""
    if one.started_at is None:
        return None
    # A run from before `due_at` was stored: a retry has moved `ready_at` past the start, the nominal time has not.
    due = one.due_at or min(one.ready_at, one.scheduled_for or one.created_at)
    return max(milliseconds(due, one.started_at), 0.0)


_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(start: datetime, end: datetime) -> float:
    return (end - start) / _MILLISECOND


def located(one: RunView) -> dict[str, str]:
    """The `Location` header of a new run."""
    return {"Location": f"/api/runs/{one.id}"}


@declared
class RunPage:
    """A page of runs."""

    items: list[Run]
    next_cursor: str | None


@with_config(CLOSED)
class RunEvent(TypedDict):
    """One numbered event of a run, with the fields of its type: a state has no level, a log line no state."""

    seq: int
    at: datetime
    type: EventType
    state: NotRequired[RunState]
    attempt: NotRequired[int]
    level: NotRequired[str]
    data: NotRequired[Mapping[str, Any]]
    message: str


def run_event(one: Event) -> RunEvent:
    said = {"state": one.state, "attempt": one.attempt, "level": one.level, "data": one.data}
    given = {name: value for name, value in said.items() if value is not None}
    return cast("RunEvent", {"seq": one.seq, "at": one.at, "type": one.type, **given, "message": one.message})


@declared
class EventPage:
    """A page of events; `next_cursor` is what to give as `after`, null at the end."""

    items: list[RunEvent]
    next_cursor: str | None


@declared
class RunNeighbours:
    """The previous and the next run of the same schedule, by their ids."""

    before: str | None
    after: str | None


@with_config(CLOSED)
class WaitReason(TypedDict):
    """Why a run that was ready was not started; that counts as no attempt."""

    code: str
    """`waiting_target`: its target's concurrency limit is reached. `waiting_breaker`: the circuit breaker of its target
    is open until the next trial. `waiting_share`: its tenant's share of the slots is used up."""
    message: str


@declared
class LogLine:
    """One log line; its number is its sequence number among the run's events."""

    seq: int
    at: datetime
    level: str
    message: str
    category: str | None
    """`retry`, `redirect` and the like; null for most lines."""
    attempt: int | None
    """The attempt that wrote it."""


@declared
class RunLog:
    """A page of a run's log, oldest line first."""

    items: list[LogLine]
    total: int
    """Lines of the whole log."""
    matches: int | None
    """Lines of the whole log that match; null without a filter."""
    first_seq: int | None
    """The sequence number of the first line of the whole log, null when it has none."""
    last_seq: int | None
    before: int | None
    """What to give as `before` for the lines before these; null when there are none."""
    after: int | None
    """What to give as `after` for those after them; null when there are none yet."""
    pruned: bool
    """Whether lines that were written are no longer stored, or were dropped at the limit."""


@declared
class LogCount:
    """How many lines match. Each other number is what a filter for it would match."""

    count: int
    by_level: dict[str, int]
    by_category: dict[str, int]
    by_attempt: dict[int, int]


def _verdict(result: Any) -> list[ExpectationVerdict] | None:
    return cast("list[ExpectationVerdict] | None", result.get(VERDICT)) if isinstance(result, Mapping) else None
