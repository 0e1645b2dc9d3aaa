"""Bulk actions, as they are asked of the store."""

from __future__ import annotations

from dataclasses import dataclass

BULKS_TOPIC = "bulks"


def bulk_topic(bulk_id: str) -> str:
    """What wakes those who follow one bulk action."""
    return f"bulk:{bulk_id}"


@dataclass(frozen=True, slots=True)
class BulkItem:
    """One thing that a bulk action is to act on."""

    position: int
    thing_id: str
