"""Response schemas of worker and scheduler processes."""

from __future__ import annotations

from datetime import datetime

from foliot.core.declaration import declared
from foliot.engine.model.node import NodeRequest, NodeState


@declared
class WorkerStatus:
    """One process, by its last report."""

    id: str
    role: str
    host: str
    pid: int | None
    started_at: datetime
    seen_at: datetime
    state: NodeState
    """`stale` without a report for 30 s; deleted after a day. `draining` once it was asked to drain or restart."""
    wish: NodeRequest | None
    """The pending request: drain or restart."""
    slots: int
    """How many runs it executes at once; 0 for a process that only fires."""
    free: int
    in_flight: int
    queues: list[str] | None
    """The queues it takes runs from; null is every queue."""


@declared
class WorkerPage:
    """Every process that reported within the last day."""

    items: list[WorkerStatus]
    next_cursor: str | None
