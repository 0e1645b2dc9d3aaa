"""Nodes: the processes of an installation, their state, and requests of an operator to one."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

SEEN = timedelta(seconds=30)
"""A process that reported within this time counts as alive."""


class NodeRole(StrEnum):
    """The role of a process."""

    UP = "up"
    """Everything, embedded."""
    SCHEDULER = "scheduler"
    WORKER = "worker"


class NodeRequest(StrEnum):
    """An operator's request to a process: take no new runs, and, to restart, exit when idle and come back."""

    DRAIN = "drain"
    RESTART = "restart"


class NodeState(StrEnum):
    """The state of a process, from its reports."""

    LIVE = "live"
    STALE = "stale"
    """Its reports stopped; it is forgotten after a day."""
    DRAINING = "draining"


def state_of(seen_at: datetime, wish: str | None, now: datetime) -> NodeState:
    """Silence takes precedence over a request: the state of a silent process is unknown."""
    if now - seen_at > SEEN:
        return NodeState.STALE
    return NodeState.LIVE if wish is None else NodeState.DRAINING
