"""Attention entries: what is wrong, why, since when, and the requests that could fix it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from foliot.core.access import Thing, Verb
from foliot.engine.model.run import RunState
from foliot.features.schedules.model.health import SHOWN, ScheduleOutcomes

CUT = 200
"""Characters of an error that a reason quotes."""


class AttentionKind(StrEnum):
    """The kind of problem."""

    FAILING = "failing"
    LATE = "late"
    MISSED = "missed"
    DEAD_LETTERS = "dead_letters"
    STALLED_QUEUE = "stalled_queue"
    LOST_WORKER = "lost_worker"
    DAMAGED = "damaged"
    NO_WORKER = "no_worker"
    AHEAD = "ahead"
    STANDSTILL = "standstill"
    CHANNEL = "channel"
    MONITOR = "monitor"
    PAGES = "pages"


class Severity(StrEnum):
    """Severities, worst first."""

    FAILED = "failed"
    DEAD = "dead"
    ATTENTION = "attention"


@dataclass(frozen=True, slots=True)
class AttentionRequest:
    """A suggested request; only for callers who may make it."""

    label: str
    method: str
    path: str
    needs: tuple[Verb, Thing]
    body: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionEntry:
    """One problem that needs a person."""

    kind: AttentionKind
    key: str
    """Distinguishes it from others of its kind; stable as long as the problem lasts."""
    severity: Severity
    title: str
    reason: str
    since: datetime | None
    count: int = 1
    schedule_id: str | None = None
    run_id: str | None = None
    queue: str | None = None
    worker: str | None = None
    q: str | None = None
    """A filter of the runs that show it."""
    actions: Sequence[AttentionRequest] = ()

    @property
    def id(self) -> str:
        return f"{self.kind.value}:{self.key}"


@dataclass(frozen=True, slots=True)
class ScheduleMoment:
    """A schedule, and the time that matters about it."""

    schedule_id: str
    name: str
    at: datetime | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class MissedInstants:
    """Instants of one schedule that made no run because no scheduler was running in time."""

    schedule_id: str
    name: str
    count: int
    first: datetime
    last: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class UnansweredLetters:
    """Unresolved dead letters; `count` stops at the limit of what was read."""

    count: int
    oldest: datetime
    newest_id: str
    alike: int
    """How many of them share the most frequent error."""
    message: str
    """That error's message."""


def ranked(items: Sequence[AttentionEntry]) -> list[AttentionEntry]:
    """Worst first, then largest count, then newest."""
    order = list(Severity)
    return sorted(items, key=lambda one: (order.index(one.severity), -one.count, _newest(one.since), one.id))


def failing(name: str, wellness: ScheduleOutcomes) -> AttentionEntry | None:
    """A schedule whose last run failed; None when it did not, after all."""
    failures = wellness.failures
    if not failures:
        return None
    last, count = failures[-1], len(failures)
    times = "failed" if count == 1 else f"failed {count} times in a row"
    if count == SHOWN:
        times = f"failed at least {count} times in a row"
    return AttentionEntry(
        kind=AttentionKind.FAILING,
        key=wellness.schedule_id,
        severity=Severity.FAILED,
        title=name,
        reason=f"{times}{_why(last.message)}",
        since=failures[0].at,
        count=count,
        schedule_id=wellness.schedule_id,
        run_id=last.run_id,
        q=f"schedule:{wellness.schedule_id} state:failed,dead_letter",
        actions=[_again(last.run_id, last.state), run_now(wellness.schedule_id), pause(wellness.schedule_id)],
    )


def more_failing(count: int) -> AttentionEntry:
    return AttentionEntry(
        kind=AttentionKind.FAILING,
        key="more",
        severity=Severity.FAILED,
        title=f"{_counted(count, 'more schedule')} {'fails' if count == 1 else 'fail'}",
        reason="their last run failed; filter schedules with failing:true to see them",
        since=None,
        count=count,
    )


