"""A preset: schedules that are created together, read from the JSON documents that come with the package."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
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


def all_presets() -> Mapping[str, PresetDefinition]:
    """Every preset, by name."""
    documents = [document for document in files("foliot.features.presets").iterdir() if document.name.endswith(".json")]
    presets = [_read(json.loads(document.read_text(encoding="utf-8"))) for document in documents]
    return {preset.name: preset for preset in presets}


def _read(raw: Mapping[str, Any]) -> PresetDefinition:
    return PresetDefinition(
        name=raw["name"],
        title=raw["title"],
        description=raw["description"],
        settings=raw.get("settings", {}),
        schedules=[PresetEntry(name=each["name"], document=each["schedule"]) for each in raw["schedules"]],
    )
