"""A message of the broker: run ids of one queue, sent together. A hint; the row decides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

PARCEL = 50
"""How many runs travel together at most."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """Runs of one queue that travel together, at the urgency of the most urgent."""

    queue: str
    priority: int
    """1 is the most urgent, 10 the least."""
    run_ids: Sequence[str]
    offered_at: datetime
    """The mark that their rows carry: whoever returns them takes back this mark, and no later one."""


Receive = Callable[[Parcel], Awaitable[None]]
