"""Request and response schemas of sessions, tickets and members."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NotRequired

from pydantic import with_config
from typing_extensions import TypedDict

from foliot.core.access import Role
from foliot.core.declaration import declared
from foliot.features.demo.schema import DemoState
from foliot.servers.http.schema import CLOSED


@declared
class StreamTicket:
    """A ticket, which is shown only once."""

    ticket: str
    expires_at: datetime


@declared(example={"token": "flt_1a2b3c4d_…"})
class SessionRequest:
    """The credential to sign in with: one of the two."""

    token: str | None = None
    """A token (JWT) or an API key."""
    code: str | None = None
    """The code of a login link."""


@declared
class ServerFeatures:
    """Optional features of this server."""

    pipelines: bool
    scrapyd: bool
    echo: bool


@with_config(CLOSED)
class SessionInfo(TypedDict):
    """Who you are here. Without a session it has `mode`, `signed_in` and `version` only."""

    mode: Literal["local", "secured"]
    signed_in: bool
    version: str
    user_id: NotRequired[str | None]
    tenant_id: NotRequired[str | None]
    role: NotRequired[Role | None]
    may: NotRequired[list[str] | None]
    """Your permissions: `read:schedule`, `run:dead_letter`, …"""
    expires_at: NotRequired[datetime | None]
    timezone: NotRequired[str | None]
    """The default of schedules that name none."""
    csrf: NotRequired[str | None]
    """For the header `X-CSRF-Token`; null where none is needed."""
    demo: NotRequired[DemoState | None]
    features: NotRequired[ServerFeatures | None]


@declared
class SessionsEnded:
    """How many sessions were ended."""

    ended: int


@declared
class LoginLink:
    """A URL that signs you in once."""

    url: str
    expires_at: datetime


@declared
class MemberInfo:
    """A user or API key that was active in the tenant."""

    user_id: str
    roles: list[Role]
    """Of their valid API keys, and those they signed in with."""
    keys: int
    """Valid API keys that they created."""
    last_seen_at: datetime | None
    last_action: str | None
    """As in the audit log: `pause schedule`."""


@declared
class MemberPage:
    """The active users and API keys of the tenant, latest first."""

    items: list[MemberInfo]
    next_cursor: str | None
