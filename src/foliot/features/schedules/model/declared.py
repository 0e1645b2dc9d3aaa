"""Schedules that code or a file declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSchedule:
    """A schedule that code or a preset has made."""

    tenant_id: str
    source: str
    name: str
    schedule_id: str | None
    wanted: str
    """Digest of what was asked for."""
    made: Mapping[str, Any]
    """The document as it was made: a schedule that differs was edited by somebody."""
