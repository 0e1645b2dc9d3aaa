"""Explains one run: where it came from, what it waits or waited for, its attempts, and its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from foliot.engine.model.queue import QueuePause
from foliot.engine.model.run import CLAIMABLE, Origin, RunState
from foliot.engine.model.schedule import ScheduleSpec
from foliot.engine.model.views import AttemptView, RunView
from foliot.features.explanations.model.facts import Fact, FactCode, clock, span_of_time

LOST = "lost"
SLOW_START = 1.0
"""Seconds after which a wait is worth a fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvidence:
    """What is stored about a run and what it depends on."""

    run: RunView
    zone: str = "UTC"
    spec: ScheduleSpec | None = None
    """The version of its schedule that made it."""
    parents: Sequence[RunView] = ()
    """The runs whose ends made it."""
    predecessor: RunView | None = None
    """The open run that it waits for."""
    pause: QueuePause | None = None
    """Of its queue, when that is paused."""
    workers: int | None = None
    """Live processes that take its queue; None where nobody asked, since it does not wait."""
    running: int = 0
    """Runs of its tenant that run now."""
    cap: int | None = None
    """How many of them may."""
    operator: bool = False
    """Whether the caller may see who paused a queue, and why."""


def explain_run(known: RunEvidence, now: datetime) -> Iterator[Fact]:
    """The facts, oldest first."""
    yield _origin(known)
    yield from _delays(known)
    for attempt in known.run.attempts:
        if attempt.outcome == LOST:
            yield _lost(known, attempt)
        elif attempt.retry_at is not None:
            yield _retried(known, attempt)
    yield from _standing(known, now)


def _origin(known: RunEvidence) -> Fact:
    run, spec = known.run, known.spec
    proof: dict[str, object] = {"run_id": run.id}
    if run.schedule_id is not None:
        proof |= {"schedule_id": run.schedule_id, "version": run.version}
    if run.scheduled_for is not None:
        rule = "" if spec is None else f" ({spec.trigger.summary})"
        words = f"The trigger{rule} named {clock(run.scheduled_for, known.zone)}: run {run.id} was created for it."
        return Fact(run.created_at, FactCode.FIRED, words, proof)
    if known.parents:
        named = ", ".join(f"{one.id} ({one.state.value})" for one in known.parents)
        words = f"Run {run.id} was created because run {named} ended."
        return Fact(
            run.created_at, FactCode.FOLLOWED, words, {**proof, "parent_ids": [one.id for one in known.parents]}
        )
    who = f" by {run.user_id}" if run.user_id else ""
    if run.origin is not Origin.MANUAL and run.parent_id is not None:
        words = f"Run {run.id} was requested{who} to repeat run {run.parent_id}."
        return Fact(run.created_at, FactCode.REPEATED, words, {**proof, "parent_id": run.parent_id})
    return Fact(run.created_at, FactCode.REQUESTED, f"Run {run.id} was requested{who}.", proof)


def _delays(known: RunEvidence) -> Iterator[Fact]:
    """Why it was created or ready later than its scheduled time."""
    run, spec, zone = known.run, known.spec, known.zone
    if run.scheduled_for is None or spec is None:
        return
    late = (run.created_at - run.scheduled_for).total_seconds()
    if late >= spec.catchup.grace_seconds:
        words = (
            f"It was created {span_of_time(late)} late, after an outage: catch-up `{spec.catchup.mode.value}` allows "
            f"that within {spec.catchup.window_seconds} s."
        )
        if run.catchup and run.ready_at > run.created_at:
            words += f" It is released at {clock(run.ready_at, zone)}, at the rate for such runs, behind those on time."
        yield Fact(run.created_at, FactCode.CAUGHT_UP, words, {"run_id": run.id})
    ready = spec.ready_at(run.schedule_id or "", run.scheduled_for)
    if ready > run.scheduled_for:
        words = f"Jitter of up to {spec.jitter_seconds} s moved its start to {clock(ready, zone)}."
        yield Fact(ready, FactCode.JITTERED, words, {"run_id": run.id, "version": run.version})


def _lost(known: RunEvidence, attempt: AttemptView) -> Fact:
    worker = f" {attempt.worker}" if attempt.worker else ""
    words = (
        f"Attempt {attempt.number} was lost at {clock(attempt.ended_at, known.zone)}: its worker{worker} stopped "
        "renewing the lease."
    )
    proof = {"run_id": known.run.id, "epoch": attempt.epoch, "worker": attempt.worker}
    return Fact(attempt.ended_at, FactCode.WORKER_LOST, words, proof)


