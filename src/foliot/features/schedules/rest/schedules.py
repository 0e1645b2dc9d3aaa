"""Routes of schedules: create, read, change, delete, pause, resume, run now, preview, instants."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from foliot.commands.cursor import Cursors
from foliot.core.document import moment
from foliot.core.queue_name import PauseRequest
from foliot.core.time.trigger import TriggerType
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.schedule_sort import SORTS, read_sort
from foliot.features.filters.schema import Filter
from foliot.features.filters.usecases import Search
from foliot.features.runs import schema as runs_schema
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules import batch_schema, schema
from foliot.features.schedules.model.request import PreviewRequest, RunNowRequest, ScheduleBatchRequest, ScheduleRequest
from foliot.features.schedules.usecases.batch import ScheduleBatches
from foliot.features.schedules.usecases.chains import Chains
from foliot.features.schedules.usecases.instants import Instants
from foliot.features.schedules.usecases.preview import Previews
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.schedules.usecases.versions import Versions
from foliot.servers.http import encode
from foliot.servers.http.fast_route import FastRoute
from foliot.servers.http.paging import Cursor, OfThisList, Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import MAX_LIMIT, Batch, Body, Cases, Document, Match, ScheduleId, Text, plain_texts
from foliot.servers.http.run_broadcast import States
from foliot.servers.http.schema import CONFLICT, MISMATCH, UNKNOWN, body

router = APIRouter(prefix="/api/schedules", tags=["Schedules"], route_class=FastRoute)

Filters = dict[str, str | None]


@router.post(
    "",
    dependencies=[permits(Schedules.create)],
    status_code=201,
    response_model=schema.Schedule,
    openapi_extra=body(ScheduleRequest),
    summary="Create a schedule",
)
async def create(cases: Cases, caller: Who, asked: Body) -> Response:
    """A cron that can never fire, an unknown zone, an interval under 1 s or a one-off in the past is refused."""
    schedule = await cases[Schedules].create(caller, asked.document, asked.once(201, schema.Schedule.of, _created))
    return encode.answer(schema.Schedule.of(schedule), 201, _created(schedule))


@router.post(
    "/batch",
    dependencies=[permits(ScheduleBatches.create)],
    response_model=batch_schema.ScheduleBatchResult,
    openapi_extra=body(ScheduleBatchRequest),
    operation_id="schedules.create_batch",
    summary="Create many schedules",
)
async def create_batch(cases: Cases, caller: Who, asked: Batch) -> Response:
    """Up to 10,000, in a body of up to 16 MiB. With `atomic` all of them or none: a fault is refused with the place and
    field of each. Without it, each schedule has its own answer. Names may repeat, as with single requests."""
    once = asked.once(200, batch_schema.ScheduleBatchResult.of)
    answers = await cases[ScheduleBatches].create(caller, asked.document, once)
    return encode.answer(batch_schema.ScheduleBatchResult.of(answers))


async def _filters(
    status: Annotated[
        ScheduleStatus | None, Query(description="Deleted schedules are left out unless requested.")
    ] = None,
    type: TriggerType | None = None,  # noqa: A002 -- the contract's word
    kind: Text = None,
    tag: Text = None,
    q: Filter = None,
) -> dict[str, str | None]:
    return {**plain_texts(status=status, type=type, kind=kind, tag=tag), "q": q}


@router.get(
    "",
    dependencies=[permits(Search.schedules, Search.sorted_schedules, Schedules.list)],
    response_model=schema.SchedulePage,
    summary="List schedules",
)
async def list_(
    cases: Cases,
    caller: Who,
    page: Paged,
    filters: Annotated[Filters, Depends(_filters)],
    sort: Annotated[
        str | None, Query(max_length=40, description=f"{', '.join(SORTS)}; by default newest first.")
    ] = None,
) -> Response:
    """Words of a filter that stand alone are matched against the name, ignoring case. `sort` is applied to all that
    match, page by page: `urgency` lists failing schedules first, then those that missed an instant within 24 hours,
    that are late, that run, that fire soonest, and the rest. Schedules without a value come last."""
    q = filters.pop("q")
    if sort is not None:
        query = cases[Search].read_schedules(q, filters)
        placed = await cases[Search].sorted_schedules(caller, page.more(), query, read_sort(sort))
        pairs, following = page.of(placed, lambda one: one[1])
        return encode.answer(
            schema.SchedulePage(items=[schema.Schedule.of(one) for one, _ in pairs], next_cursor=following)
        )
    if q:
        schedules = await cases[Search].schedules(caller, page.more(), cases[Search].read_schedules(q, filters))
    else:
        schedules = await cases[Schedules].list(caller, page.more(), **filters)
    shown, following = page.of(schedules, lambda schedule: schedule.id)
    return encode.answer(
        schema.SchedulePage(items=[schema.Schedule.of(schedule) for schedule in shown], next_cursor=following)
    )


@router.post(
    "/preview",
    dependencies=[permits(Previews.preview)],
    response_model=schema.SchedulePreview,
    openapi_extra=body(PreviewRequest),
    summary="Preview a trigger",
)
async def preview(cases: Cases, caller: Who, asked: Body) -> Response:
    """The next instants in UTC and on the zone's clock, the trigger in words, and remarks on daylight saving."""
    return encode.answer(
        schema.SchedulePreview.of(
            await cases[Previews].preview(caller, asked.document, asked.once(200, schema.SchedulePreview.of))
        )
    )


