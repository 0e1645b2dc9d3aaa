"""Judges the outcome of an attempt. Every way an attempt can end is one case here.

A parked attempt has not ended: there is nothing to judge yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.engine.model.retry import RetryAt, RetryPolicy
from foliot.engine.model.run import AttemptError, Cancelled, Ended, Failed, HandedBack, Lost, RunState, Succeeded


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """What the judgement needs to know about the attempt."""

    run_id: str
    attempt: int
    max_attempts: int
    policy: RetryPolicy
    cancel_requested: bool = False
    replay: bool = False
    """Whether it replays a dead letter, which stays until a replay succeeds."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The run's next state, and what to store about the attempt."""

    state: RunState
    outcome: str
    result: Any = None
    error: Mapping[str, Any] | None = None
    response: Mapping[str, Any] | None = None
    ready_at: datetime | None = None
    refund: bool = False


def judge(tried: AttemptFacts, outcome: Ended, now: datetime) -> Verdict:
    """A success takes precedence over a late cancellation; a cancellation takes precedence over a retry."""
    match outcome:
        case Succeeded(result=result, partial=partial, response=response):
            state = RunState.PARTIAL if partial else RunState.SUCCESS
            return Verdict(state, state.value, result=result, response=response)
        case Cancelled(reason=reason):
            return Verdict(RunState.CANCELLED, "cancelled", error=AttemptError("cancelled", reason).as_dict())
        case HandedBack(reason=reason):
            error = AttemptError("handed_back", reason).as_dict()
            return Verdict(RunState.QUEUED, "handed_back", error=error, ready_at=now, refund=True)
        case Failed(problem=problem, response=response):
            return _failure(tried, outcome, "failed", problem, response, now)
        case Lost(problem=problem):
            return _failure(tried, outcome, "lost", problem, None, now)


def _failure(
    tried: AttemptFacts,
    failure: Failed | Lost,
    word: str,
    problem: AttemptError,
    response: Mapping[str, Any] | None,
    now: datetime,
) -> Verdict:
    error = problem.as_dict()
    if tried.cancel_requested:
        return Verdict(RunState.CANCELLED, "cancelled", error=error, response=response)
    decision = tried.policy.decide(tried.run_id, tried.attempt, tried.max_attempts, failure, now)
    if isinstance(decision, RetryAt):
        return Verdict(RunState.RETRYING, word, error=error, response=response, ready_at=decision.moment)
    state = given_up(replay=tried.replay) if decision.dead_letter else RunState.FAILED
    return Verdict(state, word, error=error, response=response)


def given_up(*, replay: bool) -> RunState:
    """The state of a run that fails permanently; the dead letter of a replay still exists."""
    return RunState.FAILED if replay else RunState.DEAD_LETTER
