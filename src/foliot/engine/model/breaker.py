"""Circuit breaker: a target that fails repeatedly gets no more runs, except for a trial now and then.

    closed ── FAILURES in a row ──▶ open ── its wait is over ──▶ half open, one trial under way
       ▲                             ▲                                │
       └──────── an answer ──────────┼────────────────────────────────┤
                                     └── the trial failed too, the wait doubles ◀─┘

Times are monotonic: setting a clock neither opens nor closes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from foliot.core.document import rfc3339

BREAKERS = "breakers"
"""The key of open breakers in the report of a process."""
FAILURES = 5
"""Consecutive failures that open it."""
WAIT = 30.0
"""Seconds from its opening to the first trial."""
SILENCE = 1 / 3
"""The part of its wait for which the target must have been silent before it opens."""
LONGEST = 300.0
"""Seconds between two trials at most."""


class BreakerState(StrEnum):
    """The state of a breaker."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(slots=True)
class Breaker:
    """The breaker of one tenant and one target, in one process."""

    most: int = FAILURES
    first: float = WAIT
    failures: int = 0
    """In a row."""
    silent_since: float = 0.0
    """When the first of them began."""
    why: str = ""
    """The message of the last failure."""
    opened_at: datetime | None = None
    trial_at: float = 0.0
    wait: float = 0.0
    trial: str | None = None
    """The trial run."""

    @property
    def state(self) -> BreakerState:
        if self.opened_at is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if self.trial is None else BreakerState.HALF_OPEN

    def admits(self, now: float) -> bool:
        """Whether a run is admitted: any while it is closed, one when its trial is due."""
        return self.opened_at is None or (self.trial is None and now >= self.trial_at)

    def begun(self, run_id: str) -> None:
        """A run starts: while it is open, as its trial."""
        if self.opened_at is not None and self.trial is None:
            self.trial = run_id

    def left(self, run_id: str) -> None:
        """A run ended without saying anything about its target, for example because it was cancelled."""
        if self.trial == run_id:
            self.trial = None

    def failed(self, run_id: str, why: str, began: float, now: float, at: datetime) -> None:
        """The target did not answer. Runs that started before it opened neither prolong nor end its wait."""
        self.silent_since = min(self.silent_since, began) if self.failures else began
        self.failures += 1
        self.why = why
        if self.opened_at is None:
            self.trial_at = now + self.first
            # A restarting target refuses many runs within a moment, and is back before the next.
            if self.failures >= self.most and now - self.silent_since >= self.first * SILENCE:
                self.opened_at, self.wait = at, self.first
        elif self.trial == run_id:
            self.trial = None
            self.wait = min(self.wait * 2, max(LONGEST, self.first))
            self.trial_at = now + self.wait


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBreakerReport:
    """An open or half-open breaker, as a process reports it."""

    tenant_id: str
    target: str
    state: BreakerState
    since: datetime
    failures: int
    why: str
    next_trial_at: datetime | None
    """None while a trial is under way."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "tenant_id": self.tenant_id,
            "target": self.target,
            "state": self.state.value,
            "since": rfc3339(self.since),
            "failures": self.failures,
            "why": self.why,
            "next_trial_at": rfc3339(self.next_trial_at),
        }

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> OpenBreakerReport:
        trial = raw["next_trial_at"]
        return cls(
            tenant_id=str(raw["tenant_id"]),
            target=str(raw["target"]),
            state=BreakerState(raw["state"]),
            since=datetime.fromisoformat(raw["since"]),
            failures=int(raw["failures"]),
            why=str(raw["why"]),
            next_trial_at=None if trial is None else datetime.fromisoformat(trial),
        )

    def beside(self, other: OpenBreakerReport) -> OpenBreakerReport:
        """The same target as seen by two processes: open since the first, until the next of their trials."""
        trials = [one.next_trial_at for one in (self, other) if one.next_trial_at is not None]
        later = max(self, other, key=lambda one: (one.failures, one.since))
        trying = BreakerState.HALF_OPEN in {self.state, other.state}
        return OpenBreakerReport(
            tenant_id=self.tenant_id,
            target=self.target,
            state=BreakerState.HALF_OPEN if trying else BreakerState.OPEN,
            since=min(self.since, other.since),
            failures=self.failures + other.failures,
            why=later.why,
            next_trial_at=None if trying else min(trials, default=None),
        )


def shown(breaker: Breaker, tenant_id: str, target: str, now: float, at: datetime) -> OpenBreakerReport | None:
    """An open one for people, whose clock shows `at` when ours shows `now`."""
    if breaker.opened_at is None:
        return None
    trial_at = at + timedelta(seconds=max(breaker.trial_at - now, 0.0))
    return OpenBreakerReport(
        tenant_id=tenant_id,
        target=target,
        state=breaker.state,
        since=breaker.opened_at,
        failures=breaker.failures,
        why=breaker.why,
        next_trial_at=None if breaker.trial is not None else trial_at,
    )
