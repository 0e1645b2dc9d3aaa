"""The request for an invitation."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from annotated_types import Interval

from foliot.core.access import Role
from foliot.core.declaration import Missing, Name, declared

LONGEST_HOURS = 30 * 24


@declared(example={"name": "eva", "role": "operator"})
class InviteRequest:
    """The person to invite."""

    name: Name
    """They act as `key:NAME`, in the audit log too."""
    role: Annotated[Role, Missing(f"is required: one of {', '.join(Role)}")]
    """Never above your own."""
    expires_at: datetime | None = None
    """When their access ends; without it, as late as that of an API key that you create."""
    link_hours: Annotated[int, Interval(ge=1, le=LONGEST_HOURS)] = 72
    """For how many hours the link works."""
