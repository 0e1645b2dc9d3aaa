"""What a broker carries: messages with run ids of a queue (hints; the row decides), and runs as its tools see them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

PARCEL = 50
"""Maximum number of run ids per message."""


@dataclass(frozen=True, slots=True)
class BrokerMessage:
    """Run ids of one queue, at the priority of the most urgent."""

    queue: str
    priority: int
    """1 is the most urgent, 10 the least."""
    run_ids: Sequence[str]
    offered_at: datetime
    """The publication mark on their rows: returning them clears this mark, and no later one."""


Receive = Callable[[BrokerMessage], Awaitable[None]]


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
