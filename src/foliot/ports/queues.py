"""What is said of queues, and what is under way in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Queue:
    """What is said of one queue. A queue of which nothing is said runs."""

    name: str
    paused_at: datetime | None = None
    paused_by: str = ""
    reason: str = ""


class Queues(Protocol):
    """Queues belong to the house: pausing one holds for every tenant."""

    async def said(self) -> Sequence[Queue]:
        """Those of which something is said, by name."""
        ...

    async def get(self, name: str, *, lock: bool = False) -> Queue:
        """Also of a queue of which nothing is said."""
        ...

    async def close(self, name: str) -> None:
        """Wait for the claims under way in this queue, and let no other begin until the transaction ends."""
        ...

    async def put(self, queue: Queue) -> None: ...

    async def forget_offers(self, name: str) -> None:
        """What the broker was told of this queue's waiting runs counts no more: they are offered anew."""
        ...

    async def in_flight(self, tenant_id: str | None = None) -> Mapping[str, int]:
        """How many runs of each queue run now; read through an index."""
        ...