@router.get(
    "/{schedule_id}",
    dependencies=[permits(Schedules.get)],
    response_model=schema.Schedule,
    responses=UNKNOWN,
    summary="One schedule",
)
async def get(cases: Cases, caller: Who, schedule_id: ScheduleId) -> Response:
    """With its version as `ETag`. A deleted one is still answered, with `status: deleted`."""
    return _answer(await cases[Schedules].get(caller, schedule_id))


@router.put(
    "/{schedule_id}",
    dependencies=[permits(Schedules.replace)],
    response_model=schema.Schedule,
    openapi_extra=body(ScheduleRequest),
    responses={**UNKNOWN, **CONFLICT, **MISMATCH},
    summary="Replace a schedule",
)
async def replace(cases: Cases, caller: Who, schedule_id: ScheduleId, document: Document, match: Match) -> Response:
    """Replaces the whole document: what is left out goes back to its default. Holds for instants after the answer."""
    return _answer(await cases[Schedules].replace(caller, schedule_id, document, match))


@router.patch(
    "/{schedule_id}",
    dependencies=[permits(Schedules.patch)],
    response_model=schema.Schedule,
    openapi_extra=body(schema.SchedulePatch),
    responses={**UNKNOWN, **CONFLICT, **MISMATCH},
    summary="Change a schedule",
)
async def patch(cases: Cases, caller: Who, schedule_id: ScheduleId, document: Document, match: Match) -> Response:
    """Only what is named. `retry_policy`, `catchup` and `action` are merged; a null resets a field to its default."""
    return _answer(await cases[Schedules].patch(caller, schedule_id, document, match))


@router.delete(
    "/{schedule_id}",
    dependencies=[permits(Schedules.delete)],
    status_code=204,
    responses={**UNKNOWN, **MISMATCH},
    summary="Delete a schedule",
)
async def delete(cases: Cases, caller: Who, schedule_id: ScheduleId, match: Match) -> Response:
    """A soft delete: it stays readable by its id. Its waiting runs are cancelled, running ones go on."""
    await cases[Schedules].delete(caller, schedule_id, match)
    return Response(status_code=204)


@router.post(
    "/{schedule_id}/pause",
    dependencies=[permits(Schedules.pause)],
    response_model=schema.Schedule,
    openapi_extra=body(PauseRequest, required=False),
    responses={**UNKNOWN, **CONFLICT},
    summary="Pause",
)
async def pause(cases: Cases, caller: Who, schedule_id: ScheduleId, asked: Body) -> Response:
    """After the answer no later instant fires. Paused time is never caught up."""
    once = asked.once(200, schema.Schedule.of, schema.etag)
    return _answer(await cases[Schedules].pause(caller, schedule_id, asked.document, once))


@router.post(
    "/{schedule_id}/resume",
    dependencies=[permits(Schedules.resume)],
    response_model=schema.Schedule,
    responses={**UNKNOWN, **CONFLICT},
    summary="Resume",
)
async def resume(cases: Cases, caller: Who, schedule_id: ScheduleId, asked: Body) -> Response:
    """Fires again from the next instant on. Also repairs a schedule whose row was damaged."""
    return _answer(await cases[Schedules].resume(caller, schedule_id, asked.once(200, schema.Schedule.of, schema.etag)))


