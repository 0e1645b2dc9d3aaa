"""The port for calling functions in processes that can be killed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from foliot.core.ports import BackPressure, no_back_pressure


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptInfo:
    """What a task may know about its attempt."""

    run_id: str
    tenant_id: str
    schedule_id: str | None
    attempt: int
    max_attempts: int
    scheduled_for: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCall:
    """A function to call in another process: where it is found, and its arguments as JSON."""

    module: str
    function: str
    task: str
    """The task's name; empty for an internal function, which is simply called."""
    parameters: Mapping[str, Any]
    attempt: AttemptInfo
    body: bytes = b""
    """Bytes that an internal function receives as `body`: raw, because JSON could not hold them."""
    weight: int = 1
    """Its weight: a process is replaced after so many calls."""


class ProgressSink(Protocol):
    """Log lines and progress of a function in another process."""

    def log(self, message: str, level: str) -> None: ...

    def progress(self, data: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """How a function ended: with a result or an error, both plain JSON."""

    result: Any = None
    partial: bool = False
    error: str | None = None
    """The exception, in a line."""
    trace: str = ""
    retry_after: float | None = None
    permanent: bool = False


class ProcessDied(Exception):
    """The process of a function died, and was not ended by us."""


class Pool(Protocol):
    """A pool of processes for CPU-bound functions."""

    async def call(
        self, call: PoolCall, tell: ProgressSink, patience: timedelta, room: BackPressure = no_back_pressure
    ) -> CallResult:
        """Run it. Cancelled (asyncio): the function is asked to stop, and its process is killed if it does not.

        After each log line `room` is awaited, which holds back the process too (back-pressure).

        Raises `TimeoutError` when it has not ended in time, and `ProcessDied` when its process did.
        """
        ...
