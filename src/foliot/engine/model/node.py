"""The processes of a house: what an operator may ask of one, and how it stands."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

SEEN = timedelta(seconds=30)
"""A process that reported within this time counts as alive."""


class Role(StrEnum):
    """What a process is for."""

    UP = "up"
    """Everything, embedded."""
    SCHEDULER = "scheduler"
    WORKER = "worker"


class Wish(StrEnum):
    """What an operator asks of a process: take no new runs, and, to restart, leave when idle and come back."""

    DRAIN = "drain"
    RESTART = "restart"


class NodeState(StrEnum):
    """How a process stands, as far as its reports tell."""

    LIVE = "live"
    STALE = "stale"
    """Its reports stopped; it is forgotten after a day."""
    DRAINING = "draining"


def state_of(seen_at: datetime, wish: str | None, now: datetime) -> NodeState:
    """Silence outweighs a wish: nobody knows what a silent process does."""
    if now - seen_at > SEEN:
        return NodeState.STALE
    return NodeState.LIVE if wish is None else NodeState.DRAINING
