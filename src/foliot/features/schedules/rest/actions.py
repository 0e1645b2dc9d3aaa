"""Routes for a schedule's instants: skip the next one, backfill missed ones, realign a cursor that is ahead."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Response

from foliot.engine.model.schedule import Schedule
from foliot.features.backfills import schema as backfills_schema
from foliot.features.backfills.model import NewBackfill
from foliot.features.backfills.usecases import BackfillEstimate, Backfills
from foliot.features.bulk import schema as bulk_schema
from foliot.features.bulk.rest import view
from foliot.features.bulk.usecases import BulkView
from foliot.features.runs import schema as runs_schema
from foliot.features.schedules import schema
from foliot.features.schedules.model.request import ScheduleRequest, SkipRequest
from foliot.features.schedules.usecases.realign import Realignment
from foliot.features.schedules.usecases.skip_next import Skips
from foliot.features.schedules.usecases.trial import Trials
from foliot.servers.http import encode
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases, ScheduleId
from foliot.servers.http.schema import CONFLICT, UNKNOWN, body

router = APIRouter(prefix="/api/schedules", tags=["Schedules"])


@router.post(
    "/test",
    dependencies=[permits(Trials.trial)],
    status_code=202,
    response_model=runs_schema.Run,
    openapi_extra=body(ScheduleRequest),
    summary="Try a schedule without saving it",
)
async def trial(cases: Cases, caller: Who, asked: Body) -> Response:
    """Runs its action once, now: one attempt, never a dead letter. Only the run is kept, not the schedule."""
    run = await cases[Trials].trial(caller, asked.document, asked.once(202, runs_schema.Run.of, runs_schema.located))
    return encode.answer(runs_schema.Run.of(run), 202, runs_schema.located(run))


@router.post(
    "/{schedule_id}/skip-next",
    dependencies=[permits(Skips.skip_next)],
    response_model=schema.Schedule,
    openapi_extra=body(SkipRequest, required=False),
    responses={**UNKNOWN, **CONFLICT},
    summary="Skip the next scheduled time",
)
async def skip_next(cases: Cases, caller: Who, schedule_id: ScheduleId, asked: Body) -> Response:
    """It makes no run, and the ledger records it as skipped by this user. Asking twice skips one."""
    once = asked.once(200, schema.Schedule.of, schema.etag)
    return _answer(await cases[Skips].skip_next(caller, schedule_id, asked.document, once))


@router.delete(
    "/{schedule_id}/skip-next",
    dependencies=[permits(Skips.undo)],
    response_model=schema.Schedule,
    responses={**UNKNOWN, **CONFLICT},
    summary="Undo the skip",
)
async def unskip(cases: Cases, caller: Who, schedule_id: ScheduleId) -> Response:
    """Only while the instant lies ahead; one that has passed is refused (409)."""
    return _answer(await cases[Skips].undo(caller, schedule_id))


@router.post(
    "/{schedule_id}/backfill",
    dependencies=[permits(Backfills.create)],
    status_code=202,
    response_model=bulk_schema.BulkAction,
    openapi_extra=body(NewBackfill),
    responses={
        **UNKNOWN,
        **CONFLICT,
        200: {"model": backfills_schema.BackfillDryRun, "description": "What it would do (`dry_run`)"},
    },
    summary="Backfill scheduled times",
)
async def backfill(cases: Cases, caller: Who, schedule_id: ScheduleId, asked: Body) -> Response:
    """One run for each instant of the period, as a bulk action; none gets two, however often this is asked."""
    bulk = await cases[Backfills].create(caller, schedule_id, asked.document, asked.once(202, view, _located))
    if isinstance(bulk, BackfillEstimate):
        return encode.answer(_trial(bulk))
    return encode.answer(view(bulk), 202, _located(bulk))


@router.post(
    "/realign",
    dependencies=[permits(Realignment.all)],
    response_model=schema.RealignResult,
    summary="Realign all schedules that are ahead",
)
async def realign_all(cases: Cases, caller: Who, asked: Body) -> Response:
    """Those that a wrong clock moved into the future fire again from their next instant on; at most 200 at a time."""
    schedules = await cases[Realignment].all(caller, asked.once(200, _set_back))
    return encode.answer(_set_back(schedules))


@router.post(
    "/{schedule_id}/realign",
    dependencies=[permits(Realignment.one)],
    response_model=schema.Schedule,
    responses={**UNKNOWN, **CONFLICT},
    summary="Realign a schedule that is ahead",
)
async def realign(cases: Cases, caller: Who, schedule_id: ScheduleId, asked: Body) -> Response:
    """The first instant after now is its next one again; what a clock that was ahead fired is not fired twice."""
    once = asked.once(200, schema.Schedule.of, schema.etag)
    return _answer(await cases[Realignment].one(caller, schedule_id, once))


def _set_back(schedules: Sequence[Schedule]) -> schema.RealignResult:
    return schema.RealignResult(
        items=[
            schema.RealignedSchedule(
                id=schedule.id,
                name=schedule.name,
                next_run_at=schedule.next_run_at,
            )
            for schedule in schedules
        ],
    )


def _trial(one: BackfillEstimate) -> backfills_schema.BackfillDryRun:
    return backfills_schema.BackfillDryRun(
        dry_run=True,
        count=len(one.instants),
        named=one.named,
        left_out=dict(one.left_out),
        first=one.instants[0] if one.instants else None,
        last=one.instants[-1] if one.instants else None,
        sample=[schema.ScheduleInstant.of(each) for each in one.sample],
        hosts=list(one.hosts),
        warnings=list(one.warnings),
    )


def _answer(schedule: Schedule) -> Response:
    return encode.answer(schema.Schedule.of(schedule), headers=schema.etag(schedule))


def _located(created: BulkView) -> dict[str, str]:
    return {"Location": f"/api/bulk/{created.bulk.id}"}
