"""The registry of one process's tasks, by name. It is no global: two catalogues can exist in one program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from foliot.core.access import TenantAllowList
from foliot.features.tasks.model.task import Task
from foliot.plugins import Plugin, PluginCatalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task as the API shows it."""

    name: str
    description: str
    module: str
    built_in: bool
    tenants: TenantAllowList
    """Which tenants may see and run it."""
    cpu: bool
    """Whether it runs in a process of its own."""
    queue: str | None
    retries: int | None
    timeout_seconds: int | None
    schedule: Mapping[str, Any] | None
    """The schedule that its code declares, as the request that creates it."""
    parameters: Mapping[str, Any]
    """Its parameters, as JSON Schema."""


@dataclass(slots=True)
class TaskCatalogue(PluginCatalogue[Task]):
    """Every task that this process has loaded, and the modules that failed to load."""

    noun: ClassVar = "task"
    setting: ClassVar = "FOLIOT_TASKS"
    group: ClassVar = "foliot.tasks"
    wanted: ClassVar = "a function with @task"

    def add(self, task: Task) -> None:
        """`TypeError` or `ValueError` when the function cannot be a task."""
        known = self.get(task.name)
        if known is not None and known.function is task.function:
            return
        if known is None and not task.built_in:
            # Built-in tasks are checked by our tests; building their pydantic models would slow every start.
            task.signature.check()
        self.register(
            Plugin(made=task, name=task.name, module=task.module, built_in=task.built_in, tenants=task.tenants)
        )

    def views(self, tenant_id: str) -> Sequence[TaskView]:
        """The tasks that this tenant may run, by name."""
        return [_view(plugin.made) for plugin in self.plugins(tenant_id).values()]

    def view(self, name: str, tenant_id: str) -> TaskView | None:
        """None also when it belongs to another tenant."""
        task = self.get(name, tenant_id)
        return None if task is None else _view(task)


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
