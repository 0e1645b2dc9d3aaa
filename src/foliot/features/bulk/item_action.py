"""What is asked of whoever acts on one thing of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from foliot.db.transaction import Transaction
from foliot.features.bulk.model.bulk import Bulk


@dataclass(frozen=True, slots=True)
class Done:
    """What acting on one thing did: the run it made, if it made one, and whom to wake once it is committed."""

    run_id: str | None = None
    topics: Sequence[str] = ()


class Errand(Protocol):
    """Acts on one thing after the other, on behalf of whoever asked."""

    async def do(self, tx: Transaction, thing_id: str, now: datetime) -> Done:
        """Inside the caller's transaction. Raises what asking for this one thing would raise."""
        ...


class Hands(Protocol):
    """Knows how to act on things."""

    async def take(self, bulk: Bulk) -> Errand:
        """Get ready, outside any transaction."""
        ...
