"""Routes of webhook targets."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Query, Response

from foliot.engine.model.breaker import OpenBreakerReport
from foliot.features.endpoints import schema
from foliot.features.endpoints.model import ENDPOINT_SORTS, EndpointStats, read_endpoint_sort
from foliot.features.endpoints.usecases import NAMED, CalledEndpoints, Endpoints, EndpointTestRequest
from foliot.features.runs import schema as runs_schema
from foliot.servers.http import encode
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import CONFLICT, UNKNOWN, body

router = APIRouter(prefix="/api/endpoints", tags=["Runs"])


@router.get(
    "",
    dependencies=[permits(Endpoints.list)],
    response_model=schema.EndpointPage,
    summary="Show the health of webhook targets",
)
async def list_(
    cases: Cases,
    caller: Who,
    part: Parted,
    sort: Annotated[
        str | None, Query(max_length=40, description=f"{', '.join(ENDPOINT_SORTS)}; by default `failing`.")
    ] = None,
) -> Response:
    """By the calls of the last 24 hours: success rate, durations, error codes, since when it fails.
    At most 200, by default failing ones first. A target whose breaker is open gets no calls until its next trial."""
    called = await cases[Endpoints].list(caller, read_endpoint_sort(sort))
    shown, following = part.of(called.items, lambda one: one.url)
    return encode.answer(
        schema.EndpointPage(
            items=[_endpoint(called, one) for one in shown],
            next_cursor=following,
            total=called.total,
            since=called.since,
            whole=called.whole,
            breakers=[_breaker(one) for one in called.breakers],
        )
    )


@router.post(
    "/test",
    dependencies=[permits(Endpoints.test)],
    status_code=202,
    response_model=runs_schema.Run,
    openapi_extra=body(EndpointTestRequest),
    responses={**UNKNOWN, **CONFLICT},
    summary="Send a test",
)
async def send_test(cases: Cases, caller: Who, asked: Body) -> Response:
    """One signed request, now, to a target that a schedule calls, with that schedule's settings; marked by the header
    `X-Foliot-Test` and, for a POST, by its body. A run of its own: attempted once, and never a dead letter."""
    run = await cases[Endpoints].test(caller, asked.document, asked.once(202, runs_schema.Run.of, runs_schema.located))
    return encode.answer(runs_schema.Run.of(run), 202, runs_schema.located(run))


def _breaker(one: OpenBreakerReport) -> schema.CircuitBreaker:
    return schema.CircuitBreaker(
        target=one.target,
        state=cast("schema.BreakerIsOpen", one.state),
        since=one.since,
        failures=one.failures,
        why=one.why,
        next_trial_at=one.next_trial_at,
    )


def _endpoint(found: CalledEndpoints, one: EndpointStats) -> schema.EndpointHealth:
    error = one.last.error or {}
    return schema.EndpointHealth(
        url=one.url,
        calls=len(one.calls),
        succeeded=one.succeeded,
        failed=one.failed,
        success_ratio=one.success_ratio,
        p50_ms=round(one.took_ms(0.5), 1),
        p95_ms=round(one.took_ms(0.95), 1),
        codes=one.codes,
        failing_since=one.failing_since,
        failing_from=one.failing_from,
        last_at=one.last.ended_at,
        last_run_id=one.last.run_id,
        last_error=None if one.last.good else str(error.get("message") or ""),
        schedules=[
            schema.CallingSchedule(
                id=each,
                name=found.names.get(each, each),
            )
            for each in one.schedule_ids[:NAMED]
        ],
        schedule_count=len(one.schedule_ids),
        breaker=None if (breaker := found.breaker(one.url)) is None else _breaker(breaker),
        secrets=None
        if found.secrets is None
        else [
            schema.EndpointSecret(
                name=each.name,
                since=each.since,
                version=each.version,
            )
            for each in found.secrets[one.url]
        ],
    )
