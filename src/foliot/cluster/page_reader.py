"""The inside of a process that exists to read what strangers wrote."""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Mapping
from typing import Any

from foliot.cluster.pool_port import Attempt, Call

COURTESY = 10
"""How much nicer a reader is than who started it: pages can wait longer than whoever fires and answers."""

_NOBODYS = Attempt(run_id="", tenant_id="", schedule_id=None, attempt=1, max_attempts=1, scheduled_for=None)

_read = 0


class Silence:
    """What is said while something is read is nobody's business."""

    def log(self, message: str, level: str) -> None: ...

    def progress(self, data: Mapping[str, Any]) -> None: ...


SILENCE = Silence()


def asked(module: str, function: str, parameters: Mapping[str, Any], body: bytes, weight: int = 1) -> Call:
    """What a pool is given to have a function at the top of a module read these bytes."""
    return Call(
        module=__name__,
        function=read.__name__,
        task="",
        parameters={"module": module, "function": function, "parameters": dict(parameters)},
        attempt=_NOBODYS,
        body=body,
        weight=weight,
    )


def read(module: str, function: str, parameters: Mapping[str, Any], body: bytes = b"") -> Any:
    """Call a function at the top of a module; a transform that is loaded has asked for it by itself.

    No bytes do not come over at all.
    """
    global _read  # noqa: PLW0603 -- one for each process
    if _read == 0 and hasattr(os, "nice"):
        os.nice(COURTESY)
    elif _read == 1:
        # Everything is loaded, and stays: looking through it for garbage would take as long as reading does.
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
    _read += 1
    made: Any = importlib.import_module(module)
    for part in function.split("."):
        made = getattr(made, part)
    return made(body=body, **parameters)