@router.post(
    "/{schedule_id}/run-now",
    dependencies=[permits(Schedules.run_now)],
    status_code=202,
    response_model=runs_schema.Run,
    openapi_extra=body(RunNowRequest, required=False),
    responses={**UNKNOWN, **CONFLICT},
    summary="Run now",
)
async def run_now(cases: Cases, caller: Who, schedule_id: ScheduleId, asked: Body) -> Response:
    """A run outside any instant, in the queue `manual`. `payload` overrides parts of the action for this run."""
    run = await cases[Schedules].run_now(
        caller, schedule_id, asked.document, asked.once(202, runs_schema.Run.of, runs_schema.located)
    )
    return encode.answer(runs_schema.Run.of(run), 202, runs_schema.located(run))


@router.get(
    "/{schedule_id}/runs",
    dependencies=[permits(Runs.of_schedule)],
    response_model=runs_schema.RunPage,
    responses=UNKNOWN,
    summary="List a schedule's runs, newest first",
)
async def runs(cases: Cases, caller: Who, schedule_id: ScheduleId, page: Paged, states: States) -> Response:
    found = await cases[Runs].of_schedule(caller, schedule_id, page.more(), states)
    shown, following = page.of(found, lambda one: one.id)
    return encode.answer(runs_schema.RunPage(items=[runs_schema.Run.of(one) for one in shown], next_cursor=following))


@router.get(
    "/{schedule_id}/chain",
    dependencies=[permits(Chains.of_schedule)],
    response_model=schema.ScheduleChain,
    responses=UNKNOWN,
    summary="Get the chain around a schedule",
)
async def chain(cases: Cases, caller: Who, schedule_id: ScheduleId) -> Response:
    """The schedules that it follows, directly or not, and those that follow it."""
    return encode.answer(schema.ScheduleChain.of(await cases[Chains].of_schedule(caller, schedule_id)))


@router.get(
    "/{schedule_id}/versions",
    dependencies=[permits(Versions.list)],
    response_model=schema.ScheduleVersionPage,
    responses=UNKNOWN,
    summary="List a schedule's versions",
)
async def versions(cases: Cases, caller: Who, schedule_id: ScheduleId, page: Paged) -> Response:
    """Newest first, each with its settings, so that any two can be compared."""
    found = await cases[Versions].list(caller, schedule_id, page.more())
    shown, following = page.of(found, lambda one: str(one.version))
    return encode.answer(
        schema.ScheduleVersionPage(
            items=[schema.ScheduleVersion.of(one) for one in shown],
            next_cursor=following,
        )
    )


@dataclass(frozen=True, slots=True)
class InstantRange:
    """The period, and the page of it, that is asked for."""

    start: datetime | None
    end: datetime | None
    limit: int
    cursors: Cursors


async def _stretch(
    cursors: OfThisList,
    from_: Annotated[str | None, Query(alias="from", max_length=64, description="Default: a day ago.")] = None,
    to: Annotated[str | None, Query(max_length=64, description="Exclusive. Default: a day from now.")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="The largest number of items to return.")] = MAX_LIMIT,
    cursor: Cursor = None,
) -> InstantRange:
    start = _moment("cursor", cursors.open(cursor)) if cursor is not None else _moment("from", from_)
    return InstantRange(start, _moment("to", to), limit, cursors)


@router.get(
    "/{schedule_id}/instants",
    dependencies=[permits(Instants.list)],
    response_model=schema.InstantPage,
    responses=UNKNOWN,
    summary="List a schedule's scheduled times",
)
async def instants(
    cases: Cases, caller: Who, schedule_id: ScheduleId, stretch: Annotated[InstantRange, Depends(_stretch)]
) -> Response:
    """Every instant of the period, past and future, oldest first, with its outcome or that it is planned."""
    found, following = await cases[Instants].list(caller, schedule_id, stretch.start, stretch.end, stretch.limit)
    cursor = None if following is None else stretch.cursors.seal(following.isoformat())
    return encode.answer(
        schema.InstantPage(items=[schema.ScheduleInstant.of(one) for one in found], next_cursor=cursor)
    )


def _moment(name: str, text: str | None) -> datetime | None:
    # A plus sign that was not percent-encoded arrives as a space.
    return None if text is None else moment(name, text.replace(" ", "+"))


def _answer(schedule: Schedule) -> Response:
    return encode.answer(schema.Schedule.of(schedule), headers=schema.etag(schedule))


def _created(schedule: Schedule) -> dict[str, str]:
    return {**schema.etag(schedule), "Location": f"/api/schedules/{schedule.id}"}
