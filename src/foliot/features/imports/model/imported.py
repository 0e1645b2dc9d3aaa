"""What an importer yields: documents of schedules and monitors, and a note for everything that does not carry over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from foliot.core.errors import Invalid
from foliot.core.time.zone import zone_info

LONGEST_NAME = 120
LONGEST_RUN = 86_400
"""Seconds: the time limit of an entry of a scheduler that has none."""
AS_IT_WAS: Mapping[str, Any] = {
    "overlap": "allow_all",
    "catchup": {"mode": "none", "grace_seconds": 60},
    "retry_policy": {"max_retries": 0},
}
"""The policies of a scheduler that starts each instant once, whatever still runs, and makes up for none."""


class UnreadableSource(Exception):
    """The source as a whole cannot be read; names the line or entry, the rule and what to do."""


class UnknownTerm(Exception):
    """A term of one entry that has no equivalent; the entry is left out with this note."""


@dataclass(frozen=True, slots=True)
class ImportNote:
    """What does not carry over, or differs; `entry` is None for what concerns all of them."""

    entry: str | None
    text: str


@dataclass(slots=True)
class Imported:
    """The documents of one source, in its order."""

    kind: str
    documents: list[dict[str, Any]] = field(default_factory=list)
    monitors: list[dict[str, Any]] = field(default_factory=list)
    paused: set[str] = field(default_factory=set)
    """Monitors that are paused in the source."""
    notes: list[ImportNote] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)

    def add(self, name: str, trigger: Mapping[str, Any], action: Mapping[str, Any], **more: Any) -> str:
        """One schedule; returns its name, which is unique among those of the source."""
        unique = self._unique(name)
        tags = [f"from-{self.kind}", *more.pop("tags", ())]
        given = {name: value for name, value in more.items() if value is not None and value != ""}
        self.documents.append({"name": unique, **trigger, "action": dict(action), "tags": tags, **given})
        return unique

    def add_monitor(self, name: str, trigger: Mapping[str, Any], *, paused: bool = False, **more: Any) -> str:
        """One monitor, as `POST /api/monitors` takes it; `paused` says that it is paused in the source."""
        unique = self._unique(name)
        tags = [f"from-{self.kind}", *more.pop("tags", ())]
        self.monitors.append({"name": unique, **trigger, **more, "tags": tags})
        if paused:
            self.paused.add(unique)
        return unique

    def note(self, text: str, entry: str | None = None) -> None:
        """A note, once."""
        one = ImportNote(entry, text)
        if one not in self.notes:
            self.notes.append(one)

    def left_out(self, entry: str, why: object) -> None:
        self.note(f"left out: {why}", entry)

    def _unique(self, name: str) -> str:
        base = " ".join(printable(name).split())[:LONGEST_NAME].strip() or self.kind
        unique, number = base, 1
        while unique in self._names:
            number += 1
            unique = f"{base} ({number})"
        self._names.add(unique)
        return unique


def printable(text: str) -> str:
    """Without characters that a name must not have."""
    return "".join(character if character.isprintable() else " " for character in text)


def checked_zone(name: str) -> str:
    """The zone, or `UnknownTerm`."""
    try:
        zone_info(name)
    except Invalid:
        raise UnknownTerm(f"the time zone {name!r} is not known") from None
    return name


def changes_clocks(zone: str) -> bool:
    """Whether the zone has different offsets in winter and in summer."""
    info = zone_info(zone)
    months = (datetime(2026, month, 1, tzinfo=UTC).astimezone(info).utcoffset() for month in range(1, 13))
    return len(set(months)) > 1
