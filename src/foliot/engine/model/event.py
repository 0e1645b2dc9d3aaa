"""Facts about a run, numbered without gaps from 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

LINE_LIMIT = 16 * 1024
LINES_PER_RUN = 1_000_000
LOG_BYTES = 256 * 1024 * 1024
"""Maximum bytes of the log of one run, over all its attempts."""


class EventType(StrEnum):
    """The types of events."""

    STATE = "state"
    LOG = "log"
    PROGRESS = "progress"


@dataclass(frozen=True, slots=True)
class EventLine:
    """A log line or a progress step that has no number yet."""

    at: datetime
    type: EventType
    level: str = "info"
    message: str = ""
    data: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One numbered fact: a change of state, a log line or a progress step."""

    seq: int
    at: datetime
    type: EventType
    state: str | None = None
    attempt: int | None = None
    level: str | None = None
    message: str = ""
    data: Mapping[str, Any] | None = None
