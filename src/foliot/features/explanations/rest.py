"""Routes of explanations."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from foliot.core.document import moment
from foliot.features.explanations.schema import ExplanationAnswer
from foliot.features.explanations.usecases import Explanations
from foliot.servers.http import encode
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases, RunId, ScheduleId
from foliot.servers.http.schema import UNKNOWN

router = APIRouter(tags=["Explanations"])


@router.get(
    "/api/runs/{run_id}/explain",
    dependencies=[permits(Explanations.of_run)],
    response_model=ExplanationAnswer,
    responses=UNKNOWN,
    summary="Explain a run",
    operation_id="runs.explain",
)
async def explain_run(cases: Cases, caller: Who, run_id: RunId) -> Response:
    """Where it came from, what it waits or waited for, its attempts and its end, each with what proves it."""
    return encode.answer(ExplanationAnswer.of(await cases[Explanations].of_run(caller, run_id)))


@router.get(
    "/api/schedules/{schedule_id}/explain",
    dependencies=[permits(Explanations.of_schedule)],
    response_model=ExplanationAnswer,
    responses=UNKNOWN,
    summary="Explain a time of a schedule",
    operation_id="schedules.explain",
)
async def explain_schedule(
    cases: Cases,
    caller: Who,
    schedule_id: ScheduleId,
    at: Annotated[
        str | None, Query(max_length=64, description="The time in question, RFC 3339; by default the newest one.")
    ] = None,
) -> Response:
    """Why it did, or did not, run at a time. A whole minute stands for every instant within it."""
    asked = None if at is None else moment("at", at)
    return encode.answer(ExplanationAnswer.of(await cases[Explanations].of_schedule(caller, schedule_id, asked)))
