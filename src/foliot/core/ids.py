"""Ids: a prefix for the kind, and a UUIDv7, so that they sort by time."""

from __future__ import annotations

from datetime import datetime

import uuid_utils

SCHEDULE = "sch"
RUN = "run"
KEY = "key"
ENTRY = "aud"
ARTICLE = "art"


def new_id(prefix: str) -> str:
    """A new id, greater than every id made before it on this machine."""
    return f"{prefix}_{uuid_utils.uuid7().hex}"


def id_at(prefix: str, moment: datetime) -> str:
    """An id as it would have been made at this moment."""
    # The time is in the first 48 bits; the rest makes ids unique.
    return floor_id(prefix, moment) + uuid_utils.uuid7().hex[12:]


def floor_id(prefix: str, moment: datetime) -> str:
    """Smaller than every id made at this moment or later, for finding things by age through their key."""
    return f"{prefix}_{int(moment.timestamp() * 1000):012x}"


def earlier_id(one: str, milliseconds: int) -> str:
    """Smaller than every id that was made at most so long before this one."""
    prefix, _, digits = one.partition("_")
    return f"{prefix}_{max(int(digits[:12] or '0', 16) - milliseconds, 0):012x}"
