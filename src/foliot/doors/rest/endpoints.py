"""The route of those whom webhooks call."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fastapi import APIRouter, Response

from foliot.domain.access import Thing, Verb
from foliot.domain.endpoint import Endpoint
from foliot.domain.reading import rfc3339
from foliot.doors.rest import render
from foliot.doors.rest.asking import Cases
from foliot.doors.rest.bodies import Model
from foliot.doors.rest.who import Who, permits
from foliot.usecases.endpoints import NAMED, Called

router = APIRouter(prefix="/api/endpoints", tags=["Runs"])


class CallerModel(Model):
    """A schedule that called it."""

    id: str
    name: str


class EndpointModel(Model):
    """A target of webhooks, by its address without query."""

    url: str
    calls: int
    """Attempts; those that were cancelled or lost on our side are not counted."""
    succeeded: int
    failed: int
    success_ratio: float
    p50_ms: float
    p95_ms: float
    codes: dict[str, int]
    """How calls ended, the most frequent first: `2xx`, or the code of the error."""
    failing_since: datetime | None
    """Since when every call has failed; null when the last one succeeded."""
    last_at: datetime
    last_run_id: str
    last_error: str | None
    schedules: list[CallerModel]
    """The latest five that called it."""
    schedule_count: int


class EndpointList(Model):
    """Whoever was called within a day; those that fail now first."""

    items: list[EndpointModel]
    next_cursor: None
    total: int
    since: datetime
    whole: bool
    """False when there were more runs than the newest 2,000, which alone were looked at."""


@router.get(
    "",
    dependencies=[permits(Verb.READ, Thing.RUN)],
    response_model=EndpointList,
    summary="How the targets of webhooks fare",
)
async def list_(cases: Cases, caller: Who) -> Response:
    """By the calls of the last 24 hours: how many succeeded, how long they took, how they ended, since when it fails.
    At most 200, the worst first."""
    found = await cases.endpoints.list(caller)
    return render.answer(
        {
            "items": [_endpoint(found, one) for one in found.items],
            "next_cursor": None,
            "total": found.total,
            "since": rfc3339(found.since),
            "whole": found.whole,
        }
    )


def _endpoint(found: Called, one: Endpoint) -> dict[str, Any]:
    error = one.last.error or {}
    return {
        "url": one.url,
        "calls": len(one.calls),
        "succeeded": one.succeeded,
        "failed": one.failed,
        "success_ratio": one.success_ratio,
        "p50_ms": round(one.took_ms(0.5), 1),
        "p95_ms": round(one.took_ms(0.95), 1),
        "codes": one.codes,
        "failing_since": rfc3339(one.failing_since),
        "last_at": rfc3339(one.last.ended_at),
        "last_run_id": one.last.run_id,
        "last_error": None if one.last.good else str(error.get("message") or ""),
        "schedules": [{"id": each, "name": found.names.get(each, each)} for each in one.schedule_ids[:NAMED]],
        "schedule_count": len(one.schedule_ids),
    }
