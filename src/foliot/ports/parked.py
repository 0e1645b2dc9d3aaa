"""Runs whose effect goes on elsewhere: parked, looked at when their moment comes, and parked again or ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from foliot.domain.event import Line
from foliot.domain.run import Fence, RunState
from foliot.ports.views import Claimed


@dataclass(frozen=True, slots=True, kw_only=True)
class Parking:
    """A run that is left alone until `poll_at`, ready to be written: its handle, lines and items move together."""

    fence: Fence
    handle: Mapping[str, Any]
    poll_at: datetime
    at: datetime
    lines: Sequence[Line] = ()
    items: Sequence[Any] = ()
    cancelling: bool = False
    """Whoever parks it knows that somebody asked for an end."""
    given_up: RunState = RunState.DEAD_LETTER
    """As in `Ending`."""


@dataclass(frozen=True, slots=True)
class Coming:
    """Parked runs whose moment has come, the longest overdue first, and when the first of the others is due."""

    due: Sequence[str] = ()
    next_at: datetime | None = None


class Parkings(Protocol):
    """Runs that are looked at from time to time."""

    async def note(self, fence: Fence, handle: Mapping[str, Any]) -> bool:
        """Keep a handle before the effect starts; False when the fence no longer holds."""
        ...

    async def coming(self, kind: str, queues: Collection[str] | None, now: datetime, limit: int) -> Coming: ...

    async def claim(
        self, run_ids: Sequence[str], worker: str, lease: timedelta, now: datetime, token: str
    ) -> list[Claimed]:
        """Take those that nobody else took first. Their attempt goes on: nothing is told, and none is used up.

        One whose last holder vanished is taken alone: should it be to blame, it takes no other with it.
        """
        ...

    async def held(self, run_ids: Sequence[str], token: str) -> list[Claimed]:
        """Which of these are in the hands of this token, for whom the acknowledgement of a claim was lost."""
        ...

    async def park(self, parkings: Sequence[Parking], now: datetime) -> set[str]:
        """Write them down; answers the ids whose fence held. Written twice is written once."""
        ...

    async def take_back(self, lost: Sequence[Claimed], now: datetime) -> int:
        """Park runs again whose holder vanished, to be looked at now; no attempt is used up."""
        ...

    async def let_go(self, fences: Sequence[Fence]) -> int:
        """The effects of these ended runs are gone: nobody looks at them any more. Answers how many fences held."""
        ...
