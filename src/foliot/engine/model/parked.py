"""Parked runs: their effect continues elsewhere; they are checked when due, and parked again or ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.engine.model.event import EventLine
from foliot.engine.model.run import Fence, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedUpdate:
    """A run to be parked until `poll_at`: its handle, lines and items are written together."""

    fence: Fence
    handle: Mapping[str, Any]
    poll_at: datetime
    at: datetime
    lines: Sequence[EventLine] = ()
    items: Sequence[Any] = ()
    cancelling: bool = False
    """The check knows of a requested cancellation."""
    given_up: RunState = RunState.DEAD_LETTER
    """As in `AttemptEnding`."""


@dataclass(frozen=True, slots=True)
class DueParkedRuns:
    """Parked runs whose moment has come, the longest overdue first, and when the first of the others is due."""

    due: Sequence[str] = ()
    next_at: datetime | None = None
