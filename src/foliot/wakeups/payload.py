"""What a wake looks like on its way to another process."""

from __future__ import annotations

from collections.abc import Collection

from foliot.wakeups.feed import LOCAL_TOPICS, run_topic

EVERYONE = "*"
"""The topic of those who are woken whatever they listen to."""

MOST_BYTES = 7900
"""PostgreSQL takes fewer than 8,000."""

_RUN = run_topic("")
_TAIL = 8
_PARTING = "\n"


def travels(topic: str) -> bool:
    """Whether the topic means something to another process."""
    return not topic.startswith(LOCAL_TOPICS)


def short(topic: str) -> str:
    """The topic as it travels: of a run, the last digits, which are random.

    Hundreds of runs end at once, and all must fit into one payload. Two runs with the same digits are woken together,
    which costs one of them a look.
    """
    return _RUN + topic[-_TAIL:] if topic.startswith(_RUN) else topic


def encode(sender: str, topics: Collection[str]) -> str:
    """One payload for all of them; what does not fit wakes everyone."""
    if EVERYONE not in topics:
        payload = _PARTING.join((sender, *topics))
        if len(payload.encode()) <= MOST_BYTES:
            return payload
    return f"{sender}{_PARTING}{EVERYONE}"


def decode(payload: str) -> tuple[str, list[str]]:
    """Who sent it, and what they woke."""
    sender, *topics = payload.split(_PARTING)
    return sender, topics
