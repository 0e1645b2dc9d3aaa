"""Foliot fires web work at the right instant, exactly once, and shows what happened and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foliot.embed import Scheduler
    from foliot.pipelines import Item, StepContext, Transform
    from foliot.tasks import TaskContext, task

__version__ = "0.1.0"
__all__ = ["Item", "Scheduler", "StepContext", "TaskContext", "Transform", "__version__", "task"]

_ROOMS = {
    "Item": "foliot.pipelines",
    "Scheduler": "foliot.embed",
    "StepContext": "foliot.pipelines",
    "TaskContext": "foliot.tasks",
    "Transform": "foliot.pipelines",
    "task": "foliot.tasks",
}


def __getattr__(name: str) -> Any:
    """What programs and modules of tasks or transforms need, found when they ask: no command waits for it otherwise."""
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_ROOMS[name]), name)
