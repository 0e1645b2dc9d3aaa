"""The port for named sessions: the cookies that a request sends, and the sign-in that may come before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from foliot.core.errors import Invalid
from foliot.core.secrets import is_name
from foliot.features.fetching.browser_actions import BrowserActions


def read_session(where: str, raw: object) -> str:
    """The name of a session."""
    if not isinstance(raw, str) or not is_name(raw):
        rule = "must be the name of a session: 1 to 64 letters, digits and underscores, no digit first"
        raise Invalid(where, rule, got=str(raw)[:100])
    return raw


def check_session(raw: str) -> str:
    """The same; for declarations of pydantic."""
    try:
        return read_session("session", raw)
    except Invalid as wrong:
        raise ValueError(wrong.message) from None


SIGNED_OUT = frozenset({401, 403})
"""Statuses of pages that ask for a sign-in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSession:
    """A session of the request's host."""

    tenant_id: str
    host: str
    name: str
    cookies: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    """In the form of browsers."""
    login: str | None = None
    """URL of the sign-in; None: nothing renews this session by itself."""
    actions: BrowserActions = field(default_factory=BrowserActions)
    due: bool = False
    """A sign-in comes before the next page."""
    fresh: bool = False
    """The last sign-in was a moment ago."""


class SessionUnusable(Exception):
    """There is no such session, or its sign-in failed lately: a code, one sentence, and when to try again."""

    def __init__(self, code: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after


class PageSessions(Protocol):
    """The sessions of tenants."""

    async def find(self, tenant_id: str, name: str, host: str, *, anew: bool = False) -> PageSession | None:
        """None where the tenant has a session of that name, but none for this host; `anew`: read from the database."""
        ...

    def header(self, session: PageSession, url: str) -> str:
        """The `Cookie` header of a request."""
        ...

    async def answered(self, session: PageSession, url: str, lines: Sequence[str]) -> None:
        """An answer had these `Set-Cookie` headers."""
        ...

    async def replaced(self, session: PageSession, cookies: Sequence[Mapping[str, Any]], *, signed_in: bool) -> None:
        """The cookies that a browser has now."""
        ...

    async def ended(self, session: PageSession) -> None:
        """A page asked for a sign-in: it comes next."""
        ...

    async def failed(self, session: PageSession, why: str) -> None:
        """The sign-in failed."""
        ...
