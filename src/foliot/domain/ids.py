"""Names for things: a prefix that says the kind, and digits that sort by time."""

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


def floor_id(prefix: str, moment: datetime) -> str:
    """Smaller than every id made at this moment or later, for finding things by age through their key."""
    return f"{prefix}_{int(moment.timestamp() * 1000):012x}"
