"""The record of a schedule that code or a preset declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSchedule:
    """What was declared under a name, and the schedule that was created from it."""

    tenant_id: str
    source: str
    name: str
    schedule_id: str | None
    wanted: str
    """Digest of the declared document."""
    made: Mapping[str, Any]
    """The schedule's document right after it was created: one that differs now was edited by a user."""