def late(name: str, schedule_id: str, due: datetime, now: datetime) -> AttentionEntry:
    return AttentionEntry(
        kind=AttentionKind.LATE,
        key=schedule_id,
        severity=Severity.ATTENTION,
        title=name,
        reason=f"was due {ago(now - due)} ago and has not started; check that a scheduler is running and keeping up",
        since=due,
        schedule_id=schedule_id,
        actions=[run_now(schedule_id)],
    )


def all_late(count: int, due: datetime, now: datetime) -> AttentionEntry:
    """One entry for many late schedules: they have one cause."""
    return AttentionEntry(
        kind=AttentionKind.LATE,
        key="all",
        severity=Severity.FAILED,
        title=f"{_counted(count, 'schedule')} overdue",
        reason=f"the first was due {ago(now - due)} ago; is a scheduler running? Start one: foliot scheduler",
        since=due,
        count=count,
    )


def missed(name: str, schedule_id: str, count: int, first: datetime, reason: str) -> AttentionEntry:
    policy = _POLICY.get(reason, "it is outside the catch-up window")
    return AttentionEntry(
        kind=AttentionKind.MISSED,
        key=schedule_id,
        severity=Severity.ATTENTION,
        title=name,
        reason=f"missed {_counted(count, 'scheduled time')}: no scheduler was running, and {policy}",
        since=first,
        count=count,
        schedule_id=schedule_id,
        actions=[run_now(schedule_id)],
    )


_POLICY = {
    "catchup_none": "catch-up is off",
    "catchup_latest": "catch-up runs only the latest",
    "catchup_all": "they are outside the catch-up window",
}


def dead_letters(count: int, most: int, alike: int, message: str, oldest: datetime, newest_id: str) -> AttentionEntry:
    number = f"at least {count}" if count == most else str(count)
    share = "" if count == 1 else "same error: " if alike == count else f"{alike} of them: "
    return AttentionEntry(
        kind=AttentionKind.DEAD_LETTERS,
        key="all",
        severity=Severity.DEAD,
        title=f"{number} dead letter{'' if count == 1 else 's'}",
        reason=f"{share}{message[:CUT] or 'all attempts failed'}",
        since=oldest,
        count=count,
        run_id=newest_id,
        q="state:dead_letter -resolved:true -muted:true",
        actions=[AttentionRequest("Review", "GET", "/api/dead-letters/groups", (Verb.READ, Thing.DEAD_LETTER))],
    )


def no_worker(queue: str, depth: int, oldest: datetime) -> AttentionEntry:
    return AttentionEntry(
        kind=AttentionKind.NO_WORKER,
        key=queue,
        severity=Severity.FAILED,
        title=f"No worker serves queue {queue}",
        reason=f"{_counted(depth, 'run')} {_waits(depth)}. Start one: foliot worker --queues {queue}",
        since=oldest,
        count=depth,
        queue=queue,
        q=f"queue:{queue} state:queued,retrying",
    )


def stalled(queue: str, depth: int, oldest: datetime, now: datetime, paused: str | None) -> AttentionEntry:
    """`paused`: the reason, or an empty text, when the queue is paused."""
    held = paused is not None
    waited = f"{_counted(depth, 'run')} {_waits(depth)}, the oldest for {ago(now - oldest)}"
    cause = f"it is paused{f' ({paused})' if paused else ''}" if held else "workers are not keeping up"
    resume = AttentionRequest("Resume", "POST", f"/api/queues/{queue}/resume", (Verb.WRITE, Thing.QUEUE))
    return AttentionEntry(
        kind=AttentionKind.STALLED_QUEUE,
        key=queue,
        severity=Severity.ATTENTION,
        title=f"Queue {queue} is paused" if held else f"Queue {queue} is falling behind",
        reason=f"{waited}: {cause}",
        since=oldest,
        count=depth,
        queue=queue,
        q=f"queue:{queue} state:queued,retrying",
        actions=[resume] if held else [],
    )


