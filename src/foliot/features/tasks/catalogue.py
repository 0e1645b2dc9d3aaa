"""The tasks of one process, by name. Nothing is global: two catalogues can live in one program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from foliot.features.tasks.model.ports import TaskView
from foliot.features.tasks.model.task import Task


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

    def get(self, name: str, tenant_id: str) -> Task | None:
        """None also when it is another tenant's."""
        task = self._tasks.get(name)
        return task if task is not None and tenant_id in task.tenants else None

    def has(self, name: str) -> bool:
        """Whether there is one of this name, whoever may run it."""
        return name in self._tasks

    def names(self, tenant_id: str | None = None) -> Sequence[str]:
        """All of them, or those of a tenant."""
        return sorted(name for name, task in self._tasks.items() if tenant_id is None or tenant_id in task.tenants)

    def views(self, tenant_id: str) -> Sequence[TaskView]:
        return [_view(self._tasks[name]) for name in self.names(tenant_id)]

    def view(self, name: str, tenant_id: str) -> TaskView | None:
        task = self.get(name, tenant_id)
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
        tenants=task.tenants,
        cpu=task.cpu,
        queue=task.queue,
        retries=task.retries,
        timeout_seconds=defaults.get("timeout_seconds"),
        schedule=task.document(),
        parameters=task.signature.schema(),
    )
