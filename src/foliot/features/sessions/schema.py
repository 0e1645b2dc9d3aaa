"""The shapes of requests and answers about signing in and about people."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from foliot.core.access import Role
from foliot.servers.http.bodies import Model


class SessionRequest(Model):
    """What signs you in: one of the two."""

    model_config = ConfigDict(json_schema_extra={"example": {"token": "flt_1a2b3c4d_…"}})

    token: str | None = None
    """A token (JWT) or an API key."""
    code: str | None = None
    """The code of a login link."""


class Features(Model):
    """What this server has."""

    pipelines: bool
    scrapyd: bool
    echo: bool


class DemoNote(Model):
    """Whether the demo is on."""

    on: bool
    schedules: int


class Demo(DemoNote):
    """What there is of the demo."""

    runs: int


class DemoRemoved(Model):
    """What was removed."""

    schedules: int
    runs: int


class Session(Model):
    """Who you are here. Whoever is not signed in is told `mode`, `signed_in` and `version`."""

    mode: Literal["local", "secured"]
    signed_in: bool
    version: str
    user_id: str | None = None
    tenant_id: str | None = None
    role: Role | None = None
    may: list[str] | None = None
    """What you may do: `read:schedule`, `run:dead_letter`, …"""
    expires_at: datetime | None = None
    timezone: str | None = None
    """Of schedules that name none."""
    csrf: str | None = None
    """For the header `X-CSRF-Token`; null where none is needed."""
    demo: DemoNote | None = None
    features: Features | None = None


class SessionsEnded(Model):
    """How many sessions there were."""

    ended: int


class LoginLink(Model):
    """An address that signs you in once."""

    url: str
    expires_at: datetime


class Member(Model):
    """Somebody who was seen in the tenant: a person, or an API key under its name."""

    user_id: str
    roles: list[Role]
    """Of their API keys that count, and those they signed in with."""
    keys: int
    """API keys that they made and that count."""
    last_seen_at: datetime | None
    last_action: str | None
    """As in the audit log: `pause schedule`."""


class Members(Model):
    """Who was seen in the tenant, the latest first."""

    items: list[Member]
    next_cursor: str | None


REQUESTS: tuple[type[BaseModel], ...] = (SessionRequest,)
