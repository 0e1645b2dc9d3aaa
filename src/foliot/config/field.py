"""Metadata of a setting: its keys, parser and documentation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SettingField:
    """The first key is the setting's own name, the others are aliases."""

    name: str
    keys: tuple[str, ...]
    read: Callable[[str], Any]
    doc: str
    default: Any
    secret: bool


def about(doc: str, *names: str, read: Callable[[str], Any], secret: bool = False) -> dict[str, Any]:
    """The metadata in the form that a dataclass field takes."""
    return {"keys": names, "read": read, "doc": doc, "secret": secret}
