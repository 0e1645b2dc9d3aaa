"""The tasks of one process, by name. Nothing is global: two catalogues can live in one program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from foliot.ports.tasks import TaskView
from foliot.tasks.task import Task


@dataclass(slots=True)
class Catalogue:
    """Every task that this process knows, and what could not be loaded."""

    _tasks: dict[str, Task] = field(default_factory=dict)
    _faults: list[str] = field(default_factory=list)

    def add(self, task: Task) -> None:
        """`TypeError` or `ValueError` when it cannot be one."""
        other = self._tasks.get(task.name)
        if other is not None:
            if other.function is task.function:
                return
            raise ValueError(f"another task has this name, in {other.module}; give one of them another")
        if not task.built_in:
            # Ours are checked by our tests; making their models costs a start that nobody asked for.
            task.signature.check()
        self._tasks[task.name] = task

    def fault(self, sentence: str) -> None:
        self._faults.append(sentence)

    def get(self, name: str) -> Task | None:
        return self._tasks.get(name)

    def all(self) -> Sequence[Task]:
        return [self._tasks[name] for name in sorted(self._tasks)]

    def names(self) -> Sequence[str]:
        return sorted(self._tasks)

    def views(self) -> Sequence[TaskView]:
        return [_view(task) for task in self.all()]

    def view(self, name: str) -> TaskView | None:
        task = self.get(name)
        return None if task is None else _view(task)

    def faults(self) -> Sequence[str]:
        return tuple(self._faults)


def _view(task: Task) -> TaskView:
    defaults = task.defaults()
    return TaskView(
        name=task.name,
        description=task.description,
        module=task.module,
        built_in=task.built_in,
        house=task.house,
        cpu=task.cpu,
        queue=task.queue,
        retries=task.retries,
        timeout_seconds=defaults.get("timeout_seconds"),
        schedule=task.document(),
        parameters=task.signature.schema(),
    )
