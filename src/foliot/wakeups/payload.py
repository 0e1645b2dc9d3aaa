"""The format of a wake-up between processes."""

from __future__ import annotations

from collections.abc import Collection

from foliot.wakeups.feed import LOCAL_TOPICS, run_topic

EVERYONE = "*"
"""The topic that wakes every subscriber."""

MOST_BYTES = 7900
"""Maximum length: PostgreSQL takes fewer than 8,000."""

_RUN = run_topic("")
_TAIL = 8
_PARTING = "\n"


def travels(topic: str) -> bool:
    """Whether the topic concerns other processes."""
    return not topic.startswith(LOCAL_TOPICS)


def short(topic: str) -> str:
    """The topic in its short form: of a run, the last digits, which are random.

    Hundreds of runs end at once, and all must fit into one payload. Two runs with the same digits are woken together,
    which costs one of them a query.
    """
    return _RUN + topic[-_TAIL:] if topic.startswith(_RUN) else topic


def encode(sender: str, topics: Collection[str]) -> str:
    """One payload for all of them; if they do not fit, it wakes everything."""
    if EVERYONE not in topics:
        payload = _PARTING.join((sender, *topics))
        if len(payload.encode()) <= MOST_BYTES:
            return payload
    return f"{sender}{_PARTING}{EVERYONE}"


def decode(payload: str) -> tuple[str, list[str]]:
    """The sender, and its topics."""
    sender, *topics = payload.split(_PARTING)
    return sender, topics
