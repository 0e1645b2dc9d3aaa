"""How often the loops of a process turn, and how long leases last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast the engine's clockwork turns; `scale` below 1 makes faults heal sooner, for tests that cause them."""

    tick: float = 1.0
    batch: int = 1000
    lease: float = 30.0
    heartbeat: float = 10.0
    sweep: float = 5.0
    scale: float = 1.0
    gather: float = 0.015
    """How long little work waits for company, when it comes in quick succession."""
    retention: timedelta | None = timedelta(days=30)
