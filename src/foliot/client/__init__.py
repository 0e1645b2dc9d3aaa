"""The Python client of Foliot's HTTP API.

from foliot.client import Foliot

with Foliot() as client:
    schedule = client.schedules.create(name="Prices", cron="0 2 * * *", webhook="https://example.com/hook")
    run = client.schedules.run_now(schedule["id"])
    for event in client.runs.follow(run["id"]):
        print(event)
"""

from __future__ import annotations

from foliot.client.async_session import AsyncItems
from foliot.client.clients import AsyncFoliot, Foliot
from foliot.client.errors import (
    Conflict,
    FoliotError,
    Forbidden,
    Invalid,
    NotFound,
    TooMany,
    Unauthenticated,
    Unavailable,
)
from foliot.client.session import Items

__all__ = [
    "AsyncFoliot",
    "AsyncItems",
    "Conflict",
    "Foliot",
    "FoliotError",
    "Forbidden",
    "Invalid",
    "Items",
    "NotFound",
    "TooMany",
    "Unauthenticated",
    "Unavailable",
]
