"""Calls of functions in processes that can be killed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from foliot.core.ports import Room, always_room


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What a task may know about the attempt that it is."""

    run_id: str
    tenant_id: str
    schedule_id: str | None
    attempt: int
    max_attempts: int
    scheduled_for: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function to be run in another process: where it is found, and what it is given, as JSON."""

    module: str
    function: str
    task: str
    """Its name; empty for a function of our own that is no task, and is simply called."""
    parameters: Mapping[str, Any]
    attempt: Attempt
    body: bytes = b""
    """Bytes that a function of our own is given as `body`: as they are, for JSON could not hold them."""
    weight: int = 1
    """As how many calls it counts: a process is replaced after so many."""


class Tell(Protocol):
    """What a function in another process says meanwhile."""

    def log(self, message: str, level: str) -> None: ...

    def progress(self, data: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How a function ended: with a result, or with an error; both plain JSON."""

    result: Any = None
    partial: bool = False
    error: str | None = None
    """What it raised, in a line."""
    trace: str = ""
    retry_after: float | None = None
    permanent: bool = False


class ProcessDied(Exception):
    """The process in which a function ran is gone, and nobody here ended it."""


class Pool(Protocol):
    """Processes for what would keep this one busy."""

    async def call(self, call: Call, tell: Tell, patience: timedelta, room: Room = always_room) -> Told:
        """Run it. Cancelled (asyncio): the function is asked to stop, and its process killed if it does not.

        After each thing that it says `room` is waited for, and with us the process that goes on talking.

        Raises `TimeoutError` when it has not ended in time, and `ProcessDied` when its process did.
        """
        ...
