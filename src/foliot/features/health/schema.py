"""Response schemas of health: every dependency, and standstills."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from foliot.core.declaration import declared
from foliot.engine.model.stall import StandstillReason

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
    """Runs that wait in a queue."""

    queue: str
    depth: int
    oldest: datetime | None


@declared
class ParkedHealth:
    """Parked runs, whose work goes on elsewhere, and when the next check of one is, or was, due."""

    count: int
    oldest: datetime | None


@declared
class DamagedSchedule:
    """A schedule whose row was damaged."""

    schedule_id: str
    fault: str


@declared
class FeedHealth:
    """How wake-ups of this process reach the others; without it they see changes up to a second late."""

    kind: Literal["memory", "postgresql", "redis"]
    connected: bool
    error: str | None


@declared
class BrokerHealth:
    """The broker that carries runs to workers, as the schedulers see it; without it runs wait."""

    url: str
    publishing: bool
    error: str | None


@declared
class ScrapydHealth:
    """A Scrapyd that runs crawls, checked just now; without it crawls go to the others, or wait."""

    url: str
    name: str
    status: Literal["ok", "down"]
    pending: int | None
    running: int | None
    latency_ms: float | None
    error: str | None


@declared
class HostHealth:
    """A host that holds slots, and the runs that hold them."""

    host: str
    tenant_id: str
    slots: int


@declared
class StandstillHealth:
    """Why due work does not begin, as far as a process can see."""

    reason: StandstillReason
    told: str
    seconds: float
    """For how long, by the monotonic clock."""
    hosts: list[HostHealth]
    detail: str
    node: str | None
    """The process that reported it; null for the one that answers."""


@declared
class AheadHealth:
    """A schedule whose next instant was moved into the future by a wrong clock."""

    tenant_id: str
    schedule_id: str


@declared
class HealthReport:
    """Every dependency, and what is wrong."""

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
