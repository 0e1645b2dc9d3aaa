"""A task as the API shows it: name, queue, parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foliot.core.access import TenantAllowList


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
