"""The answer to an invitation."""

from __future__ import annotations

from datetime import datetime

from foliot.core.access import Role
from foliot.core.declaration import declared


@declared
class Invite:
    """An invitation; its link is shown only once."""

    key_id: str
    """The API key that holds their access: revoking it ends it, and the link."""
    name: str
    role: Role
    url: str
    """Signs in the person who opens it, once."""
    link_expires_at: datetime
    expires_at: datetime | None
