"""Calls a task's function and returns how it ended as a value, with a result of bounded size: here or in a child.

Probation of tenants: one whose page lately timed out or crashed a reader process gets one process at a time.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from foliot.cluster.page_reader import CallResult
from foliot.core import json_values
from foliot.core.errors import Invalid, InvalidMany, Unavailable
from foliot.features.tasks.model.context import GiveUp, Partial, Retry, TaskContext, TaskStopped
from foliot.features.tasks.model.task import Task

LASTS = 60.0
"""Seconds of probation after the last such page."""


@dataclass(slots=True)
class Probation:
    """By the monotonic clock of this process; entries are dropped when they expire."""

    lasts: float = LASTS
    _until: dict[str, float] = field(default_factory=dict)

    def begin(self, tenant_id: str) -> None:
        now = asyncio.get_running_loop().time()
        self._until = {tenant: until for tenant, until in self._until.items() if until > now}
        self._until[tenant_id] = now + self.lasts

    def holds(self, tenant_id: str) -> bool:
        until = self._until.get(tenant_id)
        return until is not None and until > asyncio.get_running_loop().time()


LARGEST = 256 * 1024
"""Bytes of JSON that are stored of a result."""
SHOWN = 2048
"""Characters that are stored of the beginning of a larger one."""


class Unwritable(Exception):
    """The result cannot be serialised as JSON."""


def plain(result: Any) -> Any:
    """The result as plain JSON; for one that is too large, its size and its beginning."""
    try:
        text = json_values.dumps(result)
    except (TypeError, ValueError) as error:
        raise Unwritable(f"the task's result cannot be written as JSON: {error}") from None
    if len(text) > LARGEST:
        return {"truncated": True, "bytes": len(text), "start": text[:SHOWN].decode(errors="ignore")}
    return orjson.loads(text.replace(b"\\u0000", b"\\ufffd"))


def is_cut(made: Any) -> bool:
    return isinstance(made, dict) and made.get("truncated") is True and "bytes" in made


LONGEST = 1000
LONGEST_TRACE = 16_000
STOPPED = "stopped"


class BadParameters(Exception):
    """The stored parameters no longer fit the function's signature."""


def arguments(task: Task, given: Mapping[str, Any], ctx: TaskContext) -> dict[str, Any]:
    """The keyword arguments of the call."""
    signature = task.signature
    try:
        values = signature.read(given)
    except Invalid as wrong:
        each = wrong.errors if isinstance(wrong, InvalidMany) else [wrong]
        raise BadParameters("; ".join(f"{one.field}: {one.message}" for one in each)) from None
    return values if signature.context is None else {**values, signature.context: ctx}


def call(task: Task, given: Mapping[str, Any], ctx: TaskContext) -> CallResult:
    """Call a synchronous function in its own thread or process; every exception is caught, also SystemExit."""
    try:
        return returned(task.function(**arguments(task, given, ctx)), ctx)
    except BaseException as error:  # noqa: BLE001 -- any exception of a task is its outcome
        return raised(error)


async def call_async(task: Task, given: Mapping[str, Any], ctx: TaskContext) -> CallResult:
    """Await an async function; CancelledError passes to the caller, and its sys.exit() must not end the loop."""
    try:
        return returned(await task.function(**arguments(task, given, ctx)), ctx)
    except asyncio.CancelledError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- any exception of a task is its outcome
        return raised(error)


def returned(result: Any, ctx: TaskContext) -> CallResult:
    partial = isinstance(result, Partial)
    try:
        made = plain(result.result if partial else result)
    except Unwritable as wrong:
        return CallResult(error=str(wrong)[:LONGEST], permanent=True)
    if is_cut(made):
        ctx.logger.warning("The result is %d bytes: only the first %d are kept", made["bytes"], LARGEST)
    return CallResult(result=made, partial=partial)


def raised(error: BaseException) -> CallResult:
    """The outcome that an exception stands for."""
    fields: dict[str, Any]
    match error:
        case ExceptionGroup():
            # Of an exception group, the first exception decides.
            return raised(error.exceptions[0])
        case Retry():
            fields = {"error": str(error), "retry_after": error.after}
        case GiveUp():
            fields = {"error": str(error), "permanent": True}
        case BadParameters():
            fields = {"error": f"parameters: {error}", "permanent": True}
        case TaskStopped():
            fields = {"error": STOPPED}
        case SystemExit():
            fields = {"error": f"RuntimeError: the task called sys.exit({error.code!r})"}
        case Unavailable():
            fields = {"error": error.told}
        case _:
            trace = "".join(traceback.format_exception(error))
            fields = {"error": f"{type(error).__name__}: {error}", "trace": trace[-LONGEST_TRACE:]}
    texts = {name: fields[name].encode("utf-8", "replace").decode() for name in ("error", "trace") if name in fields}
    return CallResult(**(fields | texts | {"error": texts["error"][:LONGEST]}))
