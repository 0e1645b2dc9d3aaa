"""Routes of those whom webhooks call."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from foliot.core.document import rfc3339
from foliot.engine.model.breaker import OpenBreaker
from foliot.engine.model.views import RunView
from foliot.features.endpoints.model import Endpoint
from foliot.features.endpoints.usecases import LONGEST_URL, NAMED, Called, Endpoints
from foliot.servers.http import encode, models
from foliot.servers.http.bodies import Model, body
from foliot.servers.http.models import CONFLICT, UNKNOWN
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases

router = APIRouter(prefix="/api/endpoints", tags=["Runs"])


class CallerModel(Model):
    """A schedule that called it."""

    id: str
    name: str


class UsedSecretModel(Model):
    """A secret that goes into its calls; never a value."""

    name: str
    since: datetime | None
    """Since when it has its present value; null for a setting, and where there is no such secret."""
    version: int | None


class BreakerModel(Model):
    """A target that is left alone because it did not answer, but for a trial now and then."""

    target: str
    """Host and port of webhooks, `grpc:` and a service, or `scrapyd`."""
    state: Literal["open", "half_open"]
    """`half_open` while a trial is under way."""
    since: datetime
    failures: int
    """Attempts in a row that went unanswered."""
    why: str
    """What the last of them said."""
    next_trial_at: datetime | None
    """Null while a trial is under way."""


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
    failing_from: datetime | None
    """When the first of the runs was made that have failed since: from there on they are to be recovered."""
    last_at: datetime
    last_run_id: str
    last_error: str | None
    schedules: list[CallerModel]
    """The latest five that called it."""
    schedule_count: int
    breaker: BreakerModel | None
    """Of its host and port, while it is open: runs wait."""
    secrets: list[UsedSecretModel] | None
    """What signs its calls first, then what their headers hold, by the settings of those schedules now; empty: none.
    Null where the caller may not know."""


class EndpointList(Model):
    """Whoever was called within a day; those that fail now first."""

    items: list[EndpointModel]
    next_cursor: str | None
    total: int
    since: datetime
    whole: bool
    """False when there were more runs than the newest 2,000, which alone were looked at."""
    breakers: list[BreakerModel]
    """All that are open, the longest open first; also of targets that are no webhooks."""


class TestRequest(Model):
    """Which target to try out."""

    url: str = Field(max_length=LONGEST_URL, description="Its address; a query is left out of account.")
    schedule_id: str | None = Field(None, description="Whose settings to use, of those that call it.")


REQUESTS = (TestRequest,)


@router.get(
    "",
    dependencies=[permits(Endpoints.list)],
    response_model=EndpointList,
    summary="How the targets of webhooks fare",
)
async def list_(cases: Cases, caller: Who, part: Parted) -> Response:
    """By the calls of the last 24 hours: how many succeeded, how long they took, how they ended, since when it fails.
    At most 200, the worst first. A target whose breaker is open is left alone until its next trial."""
    found = await cases[Endpoints].list(caller)
    shown, following = part.of(found.items, lambda one: one.url)
    return encode.answer(
        {
            "items": [_endpoint(found, one) for one in shown],
            "next_cursor": following,
            "total": found.total,
            "since": rfc3339(found.since),
            "whole": found.whole,
            "breakers": [_breaker(one) for one in found.breakers],
        }
    )


@router.post(
    "/test",
    dependencies=[permits(Endpoints.test)],
    status_code=202,
    response_model=models.Run,
    openapi_extra=body(TestRequest),
    responses={**UNKNOWN, **CONFLICT},
    summary="Send a test",
)
async def send_test(cases: Cases, caller: Who, asked: Body) -> Response:
    """One signed request, now, to a target that a schedule calls, by that schedule's settings; marked by the header
    `X-Foliot-Test` and, of a POST, by its body. A run of its own: tried once, and never a dead letter."""
    made = await cases[Endpoints].test(caller, asked.document, asked.once(202, _run, encode.located))
    return encode.answer(encode.run(made), 202, encode.located(made))


def _run(run: RunView) -> bytes:
    return encode.dumps(encode.run(run))


def _breaker(one: OpenBreaker) -> dict[str, Any]:
    told = one.as_dict()
    del told["tenant_id"]
    return told


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
        "failing_from": rfc3339(one.failing_from),
        "last_at": rfc3339(one.last.ended_at),
        "last_run_id": one.last.run_id,
        "last_error": None if one.last.good else str(error.get("message") or ""),
        "schedules": [{"id": each, "name": found.names.get(each, each)} for each in one.schedule_ids[:NAMED]],
        "schedule_count": len(one.schedule_ids),
        "breaker": None if (breaker := found.breaker(one.url)) is None else _breaker(breaker),
        "secrets": None
        if found.secrets is None
        else [
            {"name": each.name, "since": rfc3339(each.since), "version": each.version}
            for each in found.secrets[one.url]
        ],
    }
