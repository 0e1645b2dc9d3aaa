"""A mute: a group of dead letters that needs no attention for a while."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from annotated_types import Interval, MaxLen

from foliot.core.declaration import Checked, declared, read
from foliot.core.document import check_prose

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


@declared
class MuteRequest:
    """For how long, and why."""

    hours: Annotated[int, Interval(ge=1, le=MOST_HOURS)] = USUAL_HOURS
    reason: Annotated[str, MaxLen(MOST_REASON), Checked(check_prose)] = ""


def read_mute(raw: object, fingerprint: str, user_id: str, now: datetime) -> MuteRecord:
    """The mute that a request asks for, from now on."""
    asked = read(MuteRequest, raw)
    until = now + timedelta(hours=asked.hours)
    return MuteRecord(fingerprint=fingerprint, user_id=user_id, at=now, until=until, reason=asked.reason.strip())
