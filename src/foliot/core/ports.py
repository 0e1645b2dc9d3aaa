"""What code of every layer is given: a clock, and back-pressure."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """What time it is. Production follows the database's clock; tests stop it."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...


class Room(Protocol):
    """Back-pressure: where an action that says much waits, so that no line has to be left out."""

    async def __call__(self) -> None:
        """Returns when more lines can be taken."""
        ...


async def always_room() -> None:
    """For whoever keeps nothing."""
