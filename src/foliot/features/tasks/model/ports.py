"""What is asked of tasks: which there are, a process to run one in, and which schedules code or a preset has made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from foliot.core.access import Tenants


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task as people see it."""

    name: str
    description: str
    module: str
    built_in: bool
    tenants: Tenants
    """Who may see and run it."""
    cpu: bool
    """Whether it runs in a process of its own."""
    queue: str | None
    retries: int | None
    timeout_seconds: int | None
    schedule: Mapping[str, Any] | None
    """The schedule that its code declares, as the request that makes it."""
    parameters: Mapping[str, Any]
    """What it takes, as a JSON Schema."""


class Tasks(Protocol):
    """Every task that this process knows."""

    def views(self, tenant_id: str) -> Sequence[TaskView]:
        """Those that this tenant may run, in the order of their names."""
        ...

    def view(self, name: str, tenant_id: str) -> TaskView | None:
        """None also when it is another tenant's."""
        ...

    def faults(self) -> Sequence[str]:
        """Why modules could not be loaded, a sentence each."""
        ...
