"""A mute: a group of dead letters that needs no attention for a while."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from foliot.core.document import Fields
from foliot.core.visible_text import check_prose

USUAL_HOURS = 24
MOST_HOURS = 30 * 24
MOST_REASON = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class MuteRecord:
    """Who muted the group, since when, until when and why."""

    fingerprint: str
    user_id: str
    at: datetime
    until: datetime
    reason: str


def read_mute(raw: object, fingerprint: str, user_id: str, now: datetime) -> MuteRecord:
    """Parse `{"hours": 24, "reason": "…"}`, both of which may be left out."""
    fields = Fields.of("", raw)
    hours = fields.integer("hours", USUAL_HOURS, low=1, high=MOST_HOURS)
    reason = fields.text("reason", "", most=MOST_REASON)
    check_prose("reason", reason)
    fields.finish()
    return MuteRecord(
        fingerprint=fingerprint, user_id=user_id, at=now, until=now + timedelta(hours=hours), reason=reason.strip()
    )
