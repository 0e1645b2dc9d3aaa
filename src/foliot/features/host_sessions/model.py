"""A named session of a host: its cookies, and how a browser signs in to get them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from foliot.features.fetching.browser_actions import BrowserActions, as_document, read_actions

MOST_SESSIONS = 100
"""Limit per tenant."""
MOST_COOKIES = 200
MOST_BYTES = 64 * 1024
"""Of all cookies of a session, as JSON."""
RETRY = timedelta(minutes=5)
"""How long after a sign-in that failed the next one is tried."""
FRESH = timedelta(minutes=10)
"""Pages that ask for a sign-in this soon after one are not asked again."""
PURPOSE = "host-session"

Cookies = Sequence[Mapping[str, Any]]
"""In the form of browsers: name, value, domain, path, expires, httpOnly, secure, sameSite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """The page of the sign-in, and what a browser does there."""

    url: str
    actions: BrowserActions = field(default_factory=BrowserActions)
    every: timedelta | None = None
    """Renews the session this long after the last sign-in; None: only once a page asks for it."""

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> SignIn | None:
        """From its stored form."""
        if not stored:
            return None
        every = stored.get("every")
        return cls(
            url=stored["url"],
            actions=read_actions("login", stored.get("browser") or {}),
            every=None if every is None else timedelta(seconds=every),
        )

    def as_dict(self) -> dict[str, Any]:
        every = None if self.every is None else int(self.every.total_seconds())
        return {"url": self.url, "browser": dict(as_document(self.actions)), "every": every}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSession:
    """One session; `cookies` is None where they were not opened, or cannot be."""

    tenant_id: str
    host: str
    name: str
    sign_in: SignIn | None = None
    cookies: Cookies | None = field(default=None, repr=False)
    count: int = 0
    """How many cookies are stored."""
    signed_in_at: datetime | None = None
    tried_at: datetime | None = None
    problem: str | None = None
    """Why the last sign-in failed."""
    updated_at: datetime
    created_by: str

    def matches(self, host: str) -> bool:
        """Whether it is for pages of this host: its own, or one below it."""
        return host == self.host or host.endswith(f".{self.host}")

    def due(self, now: datetime) -> bool:
        """Whether a sign-in comes before the next page."""
        if self.sign_in is None:
            return False
        if self.cookies is None:
            return True
        if self.signed_in_at is None:
            return not self.cookies
        return self.sign_in.every is not None and self.signed_in_at + self.sign_in.every <= now

    def failed_lately(self, now: datetime) -> bool:
        return self.problem is not None and self.tried_at is not None and self.tried_at + RETRY > now
