"""Items of bulk actions, and the topic that announces their progress."""

from __future__ import annotations

from dataclasses import dataclass

BULKS_TOPIC = "bulks"


def bulk_topic(bulk_id: str) -> str:
    """The topic that wakes readers of one bulk action."""
    return f"bulk:{bulk_id}"


@dataclass(frozen=True, slots=True)
class BulkItem:
    """One thing that a bulk action is to act on."""

    position: int
    thing_id: str
