"""Finds tasks in the modules that FOLIOT_TASKS names and in installed packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from foliot.features.tasks.model.catalogue import TaskCatalogue
from foliot.features.tasks.model.task import MARK, Task
from foliot.plugins import Found, Loader, members


def load(modules: Sequence[str], built_in: Iterable[Task] = ()) -> TaskCatalogue:
    """Every task there is; what cannot be loaded is a fault of the catalogue."""
    catalogue = TaskCatalogue()
    for task in built_in:
        catalogue.add(task)
    loader = Loader(catalogue=catalogue, find=_named_tasks, add=lambda task, _: catalogue.add(task), place=_place)
    loader.load(modules)
    return catalogue


def tasks_in(made: Any) -> Iterator[Task]:
    """The marked functions of a module, or the one that this is; in the order of the module."""
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
