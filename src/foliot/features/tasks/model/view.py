"""A task as it is shown: what it is called, where it runs, what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foliot.core.access import TenantAllowList


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task as people see it."""

    name: str
    description: str
    module: str
    built_in: bool
    tenants: TenantAllowList
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
