"""Request and response schemas of presets."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from foliot.core.declaration import declared
from foliot.features.schedules.usecases.declared import DeclarationOutcome


@declared
class PresetSchedule:
    """A schedule that a preset creates."""

    name: str
    schedule: dict[str, Any]
    """The request that creates it."""


@declared
class PresetContents:
    """A set of schedules that are created together."""

    name: str
    title: str
    description: str
    settings: dict[str, str]
    """Parameters that can be set when it is loaded, each with its description."""
    schedules: list[PresetSchedule]


@declared
class PresetPage:
    """Every preset."""

    items: list[PresetContents]
    next_cursor: str | None


@declared
class PresetScheduleResult:
    """The result for one schedule of a preset."""

    name: str
    outcome: DeclarationOutcome
    """`kept` when it was edited: the edits stay."""
    schedule_id: str
    schedule: str
    """Its name."""
    status: str
    next_run_at: datetime | None


@declared
class PresetResult:
    """The result of a load or an unload."""

    preset: str
    items: list[PresetScheduleResult]
