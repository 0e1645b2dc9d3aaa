"""Requests and answers of presets."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from foliot.features.schedules.usecases.declared import DeclarationOutcome
from foliot.servers.http.schema import declared


@declared
class PresetSchedule:
    """A schedule that a preset makes."""

    name: str
    schedule: dict[str, Any]
    """The request that makes it."""


@declared
class PresetContents:
    """Schedules that belong together."""

    name: str
    title: str
    description: str
    settings: dict[str, str]
    """What can be given when it is loaded, each with what it is."""
    schedules: list[PresetSchedule]


@declared
class PresetPage:
    """Every preset there is."""

    items: list[PresetContents]
    next_cursor: str | None


@declared
class PresetScheduleResult:
    """What became of one schedule of a preset."""

    name: str
    outcome: DeclarationOutcome
    """`kept` when somebody edited it: it stays as they want it."""
    schedule_id: str
    schedule: str
    """Its name."""
    status: str
    next_run_at: datetime | None


@declared
class PresetResult:
    """What a load or an unload did."""

    preset: str
    items: list[PresetScheduleResult]


@declared
class PresetLoadRequest:
    """What the preset can be given; what is left out keeps what stands."""

    settings: dict[str, Any] | None = None


@declared
class PresetUnloadRequest:
    """Whether schedules that somebody edited go as well."""

    edited: bool | None = False
