"""Judges the outcome of an attempt. Every way an attempt can end is one case here.

A parked attempt has not ended: there is nothing to judge yet.

The retry policy: whether a failed attempt is retried, and when.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from annotated_types import Interval

from foliot.core.declaration import Described, Parsed, Wire, declared, read_fields
from foliot.core.errors import Invalid
from foliot.engine.model.run import AttemptError, Cancelled, Ended, Failed, HandedBack, Lost, RunState, Succeeded

MAX_RETRIES = 100
MAX_DELAY = 7 * 24 * 3600.0
LONGEST_DELAY = 600.0
"""Default of `max_delay_seconds`."""
RETRY_AFTER_CAP = timedelta(hours=1)
"""Upper limit for the Retry-After of a target."""


class BackoffStrategy(StrEnum):
    """How the delay grows from one retry to the next."""

    EXPONENTIAL = "exponential"
    LINEAR = "linear"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Retry at this moment."""

    moment: datetime


@dataclass(frozen=True, slots=True)
class NoRetry:
    """Do not retry; keep the payload when a dead letter is wanted."""

    dead_letter: bool


_FIRST = Described({"description": "3 means one first attempt and three retries."})
_FINAL = Described({"description": "Whether a final failure becomes a dead letter; otherwise the run is `failed`."})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`max_retries` = 3 means one first attempt and three more."""

    strategy: BackoffStrategy = BackoffStrategy.EXPONENTIAL
    max_retries: Annotated[int, Interval(ge=0, le=MAX_RETRIES), _FIRST] = 3
    delay_seconds: Annotated[float, Interval(ge=0, le=MAX_DELAY)] = 10.0
    max_delay_seconds: Annotated[float, Interval(ge=0, le=MAX_DELAY)] = LONGEST_DELAY
    jitter: Annotated[float, Interval(ge=0, le=1)] = 0.1
    dead_letter: Annotated[bool, _FINAL] = True

    @property
    def max_attempts(self) -> int:
        return self.max_retries + 1

    def delay(self, retry: int) -> float:
        """Seconds before retry number `retry` (1 is the first), before jitter."""
        return min(self.delay_seconds * self._growth(retry), self.max_delay_seconds)

    def _growth(self, retry: int) -> float:
        match self.strategy:
            case BackoffStrategy.EXPONENTIAL:
                # 2**62 overflows no float, and the cap wins long before.
                return 2.0 ** min(retry - 1, 62)
            case BackoffStrategy.LINEAR:
                return float(retry)
            case BackoffStrategy.FIXED:
                return 1.0

    def decide(
        self, run_id: str, attempt: int, max_attempts: int, failure: Failed | Lost, now: datetime
    ) -> RetryAt | NoRetry:
        """The decision after failure number `attempt` of this run; deterministic."""
        permanent = isinstance(failure, Failed) and failure.permanent
        if permanent or attempt >= max_attempts:
            return NoRetry(self.dead_letter)
        if isinstance(failure, Lost):
            # The run is not at fault, and its lease has made it wait already.
            return RetryAt(now)
        if failure.retry_after is not None and failure.retry_after > timedelta(0):
            return RetryAt(now + min(failure.retry_after, RETRY_AFTER_CAP))
        spread = 1.0 + self.jitter * random.Random(f"{run_id}:{attempt}").uniform(-1, 1)  # noqa: S311 -- spreads load, guards nothing
        return RetryAt(now + timedelta(seconds=min(self.delay(attempt) * spread, self.max_delay_seconds)))

    def as_dict(self) -> dict[str, Any]:
        return {
            "strategy": self.strategy.value,
            "max_retries": self.max_retries,
            "delay_seconds": self.delay_seconds,
            "max_delay_seconds": self.max_delay_seconds,
            "jitter": self.jitter,
            "dead_letter": self.dead_letter,
        }

    @classmethod
    def from_dict(cls, raw: object) -> RetryPolicy:
        """Parses a policy; missing fields keep their defaults."""
        given = read_fields(RetryPolicy, raw, "retry_policy")
        given.setdefault("max_delay_seconds", max(given.get("delay_seconds", 0.0), LONGEST_DELAY))
        policy = RetryPolicy(**given)
        if policy.max_delay_seconds < policy.delay_seconds:
            raise Invalid(
                "retry_policy.max_delay_seconds", "must not be less than delay_seconds", got=policy.max_delay_seconds
            )
        return policy


@declared(frozen=True)
class RetrySettings(RetryPolicy):
    """Delay before retry n: exponential delay·2^(n-1), linear delay·n, fixed delay."""


RetryField = Annotated[RetryPolicy, Wire(RetrySettings | None), Parsed(lambda _, got: RetryPolicy.from_dict(got))]
"""The retry policy of a request or of a stored spec."""


@dataclass(slots=True)
class AttemptFacts:
    """What the judgement needs to know about the attempt; not frozen, as a claimed run."""

    run_id: str
    attempt: int
    max_attempts: int
    policy: RetryPolicy
    cancel_requested: bool = False
    replay: bool = False
    """Whether it replays a dead letter, which stays until a replay succeeds."""


@dataclass(slots=True)
class Verdict:
    """The run's next state, and what to store about the attempt; not frozen, as a claimed run."""

    state: RunState
    outcome: str
    result: Any = None
    error: Mapping[str, Any] | None = None
    response: Mapping[str, Any] | None = None
    ready_at: datetime | None = None
    refund: bool = False
    changed: bool = False


def judge(tried: AttemptFacts, outcome: Ended, now: datetime) -> Verdict:
    """A success takes precedence over a late cancellation; a cancellation takes precedence over a retry."""
    match outcome:
        case Succeeded(result=result, degraded=AttemptError() as broken, response=response, changed=changed):
            state, error = RunState.DEGRADED, broken.as_dict()
            return Verdict(state, state.value, result=result, error=error, response=response, changed=changed)
        case Succeeded(result=result, partial=partial, response=response, changed=changed):
            state = RunState.PARTIAL if partial else RunState.SUCCESS
            return Verdict(state, state.value, result=result, response=response, changed=changed)
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
