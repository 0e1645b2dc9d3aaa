"""Requests and answers about mutes."""

from __future__ import annotations

from datetime import datetime

from foliot.core.declaration import declared
from foliot.features.mutes.model import MuteRecord


@declared
class MutedGroup:
    """A group of dead letters that is muted for a while; the mute ends by itself."""

    fingerprint: str
    user_id: str
    """Who muted it."""
    at: datetime
    until: datetime
    reason: str

    @classmethod
    def of(cls, one: MuteRecord) -> MutedGroup:
        return cls(fingerprint=one.fingerprint, user_id=one.user_id, at=one.at, until=one.until, reason=one.reason)


@declared
class UnmutedGroup:
    """A group of dead letters that is no longer muted."""

    fingerprint: str
    mute: None = None
