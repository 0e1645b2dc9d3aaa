"""Requests and answers of tasks."""

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
    """Who may see and run it, or `all`; null for those who do not look after the house."""
    cpu: bool
    """Whether it runs in a process of its own."""
    queue: str | None
    """Where the runs of its schedules wait, unless they say otherwise."""
    retries: int | None
    timeout_seconds: int | None
    schedule: dict[str, Any] | None
    """The schedule that its code declares."""
    parameters: dict[str, Any]
    """What it takes, as a JSON Schema."""


@declared
class TaskPage:
    """Every task that this server knows."""

    items: list[RegisteredTask]
    next_cursor: str | None
    faults: list[str] | None
    """Modules that could not be loaded; null for those who do not look after the house."""


@declared
class TaskRunRequest:
    """What to run it with."""

    parameters: dict[str, Any] | None = None
    queue: Queue | None = "manual"
    priority: Priority | None = 5
    timeout_seconds: Annotated[int | None, Field(ge=1, le=604_800)] = None
