"""What `foliot check` examines; each check returns findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """What `foliot check` reports about one key of the settings."""

    level: str
    key: str
    message: str


def rule(complaint: Any) -> str:
    """The message of a validation error without its field, which the finding names already."""
    return str(complaint).removeprefix(f"{complaint.field}: ")
