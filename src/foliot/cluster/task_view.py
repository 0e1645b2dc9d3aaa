"""A run as the tools of a broker see it: a task that is received, starts and ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredTask:
    """One attempt of a run in this process."""

    run_id: str
    name: str
    """Its kind and its schedule, in place of a task's name."""
    queue: str
    attempt: int
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredTaskEnd:
    """How an attempt ended, as it was stored."""

    state: str
    at: datetime
    result: object
    error: Mapping[str, Any] | None
