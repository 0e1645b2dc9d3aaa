"""Requests and answers of workers."""

from __future__ import annotations

from datetime import datetime

from foliot.engine.model.node import NodeRequest, NodeState
from foliot.servers.http.schema import declared


@declared
class WorkerStatus:
    """One process, as it reported last."""

    id: str
    role: str
    host: str
    pid: int | None
    started_at: datetime
    seen_at: datetime
    state: NodeState
    """`stale` when it has not reported for 30 s; it is forgotten after a day. `draining` when it was asked to leave."""
    wish: NodeRequest | None
    """What was asked of it."""
    slots: int
    """How many runs it executes at once; 0 for one that only fires."""
    free: int
    in_flight: int
    queues: list[str] | None
    """The queues it takes runs from; null is every queue."""


@declared
class WorkerPage:
    """Every process that reported within the last day."""

    items: list[WorkerStatus]
    next_cursor: str | None
