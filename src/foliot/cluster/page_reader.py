"""The main function of a process that parses untrusted pages.

The port for calling functions in processes that can be killed.
"""

from __future__ import annotations

import gc
import importlib
import os
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
    body: bytes = b""
    """Raw bytes that an internal function returned beside its result."""


@dataclass(frozen=True, slots=True)
class ResultWithBody:
    """What an internal function returns when its result comes with raw bytes."""

    result: Any
    body: bytes


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


COURTESY = 10
"""Niceness of a reader relative to its parent: pages can wait longer than firing and answering."""

_NOBODYS = AttemptInfo(run_id="", tenant_id="", schedule_id=None, attempt=1, max_attempts=1, scheduled_for=None)

_read = 0


class DiscardedOutput:
    """Discards what libraries print while they parse."""

    def log(self, message: str, level: str) -> None: ...

    def progress(self, data: Mapping[str, Any]) -> None: ...


SILENCE = DiscardedOutput()


def asked(module: str, function: str, parameters: Mapping[str, Any], body: bytes, weight: int = 1) -> PoolCall:
    """The call of a module-level function on these bytes, for a pool."""
    return PoolCall(
        module=__name__,
        function=read.__name__,
        task="",
        parameters={"module": module, "function": function, "parameters": dict(parameters)},
        attempt=_NOBODYS,
        body=body,
        weight=weight,
    )


def read(module: str, function: str, parameters: Mapping[str, Any], body: bytes = b"") -> Any:
    """Call a module-level function; a transform that is loaded has asked for it by itself.

    An empty body is not transferred at all.
    """
    global _read  # noqa: PLW0603 -- one for each process
    if _read == 0 and hasattr(os, "nice"):
        os.nice(COURTESY)
    elif _read == 1:
        # Everything is loaded and stays: garbage collection of it would take as long as reading a page.
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
    _read += 1
    made: Any = importlib.import_module(module)
    for part in function.split("."):
        made = getattr(made, part)
    return made(body=body, **parameters)
