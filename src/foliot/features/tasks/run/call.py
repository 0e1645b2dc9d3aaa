"""Calls a task's function and returns how it ended as a value: the same in this process and in a child process."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Mapping
from typing import Any

from foliot.cluster.pool_port import CallResult
from foliot.core.errors import Invalid, InvalidMany, Unavailable
from foliot.features.tasks.model.context import GiveUp, Partial, Retry, TaskContext, TaskStopped
from foliot.features.tasks.model.task import Task
from foliot.features.tasks.run.results import LARGEST, Unwritable, is_cut, plain

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
        ctx.logger.warning(
            "The result has %d bytes: only the beginning is kept of what is over %d", made["bytes"], LARGEST
        )
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
