"""The kinds of schedules a campaign makes, and what each may do with an instant instead of running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

ALL: Mapping[str, Any] = {"mode": "all", "max_runs": 1000}


@dataclass(frozen=True, slots=True)
class Kind:
    """`reasons` are the lines of the ledger it may have; only where it `cancels` may a run end cancelled unasked."""

    share: float
    every: int = 2
    overlap: str = "allow_all"
    catchup: Mapping[str, Any] = field(default_factory=lambda: ALL)
    reasons: frozenset[str] = frozenset()
    cancels: bool = False
    cron: bool = False
    fails: bool = False
    """Whether its target refuses every call."""

    @property
    def latest(self) -> float | None:
        """How many seconds late an instant may be and still become a run, where that is bounded."""
        return self.catchup.get("window_seconds" if self.catchup["mode"] != "none" else "grace_seconds")

    @property
    def runs_all(self) -> bool:
        """Whether every instant must become a run."""
        return not self.reasons


KINDS: Mapping[str, Kind] = {
    "steady": Kind(0.42),
    "cron": Kind(0.12, cron=True),
    "skip": Kind(0.08, every=1, overlap="skip", reasons=frozenset({"overlap"})),
    "buffer_one": Kind(0.06, overlap="buffer_one", reasons=frozenset({"overlap"})),
    "buffer_all": Kind(0.06, overlap="buffer_all", reasons=frozenset({"buffer_full"})),
    "cancel_other": Kind(0.06, overlap="cancel_other", reasons=frozenset({"superseded"}), cancels=True),
    "terminate_other": Kind(0.06, overlap="terminate_other", reasons=frozenset({"superseded"}), cancels=True),
    "failing": Kind(0.04, fails=True),
    "none": Kind(0.05, catchup={"mode": "none", "grace_seconds": 1}, reasons=frozenset({"catchup_none"})),
    "latest": Kind(0.05, catchup={"mode": "latest", "grace_seconds": 1}, reasons=frozenset({"catchup_latest"})),
    "bounded": Kind(
        0.04,
        catchup={"mode": "all", "max_runs": 3, "grace_seconds": 1, "window_seconds": 2},
        reasons=frozenset({"catchup_all"}),
    ),
}


def cast(rate: float) -> list[str]:
    """As many schedules of each kind as make this many instants a second together; one of each at least."""
    return [name for name, kind in KINDS.items() for _ in range(max(1, round(rate * kind.share * kind.every)))]


def rule(kind: Kind, start: datetime, place: int, every: int | None = None) -> dict[str, Any]:
    """A rule for the oracle; `place` spreads schedules over the seconds."""
    every = every or kind.every
    if kind.cron:
        return {"cron": f"{place % every}-59/{every} * * * * *"}
    anchor = start + timedelta(seconds=(place * 0.137) % every)
    return {"every": every, "anchor": anchor.isoformat()}


def timing(found: Mapping[str, Any]) -> dict[str, Any]:
    """The same rule in the words of the API."""
    if "cron" in found:
        return {"type": "cron", "cron_expr": found["cron"], "timezone": "UTC"}
    made = {"type": "interval", "interval_seconds": found["every"], "start_at": found["anchor"]}
    return {**made, "end_at": found["end"]} if "end" in found else made


def held(name: str, url: str) -> dict[str, Any]:
    """A schedule that only runs by hand, fails, and tries again after a minute: its runs wait."""
    return {
        "name": name,
        "type": "oneoff",
        "run_at": "2999-01-01T00:00:00Z",
        "action": {"kind": "webhook", "url": f"{url}/fail"},
        "retry_policy": {"strategy": "fixed", "max_retries": 2, "delay_seconds": 60, "jitter": 0},
        "overlap": "allow_all",
    }


def document(name: str, kind: Kind, found: Mapping[str, Any], url: str) -> dict[str, Any]:
    retries = 2 if kind.fails else 50
    return {
        "name": name,
        **timing(found),
        "action": {"kind": "webhook", "url": f"{url}/fail" if kind.fails else url},
        "retry_policy": {"strategy": "fixed", "max_retries": retries, "delay_seconds": 0.2, "jitter": 0},
        "overlap": kind.overlap,
        "catchup": dict(kind.catchup),
    }
