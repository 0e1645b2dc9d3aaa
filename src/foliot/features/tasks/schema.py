"""Request and response schemas of tasks."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from foliot.servers.http.schema import Priority, Queue, declared


@declared
class RegisteredTask:
    """A registered function."""

    name: str
    description: str
    module: str
    built_in: bool
    tenants: list[str] | None
    """Which tenants may see and run it, or `all`; null without the right to operate the installation."""
    cpu: bool
    """Whether it runs in a process of its own."""
    queue: str | None
    """The queue of its schedules' runs, unless they name another."""
    retries: int | None
    timeout_seconds: int | None
    schedule: dict[str, Any] | None
    """The schedule that its code declares."""
    parameters: dict[str, Any]
    """Its parameters, as JSON Schema."""


@declared
class TaskPage:
    """Every task that this server has loaded."""

    items: list[RegisteredTask]
    next_cursor: str | None
    faults: list[str] | None
    """Modules that could not be loaded; null without the right to operate the installation."""


@declared
class TaskRunRequest:
    """The parameters of the run."""

    parameters: dict[str, Any] | None = None
    queue: Queue | None = "manual"
    priority: Priority | None = 5
    timeout_seconds: Annotated[int | None, Field(ge=1, le=604_800)] = None
