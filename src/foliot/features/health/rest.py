"""Routes of liveness, readiness and health."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, cast

from fastapi import APIRouter, Response

from foliot import __version__
from foliot.core.histogram import LATENESS_BUCKETS, Histogram
from foliot.engine.model.stall import Standstill
from foliot.features.health import schema
from foliot.features.health.usecases import HealthChecks, HealthStatus, NodeReport
from foliot.servers.http import encode
from foliot.servers.http.permission import PUBLIC, Who, permits
from foliot.servers.http.request import Cases

router = APIRouter(tags=["Health"])

_HISTOGRAMS = frozenset({"lateness", "start_lateness", "duration"})


@router.get(
    "/health",
    dependencies=[PUBLIC],
    response_model=schema.Liveness,
    summary="Whether this process answers",
    operation_id="health.live",
)
async def health() -> Response:
    return encode.answer(
        schema.Liveness(
            status="ok",
            version=__version__,
        )
    )


@router.get(
    "/health/detailed",
    dependencies=[permits(HealthChecks.detailed)],
    response_model=schema.HealthReport,
    responses={503: {"model": schema.HealthReport, "description": "The database does not answer"}},
    summary="Every dependency, with its latency",
)
async def detailed(cases: Cases, caller: Who) -> Response:
    """`degraded` when something is missing though the database answers; 503 only when it does not."""
    seen = await cases[HealthChecks].detailed(caller)
    return encode.answer(_health(seen), 503 if seen.status == "down" else 200)


def _health(seen: HealthStatus) -> schema.HealthReport:
    return schema.HealthReport(
        status=cast("schema.Overall", seen.status),
        version=__version__,
        problems=list(seen.problems),
        database=schema.DatabaseHealth(
            status=_database(seen),
            latency_ms=seen.latency_ms,
            error=seen.error,
            disk=seen.disk,
        ),
        feed=None if seen.feed is None else schema.FeedHealth(**asdict(seen.feed)),
        broker=None if seen.broker is None else schema.BrokerHealth(**asdict(seen.broker)),
        scrapyd=[schema.ScrapydHealth(**each.as_dict()) for each in seen.crawlers],
        nodes=[_node(node) for node in seen.nodes],
        queues=[
            schema.QueueHealth(
                queue=name,
                depth=queue["depth"],
                oldest=_moment(queue),
            )
            for name, queue in sorted((seen.queues or {}).items())
        ],
        parked=None
        if seen.parked is None
        else schema.ParkedHealth(count=seen.parked["count"], oldest=_moment(seen.parked)),
        standstills=[_standstill(one) for one in seen.standstills],
        ahead=[
            schema.AheadHealth(
                tenant_id=tenant_id,
                schedule_id=schedule_id,
            )
            for tenant_id, schedule_id in seen.ahead
        ],
        damaged=[
            schema.DamagedSchedule(
                schedule_id=schedule_id,
                fault=fault,
            )
            for schedule_id, fault in seen.damaged
        ],
    )


def _standstill(one: Standstill) -> schema.StandstillHealth:
    return schema.StandstillHealth(
        reason=one.why,
        told=one.told,
        seconds=round(one.seconds, 1),
        hosts=[schema.HostHealth(host=each.host, tenant_id=each.tenant_id, slots=each.slots) for each in one.holders],
        detail=one.detail,
        node=one.node or None,
    )


def _database(seen: HealthStatus) -> schema.DatabaseStatus:
    if seen.error is None:
        return "ok"
    return "down" if seen.status == "down" else "refuses"


def _moment(queue: Mapping[str, Any]) -> datetime | None:
    oldest: datetime | None = queue["oldest"]
    return oldest


def _node(node: NodeReport) -> schema.NodeHealth:
    lateness = Histogram(LATENESS_BUCKETS)
    lateness.add(node.report.get("lateness") or {})
    return schema.NodeHealth(
        id=node.id,
        role=node.role,
        started_at=node.started_at,
        seen_at=node.seen_at,
        lateness_p99_seconds=_quantile(lateness, 0.99),
        report={name: value for name, value in node.report.items() if name not in _HISTOGRAMS},
    )


def _quantile(histogram: Histogram, share: float) -> float | None:
    """The upper bound of the bucket with this quantile; None without data, or when it lies above all buckets."""
    running, wanted = 0, histogram.count * share
    for bound, count in zip(histogram.bounds, histogram.counts, strict=False):
        running += count
        if histogram.count and running >= wanted:
            return bound
    return None
