"""Foliot fires web work at the right instant, exactly once, and shows what happened and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foliot.tasks import TaskContext, task

__version__ = "0.1.0"
__all__ = ["TaskContext", "__version__", "task"]


def __getattr__(name: str) -> Any:
    """What modules of tasks need, found when they ask: no command waits for it otherwise."""
    if name not in ("task", "TaskContext"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("foliot.tasks"), name)
