"""Requests and answers about monitors and pings."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from foliot.core.declaration import declared
from foliot.features.monitors import model
from foliot.features.monitors.model import LONGEST_GRACE, MonitorRequest, MonitorStatus, MonitorType, PingKind
from foliot.features.monitors.usecases import MonitorView
from foliot.servers.http.schema import Name, Tags

Grace = Annotated[int, Field(ge=1, le=LONGEST_GRACE, description="Seconds after the expected time before it is late.")]


@declared
class MonitorChange:
    """Fields to change; those that are absent stay."""

    name: Name | None = None
    type: MonitorType | None = None
    cron_expr: str | None = None
    interval_seconds: Annotated[int, Field(ge=1)] | None = None
    timezone: str | None = None
    grace_seconds: Grace | None = None
    tags: Tags | None = None


@declared
class MonitorDetail:
    """A monitor."""

    id: str
    name: str
    type: MonitorType
    cron_expr: str | None
    interval_seconds: int | None
    timezone: str
    summary: str
    """When pings are expected, in words."""
    grace_seconds: int
    tags: list[str]
    status: MonitorStatus
    ping_url: str | None
    """Null for callers who may not change monitors, and where the master key that made it is gone."""
    last_ping_at: datetime | None
    last_duration_ms: int | None
    started_at: datetime | None
    """Since when its job runs, as far as it reports starts."""
    next_expected_at: datetime | None
    pings: int
    """How many have come in all."""
    created_by: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, view: MonitorView, base: str) -> MonitorDetail:
        one = view.monitor
        said = one.settings.as_dict()
        return cls(
            id=one.id,
            name=one.settings.name,
            type=MonitorType(said["type"]),
            cron_expr=said.get("cron_expr"),
            interval_seconds=said.get("interval_seconds"),
            timezone=said["timezone"],
            summary=one.settings.trigger.summary,
            grace_seconds=said["grace_seconds"],
            tags=said["tags"],
            status=one.status,
            ping_url=None if view.key is None else f"{base}/ping/{view.key}",
            last_ping_at=one.last_ping_at,
            last_duration_ms=one.last_duration_ms,
            started_at=one.started_at,
            next_expected_at=one.next_expected_at,
            pings=one.pings,
            created_by=one.created_by,
            created_at=one.created_at,
            updated_at=one.updated_at,
        )


@declared
class MonitorPage:
    """A list of monitors."""

    items: list[MonitorDetail]
    next_cursor: str | None


@declared
class MonitorPing:
    """One ping."""

    id: str
    kind: PingKind
    at: datetime
    method: str
    exit_code: int | None
    duration_ms: int | None
    """From the start of the run to this end."""
    rid: str | None
    user_agent: str
    body: str
    """In a list its first 500 characters."""
    body_bytes: int
    """How many bytes were sent; 100,000 are kept."""

    @classmethod
    def of(cls, ping: model.Ping) -> MonitorPing:
        return cls(
            id=ping.id,
            kind=ping.kind,
            at=ping.at,
            method=ping.method,
            exit_code=ping.exit_code,
            duration_ms=ping.duration_ms,
            rid=ping.rid,
            user_agent=ping.user_agent,
            body=ping.body,
            body_bytes=ping.body_bytes,
        )


@declared
class ExpectedPing:
    """A time at which a ping was or is expected."""

    at: datetime
    outcome: Literal["answered", "late", "failed", "missed", "planned"]
    ping_id: str | None
    """The ping that answers it."""

    @classmethod
    def of(cls, one: model.PingExpectation) -> ExpectedPing:
        return cls(at=one.at, outcome=cast("Any", one.outcome), ping_id=one.ping_id)


@declared
class ExpectedPingPage:
    """Expected times, oldest first."""

    items: list[ExpectedPing]
    next_cursor: str | None


@declared
class MonitorPingPage:
    """A list of pings, newest first."""

    items: list[MonitorPing]
    next_cursor: str | None


__all__ = ["MonitorRequest"]
