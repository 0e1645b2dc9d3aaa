"""Routes of data quality: the series of a schedule, and the quarantine of a run."""

from __future__ import annotations

from fastapi import APIRouter, Response

from foliot.features.expectations import schema
from foliot.features.expectations.usecases import DataQuality
from foliot.servers.http import encode
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases, RunId, ScheduleId
from foliot.servers.http.schema import CONFLICT, UNKNOWN

router = APIRouter(tags=["Data quality"])


@router.get(
    "/api/schedules/{schedule_id}/quality",
    dependencies=[permits(DataQuality.of_schedule)],
    response_model=schema.ScheduleQualityAnswer,
    responses=UNKNOWN,
    summary="Show the data of a schedule's newest runs",
    operation_id="schedules.quality",
)
async def schedule_quality(cases: Cases, caller: Who, schedule_id: ScheduleId) -> Response:
    """Items, coverage and errors of up to 100 runs, the baseline, and expectations that would fit them."""
    quality = await cases[DataQuality].of_schedule(caller, schedule_id)
    return encode.answer(schema.ScheduleQualityAnswer.of(quality))


@router.get(
    "/api/runs/{run_id}/quarantine",
    dependencies=[permits(DataQuality.quarantine)],
    response_model=schema.QuarantineAnswer,
    responses={**CONFLICT, **UNKNOWN},
    summary="Show what became of the data of a degraded run",
    operation_id="runs.quarantine",
)
async def quarantine(cases: Cases, caller: Who, run_id: RunId) -> Response:
    """A run that is not degraded answers 409."""
    return encode.answer(schema.QuarantineAnswer.of(await cases[DataQuality].quarantine(caller, run_id)))


@router.post(
    "/api/runs/{run_id}/quarantine/release",
    dependencies=[permits(DataQuality.release)],
    response_model=schema.QuarantineAnswer,
    responses={**CONFLICT, **UNKNOWN},
    summary="Release the data of a degraded run",
    operation_id="runs.quarantine_release",
)
async def release(cases: Cases, caller: Who, run_id: RunId, asked: Body) -> Response:
    """The data are accepted as they are. Those of a pipeline are written to its sinks, by the run `release_id`."""
    made = await cases[DataQuality].release(caller, run_id, asked.once(200, schema.QuarantineAnswer.of))
    return encode.answer(schema.QuarantineAnswer.of(made))


@router.post(
    "/api/runs/{run_id}/quarantine/drop",
    dependencies=[permits(DataQuality.drop)],
    response_model=schema.QuarantineAnswer,
    responses={**CONFLICT, **UNKNOWN},
    summary="Drop the data of a degraded run",
    operation_id="runs.quarantine_drop",
)
async def drop(cases: Cases, caller: Who, run_id: RunId, asked: Body) -> Response:
    """Deletes the withheld items; the run stays degraded."""
    made = await cases[DataQuality].drop(caller, run_id, asked.once(200, schema.QuarantineAnswer.of))
    return encode.answer(schema.QuarantineAnswer.of(made))
