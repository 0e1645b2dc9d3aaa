"""Request and response schemas of tasks."""

from __future__ import annotations

from typing import Any

from foliot.core.declaration import declared


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
