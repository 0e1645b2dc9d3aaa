"""Routes of plans."""

from __future__ import annotations

from fastapi import APIRouter, Response

from foliot.features.plans.model.request import ApplyRequest, PlanRequest
from foliot.features.plans.schema import PlanAnswer
from foliot.features.plans.usecases.plans import Plans
from foliot.features.schedules import schema
from foliot.servers.http import encode
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Batch, Body, Cases, ScheduleId
from foliot.servers.http.schema import CONFLICT, UNKNOWN, body

router = APIRouter(tags=["Plans"])


@router.post(
    "/api/plan",
    dependencies=[permits(Plans.plan)],
    response_model=PlanAnswer,
    openapi_extra=body(PlanRequest),
    summary="Compare documents with what is stored",
)
async def plan(cases: Cases, caller: Who, asked: Batch) -> Response:
    """Writes nothing. Each document is created, changed, left as it is, or has drifted: it was edited by hand since it
    was last applied, which `overwrite` undoes. A fault names its document and field, as in `schedules[3].cron_expr`."""
    return encode.answer(PlanAnswer.of(await cases[Plans].plan(caller, asked.document)))


@router.post(
    "/api/plan/apply",
    dependencies=[permits(Plans.apply)],
    response_model=PlanAnswer,
    responses=CONFLICT,
    openapi_extra=body(ApplyRequest),
    summary="Apply a plan",
)
async def apply(cases: Cases, caller: Who, asked: Batch) -> Response:
    """The same request with the `digest` of the plan that was shown; refused (409) when the plan would be another by
    now. A thousand changes are one transaction."""
    once = asked.once(200, PlanAnswer.of)
    return encode.answer(PlanAnswer.of(await cases[Plans].apply(caller, asked.document, once)))


@router.post(
    "/api/schedules/{schedule_id}/take-over",
    dependencies=[permits(Plans.take_over)],
    response_model=schema.Schedule,
    responses=UNKNOWN | CONFLICT,
    summary="Take a schedule over from its file",
    operation_id="schedules.take_over",
)
async def take_over(cases: Cases, caller: Who, schedule_id: ScheduleId, asked: Body) -> Response:
    """For schedules with `managed_by: file:NAME`: it becomes `api`. The next plan of the file reports the schedule as
    drift and leaves it alone."""
    once = asked.once(200, schema.Schedule.of)
    return encode.answer(schema.Schedule.of(await cases[Plans].take_over(caller, schedule_id, once)))
