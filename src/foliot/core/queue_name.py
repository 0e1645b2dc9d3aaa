"""Names of queues: the built-in ones, and how a name is checked."""

from __future__ import annotations

import re
from typing import Annotated

from annotated_types import Interval, MaxLen

from foliot.core.declaration import OR_NULL, Checked, Described, Parsed, declared
from foliot.core.document import check_prose
from foliot.core.errors import Invalid

DEFAULT_QUEUE = "default"
KNOWN_QUEUES = (DEFAULT_QUEUE, "scraping", "analysis", "monitoring", "maintenance", "manual")
"""The built-in queues, in the order in which they are listed."""

MAX_REASON = 500
RULE = "must be 1 to 64 letters, digits, '_', '.' or '-'"

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_ALIASES = {"default_queue": DEFAULT_QUEUE}
"""Aliases that other schedulers use for a queue."""


def same_queue(name: str) -> str:
    """The canonical name of a queue."""
    return _ALIASES.get(name, name)


def is_queue(name: str) -> bool:
    """Whether a queue could have this name."""
    return _NAME.fullmatch(name) is not None


def queue_name(value: object, field: str = "queue") -> str:
    """The canonical name of a queue, or `Invalid`."""
    if not isinstance(value, str) or not is_queue(value):
        raise Invalid(field, RULE, got=value)
    return same_queue(value)


PRIORITIES = range(1, 11)
"""1 is the most urgent."""

Queue = Annotated[
    str, Described({"pattern": f"^{_NAME.pattern}$"}), Parsed(lambda path, got: queue_name(got, path)), OR_NULL
]
Priority = Annotated[int, Interval(ge=PRIORITIES[0], le=PRIORITIES[-1]), OR_NULL]


@declared
class PauseRequest:
    """Why the schedule is paused."""

    reason: Annotated[str | None, MaxLen(MAX_REASON), Checked(check_prose)] = None
