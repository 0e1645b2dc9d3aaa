"""Loads tasks from the modules that FOLIOT_TASKS names and from installed packages' entry points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from foliot.features.tasks.model.catalogue import TaskCatalogue
from foliot.features.tasks.model.task import MARK, Task
from foliot.plugins import Found, Loader, members


def load(modules: Sequence[str], built_in: Iterable[Task] = ()) -> TaskCatalogue:
    """Every task; modules that cannot be loaded are recorded as faults of the catalogue."""
    catalogue = TaskCatalogue()
    for task in built_in:
        catalogue.add(task)
    loader = Loader(catalogue=catalogue, find=_named_tasks, add=lambda task, _: catalogue.add(task), place=_place)
    loader.load(modules)
    return catalogue


def tasks_in(made: Any) -> Iterator[Task]:
    """The decorated functions of a module, in its order; or the one function that was given."""
    return (task for _, task in _named_tasks(made))


def _named_tasks(made: Any) -> Iterator[Found[Task]]:
    seen: set[int] = set()
    for name, member in members(made):
        task = getattr(member, MARK, None) if callable(member) else None
        if isinstance(task, Task) and id(task) not in seen:
            seen.add(id(task))
            yield name, task


def _place(task: Task) -> str:
    code = getattr(task.function, "__code__", None)
    return f"{f'line {code.co_firstlineno}' if code is not None else task.module}: task {task.name}"
