"""Answers about the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from foliot.core.declaration import declared


@declared
class AuditLogEntry:
    """One change: who, what, when, and how the thing was before and after."""

    id: str
    at: datetime
    user_id: str
    key_id: str | None
    """The API key that was used, if one was."""
    door: str
    verb: str
    thing: str
    thing_id: str
    thing_name: str | None
    """The present name of a schedule; null for other things."""
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    seq: int | None
    """Its number in the tenant's hash chain, from 1 without gaps; null for the first seconds."""
    digest: str | None


@declared
class AuditPage:
    """A page of the audit log."""

    items: list[AuditLogEntry]
    next_cursor: str | None
