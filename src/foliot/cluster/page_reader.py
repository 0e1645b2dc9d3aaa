"""The main function of a process that parses untrusted pages."""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Mapping
from typing import Any

from foliot.cluster.pool_port import AttemptInfo, PoolCall

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
