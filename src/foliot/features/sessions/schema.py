"""The shapes of requests and answers about signing in and about people."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NotRequired

from pydantic import with_config
from typing_extensions import TypedDict

from foliot.core.access import Role
from foliot.features.demo.schema import DemoState
from foliot.servers.http.schema import CLOSED, declared


@declared
class StreamTicket:
    """A ticket, which is shown this once."""

    ticket: str
    expires_at: datetime


@declared(example={"token": "flt_1a2b3c4d_…"})
class SessionRequest:
    """What signs you in: one of the two."""

    token: str | None = None
    """A token (JWT) or an API key."""
    code: str | None = None
    """The code of a login link."""


@declared
class ServerFeatures:
    """What this server has."""

    pipelines: bool
    scrapyd: bool
    echo: bool


@with_config(CLOSED)
class SessionInfo(TypedDict):
    """Who you are here. Whoever is not signed in is told `mode`, `signed_in` and `version`."""

    mode: Literal["local", "secured"]
    signed_in: bool
    version: str
    user_id: NotRequired[str | None]
    tenant_id: NotRequired[str | None]
    role: NotRequired[Role | None]
    may: NotRequired[list[str] | None]
    """What you may do: `read:schedule`, `run:dead_letter`, …"""
    expires_at: NotRequired[datetime | None]
    timezone: NotRequired[str | None]
    """Of schedules that name none."""
    csrf: NotRequired[str | None]
    """For the header `X-CSRF-Token`; null where none is needed."""
    demo: NotRequired[DemoState | None]
    features: NotRequired[ServerFeatures | None]


@declared
class SessionsEnded:
    """How many sessions there were."""

    ended: int


@declared
class LoginLink:
    """An address that signs you in once."""

    url: str
    expires_at: datetime


@declared
class MemberInfo:
    """Somebody who was seen in the tenant: a person, or an API key under its name."""

    user_id: str
    roles: list[Role]
    """Of their API keys that count, and those they signed in with."""
    keys: int
    """API keys that they made and that count."""
    last_seen_at: datetime | None
    last_action: str | None
    """As in the audit log: `pause schedule`."""


@declared
class MemberPage:
    """Who was seen in the tenant, the latest first."""

    items: list[MemberInfo]
    next_cursor: str | None