def lost_worker(worker: str, seen_at: datetime, in_flight: int, now: datetime) -> AttentionEntry:
    had = f" It had {_counted(in_flight, 'run')}, which other workers take over." if in_flight else ""
    return AttentionEntry(
        kind=AttentionKind.LOST_WORKER,
        key=worker,
        severity=Severity.ATTENTION,
        title=f"Worker {worker} stopped reporting",
        reason=f"last heartbeat {ago(now - seen_at)} ago, without a clean shutdown.{had}",
        since=seen_at,
        worker=worker,
    )


def damaged(name: str, schedule_id: str, fault: str, since: datetime | None) -> AttentionEntry:
    return AttentionEntry(
        kind=AttentionKind.DAMAGED,
        key=schedule_id,
        severity=Severity.FAILED,
        title=name,
        reason=f"its record is damaged, so it will not run until repaired: {fault[:CUT]}",
        since=since,
        schedule_id=schedule_id,
        actions=[
            AttentionRequest("Repair", "POST", f"/api/schedules/{schedule_id}/resume", (Verb.WRITE, Thing.SCHEDULE))
        ],
    )


def ahead(name: str, schedule_id: str) -> AttentionEntry:
    return AttentionEntry(
        kind=AttentionKind.AHEAD,
        key=schedule_id,
        severity=Severity.FAILED,
        title=name,
        reason="a clock that was ahead settled scheduled times too early; it will not run until realigned",
        since=None,
        schedule_id=schedule_id,
        actions=[
            AttentionRequest("Realign", "POST", f"/api/schedules/{schedule_id}/realign", (Verb.WRITE, Thing.SCHEDULE)),
        ],
    )


def all_ahead(count: int) -> AttentionEntry:
    return AttentionEntry(
        kind=AttentionKind.AHEAD,
        key="all",
        severity=Severity.FAILED,
        title=f"more than {_counted(count, 'schedule')} ahead of time",
        reason="a clock that was ahead settled scheduled times too early; they will not run until realigned",
        since=None,
        count=count,
        actions=[AttentionRequest("Realign all", "POST", "/api/schedules/realign", (Verb.WRITE, Thing.SCHEDULE))],
    )


_STANDING = {
    "store": "The database rejects requests",
    "clock": "The clock has jumped",
    "host": "A host occupies the slots",
}


def standstill(why: str, told: str, seconds: float, now: datetime) -> AttentionEntry:
    """A standstill; `told` is the message that this reader may see."""
    return AttentionEntry(
        kind=AttentionKind.STANDSTILL,
        key=why,
        severity=Severity.FAILED,
        title=_STANDING.get(why, "Nothing is running"),
        reason=f"{told}, for {ago(timedelta(seconds=seconds))}",
        since=now - timedelta(seconds=seconds),
    )


def run_now(schedule_id: str) -> AttentionRequest:
    return AttentionRequest("Run now", "POST", f"/api/schedules/{schedule_id}/run-now", (Verb.RUN, Thing.SCHEDULE))


def pause(schedule_id: str) -> AttentionRequest:
    return AttentionRequest("Pause", "POST", f"/api/schedules/{schedule_id}/pause", (Verb.WRITE, Thing.SCHEDULE))


def _again(run_id: str, state: RunState) -> AttentionRequest:
    if state is RunState.DEAD_LETTER:
        return AttentionRequest(
            "Replay", "POST", "/api/dead-letters/replay", (Verb.RUN, Thing.DEAD_LETTER), {"ids": [run_id]}
        )
    return AttentionRequest("Retry", "POST", f"/api/runs/{run_id}/retry", (Verb.RUN, Thing.RUN))


def _why(message: str) -> str:
    return f": {message[:CUT]}" if message else ""


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _waits(count: int) -> str:
    return "waits" if count == 1 else "wait"


def ago(length: timedelta) -> str:
    """In the largest sensible unit: 42 s, 7 min, 3 h, 2 d."""
    seconds = max(int(length.total_seconds()), 0)
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _newest(moment: datetime | None) -> float:
    return 0.0 if moment is None else -moment.timestamp()
