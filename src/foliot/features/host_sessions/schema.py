"""Answers about host sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from foliot.core.declaration import declared
from foliot.features.fetching.browser_actions import as_document
from foliot.features.host_sessions.model import HostSession


@declared
class HostSessionStatus:
    """A session, without its cookies."""

    host: str
    name: str
    login: dict[str, Any] | None
    """Page of the sign-in and its steps; secrets by name."""
    cookies: int
    """How many are stored."""
    signed_in_at: datetime | None
    problem: str | None
    """Why the last sign-in failed."""
    updated_at: datetime

    @classmethod
    def of(cls, session: HostSession) -> HostSessionStatus:
        login = session.sign_in
        every = None if login is None or login.every is None else int(login.every.total_seconds())
        return cls(
            host=session.host,
            name=session.name,
            login=None if login is None else {"url": login.url, "every_seconds": every, **as_document(login.actions)},
            cookies=session.count,
            signed_in_at=session.signed_in_at,
            problem=session.problem,
            updated_at=session.updated_at,
        )


@declared
class HostSessionPage:
    """Sessions by host and name."""

    items: list[HostSessionStatus]
    next_cursor: str | None
