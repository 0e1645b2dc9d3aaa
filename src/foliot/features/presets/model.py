"""A preset: schedules that are created together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetEntry:
    """A schedule that a preset creates."""

    name: str
    """Its name in the preset; the schedule's own name is in the document."""
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetDefinition:
    """A set of schedules that are created together."""

    name: str
    title: str
    description: str
    settings: Mapping[str, str] = field(default_factory=dict)
    """Parameters that can be set when it is loaded, each with its description; every task that takes one gets it."""
    schedules: Sequence[PresetEntry] = ()
