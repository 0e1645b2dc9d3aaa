"""Ports that every layer uses: the clock, and back-pressure."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The current time. Production follows the database's clock; tests stop it."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...


class BackPressure(Protocol):
    """Back-pressure: an action that logs much waits here, so that no line has to be dropped."""

    async def __call__(self) -> None:
        """Returns when more lines can be taken."""
        ...


async def no_back_pressure() -> None:
    """Never waits; for callers that store no lines."""