def _retried(known: RunEvidence, attempt: AttemptView) -> Fact:
    reason = _reason(attempt.error)
    when = "" if attempt.retry_at is None else f"; the next one was due at {clock(attempt.retry_at, known.zone)}"
    words = f"Attempt {attempt.number} of {known.run.max_attempts} failed{reason}{when}."
    return Fact(attempt.ended_at, FactCode.RETRYING, words, {"run_id": known.run.id, "epoch": attempt.epoch})


def _standing(known: RunEvidence, now: datetime) -> Iterator[Fact]:
    """How it ended, or what it does or waits for now."""
    run = known.run
    if run.finished_at is not None:
        yield _ended(known)
    elif run.state is RunState.RUNNING:
        since = run.started_at or run.created_at
        by = f" by {run.worker}" if run.worker else ""
        words = f"It is running{by} since {clock(since, known.zone)}, attempt {run.attempt} of {run.max_attempts}."
        yield Fact(since, FactCode.RUNNING, words, {"run_id": run.id, "worker": run.worker})
    else:
        yield from _waits(known, now)


def _ended(known: RunEvidence) -> Fact:
    run = known.run
    ended = run.finished_at or run.created_at
    began = "" if run.started_at is None else f" after {span_of_time((ended - run.started_at).total_seconds())}"
    state = run.state.value.replace("_", " ")
    by = f", and was repeated by run {run.resolved_by}" if run.resolved_by else ""
    words = f"It ended as {state} at {clock(ended, known.zone)}{began}{_reason(run.error)}{by}."
    proof: dict[str, object] = {"run_id": run.id, "state": run.state.value}
    if run.error is not None:
        proof["error"] = run.error.get("code")
    return Fact(ended, FactCode.ENDED, words, proof)


def _waits(known: RunEvidence, now: datetime) -> Iterator[Fact]:
    """What a run that has not started waits for; several things may hold it at once."""
    run, proof = known.run, {"run_id": known.run.id}
    if run.buffered:
        other = known.predecessor
        which = "an earlier run of its schedule" if other is None else f"run {other.id} ({other.state.value})"
        waits_for = proof if other is None else {**proof, "predecessor": other.id}
        yield Fact(None, FactCode.WAITING_PREDECESSOR, f"It waits until {which} has ended.", waits_for)
        return
    if known.pause is not None:
        yield _paused(known, known.pause)
    if known.workers == 0 and run.ready_at <= now:
        words = f"No live worker takes runs of the queue {run.queue}."
        yield Fact(None, FactCode.WAITING_NO_WORKER, words, {**proof, "queue": run.queue})
    if known.cap is not None and known.running >= known.cap:
        words = f"{known.running} runs of the tenant are running, which is its limit (concurrent_runs {known.cap})."
        yield Fact(None, FactCode.WAITING_CAP, words, {**proof, "running": known.running, "limit": known.cap})
    if run.waiting is not None:
        reason = str(run.waiting.get("message", "")).rstrip(".")
        words = f"{reason}. It is offered again at {clock(run.ready_at, known.zone)}."
        yield Fact(None, FactCode.WAITING_HOST, words, {**proof, "code": run.waiting.get("code")})
    elif run.state is RunState.RETRYING or run.ready_at > now:
        words = f"It may start at {clock(run.ready_at, known.zone)}."
        yield Fact(run.ready_at, FactCode.RETRYING if run.attempts else FactCode.PLANNED, words, proof)
    elif run.state in CLAIMABLE and known.pause is None and known.workers:
        waits = span_of_time(max((now - run.ready_at).total_seconds(), 0))
        words = (
            f"It has been ready for {waits} in the queue {run.queue} with priority {run.priority}, behind other runs."
        )
        yield Fact(run.ready_at, FactCode.WAITING_TURN, words, {**proof, "queue": run.queue, "priority": run.priority})


def _paused(known: RunEvidence, pause: QueuePause) -> Fact:
    when = "" if pause.paused_at is None else f" since {clock(pause.paused_at, known.zone)}"
    by = f" by {pause.paused_by}" if known.operator and pause.paused_by else ""
    reason = f" ({pause.reason})" if known.operator and pause.reason else ""
    words = f"The queue {pause.name} is paused{when}{by}{reason}."
    return Fact(pause.paused_at, FactCode.WAITING_QUEUE_PAUSED, words, {"run_id": known.run.id, "queue": pause.name})


def _reason(error: object) -> str:
    """The first sentence of an error, behind a colon."""
    message = error.get("message") if isinstance(error, dict) else None
    return f": {str(message).rstrip('.')}" if message else ""
