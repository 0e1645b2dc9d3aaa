"""Reads the presets that come with the package: JSON documents of schedules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from foliot.features.presets.model import PresetDefinition, PresetEntry


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
