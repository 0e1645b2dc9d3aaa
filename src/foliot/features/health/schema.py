"""The shapes of what health says: every dependency, and what stands still."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from foliot.engine.model.stall import StandstillReason
from foliot.servers.http.schema import declared

Overall = Literal["ok", "degraded", "down"]
DatabaseStatus = Literal["ok", "refuses", "down"]


@declared
class Liveness:
    """This process answers."""

    status: Literal["ok"]
    version: str


@declared
class DatabaseHealth:
    """The one dependency that is always needed."""

    status: DatabaseStatus
    latency_ms: float | None
    error: str | None
    disk: Mapping[str, Any] | None


@declared
class NodeHealth:
    """A process that reported in the last 30 s."""

    id: str
    role: str
    started_at: datetime
    seen_at: datetime
    lateness_p99_seconds: float | None
    report: dict[str, Any]


@declared
class QueueHealth:
    """What waits in a queue."""

    queue: str
    depth: int
    oldest: datetime | None


@declared
class ParkedHealth:
    """Runs whose effect goes on elsewhere, and when the next look at one is due, or was."""

    count: int
    oldest: datetime | None


@declared
class DamagedSchedule:
    """A schedule whose row was damaged."""

    schedule_id: str
    fault: str


@declared
class FeedHealth:
    """How the wakes of this process reach the others; without it they see changes up to a second late."""

    kind: Literal["memory", "postgresql", "redis"]
    connected: bool
    error: str | None


@declared
class BrokerHealth:
    """What carries runs to workers, as the schedulers see it; without it runs wait."""

    url: str
    publishing: bool
    error: str | None


@declared
class ScrapydHealth:
    """A Scrapyd on which crawls run, asked just now; without it crawls go to the others, or wait."""

    url: str
    name: str
    status: Literal["ok", "down"]
    pending: int | None
    running: int | None
    latency_ms: float | None
    error: str | None


@declared
class HostHealth:
    """A host that holds slots, and whose runs they are."""

    host: str
    tenant_id: str
    slots: int


@declared
class StandstillHealth:
    """Why due work does not begin, as far as a process can see."""

    reason: StandstillReason
    told: str
    seconds: float
    """For how long, by the clock that no one can step."""
    hosts: list[HostHealth]
    detail: str
    node: str | None
    """The process that reported it; null for the one that answers."""


@declared
class AheadHealth:
    """A schedule whose next instant a wrong clock led into the future."""

    tenant_id: str
    schedule_id: str


@declared
class HealthReport:
    """Every dependency, and what stands out."""

    status: Overall
    version: str
    problems: list[str]
    database: DatabaseHealth
    feed: FeedHealth | None
    broker: BrokerHealth | None
    scrapyd: list[ScrapydHealth]
    nodes: list[NodeHealth]
    queues: list[QueueHealth]
    parked: ParkedHealth | None
    standstills: list[StandstillHealth]
    ahead: list[AheadHealth]
    damaged: list[DamagedSchedule]
