"""The main loop of a pool's child process: reads a call, runs the function, writes its result, reads the next.

Started as `python -m foliot.features.tasks.run.child`. It exits when its parent does, whatever the function is doing.
"""

from __future__ import annotations

import importlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, BinaryIO

from foliot.cluster.frames import BODY, BrokenFrame, Send, pack, read
from foliot.cluster.machine import bound_processor, confine, forbid_processes
from foliot.cluster.page_reader import AttemptInfo, CallResult, ResultWithBody
from foliot.features.tasks.model.context import TaskContext
from foliot.features.tasks.model.task import MARK, Task
from foliot.features.tasks.run.call import call, plain, raised
from foliot.plugins import load_error as loading_error


@dataclass(frozen=True, slots=True)
class ParentPipe:
    """Sends log lines and progress of the current call to the parent."""

    send: Send
    number: int

    def log(self, message: str, level: str) -> None:
        self.send({"number": self.number, "log": message[:100_000], "level": level})

    def progress(self, data: Mapping[str, Any]) -> None:
        self.send({"number": self.number, "progress": plain(dict(data))})


Calls = queue.SimpleQueue[tuple[dict[str, Any], threading.Event] | None]


def named(module: str, function: str) -> Any:
    """The attribute of this name in a module."""
    value: Any = importlib.import_module(module)
    for part in function.split("."):
        value = getattr(value, part)
    return value


def find(module: str, function: str) -> Task:
    """The task of this name in a module."""
    return getattr(named(module, function), MARK)  # type: ignore[no-any-return]


def plainly(asked: Mapping[str, Any], body: bytes | None) -> CallResult:
    """Calls an internal function that is no task: only Foliot itself can request it, and it returns JSON already."""
    parameters = {**asked["parameters"], **({} if body is None else {BODY: body})}
    try:
        result = named(asked["module"], asked["function"])(**parameters)
        if isinstance(result, ResultWithBody):
            return CallResult(result=result.result, body=result.body)
        return CallResult(result=result)
    except Exception as error:  # noqa: BLE001 -- any exception is reported to the parent
        return raised(error)


def perform(message: Mapping[str, Any], send: Send, stop: threading.Event) -> CallResult:
    asked = message["call"]
    if not asked["task"]:
        return plainly(asked, message.get(BODY))
    try:
        task = find(asked["module"], asked["function"])
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- a user's module may raise anything
        return CallResult(
            error=f"{asked['module']}.{asked['function']} cannot be loaded: {loading_error(error)}"[:1000]
        )
    ctx = TaskContext.of(task.name, AttemptInfo(**asked["attempt"]), ParentPipe(send, message["number"]), stop)
    try:
        return call(task, asked["parameters"], ctx)
    except SystemExit as error:
        return raised(RuntimeError(f"the task called sys.exit({error.code!r})"))


def main() -> None:
    """Serve calls until the parent is gone."""
    # What the function prints goes to the parent's log; the protocol has the pipe to itself.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lock = threading.Lock()

    def send(message: dict[str, Any], body: bytes = b"") -> None:
        framed = pack(message, body)
        with lock:
            out.write(framed)

    first = read(sys.stdin.buffer)
    if first is None:
        return
    sys.path[:] = first["path"]
    # Before there is a second thread: what seals a process seals the thread that asks for it, and those it starts.
    bounds = confine(first["bounds"])
    calls: Calls = queue.SimpleQueue()
    threading.Thread(target=listen, args=(sys.stdin.buffer, calls), daemon=True).start()
    forbid_processes(bounds)
    while (asked := calls.get()) is not None:
        message, stop = asked
        bound_processor(message["seconds"], bounds.cores)
        result = perform(message, send, stop)
        send({"number": message["number"], "ended": _without_body(result)}, result.body)


def _without_body(result: CallResult) -> dict[str, Any]:
    return {each.name: getattr(result, each.name) for each in fields(result) if each.name != BODY}


def listen(source: BinaryIO, calls: Calls) -> None:
    """Read the parent's messages while a function runs. End of file means that the parent has exited, so we exit."""
    # A stop applies to the call before it, even if that has not begun.
    stop = threading.Event()
    try:
        while (message := read(source)) is not None:
            if "stop" in message:
                stop.set()
            else:
                stop = threading.Event()
                calls.put((message, stop))
    except BrokenFrame:
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
