"""Routes of queues."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from foliot.core.queue_name import PauseRequest, queue_name
from foliot.features.queues import model, schema
from foliot.features.queues.model import HistoryRange
from foliot.features.queues.usecases import Queues, QueueView
from foliot.servers.http import encode
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import body

router = APIRouter(prefix="/api/queues", tags=["Queues"])


async def _name(queue: Annotated[str, Path(description="A queue's name. `default_queue` is `default`.")]) -> str:
    return queue_name(queue)


QueueName = Annotated[str, Depends(_name)]


@router.get("", dependencies=[permits(Queues.list)], response_model=schema.QueuePage, summary="List queues")
async def list_(cases: Cases, caller: Who, part: Parted) -> Response:
    """Depth and running runs of each, and whether it is paused."""
    shown, following = part.of(await cases[Queues].list(caller), lambda one: one.name)
    return encode.answer(
        schema.QueuePage(
            items=[_queue(one) for one in shown],
            next_cursor=following,
        )
    )


@router.get(
    "/history",
    dependencies=[permits(Queues.history)],
    response_model=schema.QueueHistory,
    summary="Show the history of queues",
)
async def history(
    cases: Cases,
    caller: Who,
    range_: Annotated[
        HistoryRange, Query(alias="range", description="24h in steps of 15 minutes, or 7d in steps of an hour.")
    ] = HistoryRange.DAY,
    queue: Annotated[str | None, Query(description="Only this queue.")] = None,
) -> Response:
    """What waited, ran and ended in each queue, and how many slots were busy; of all tenants, for the role system."""
    found = await cases[Queues].history(caller, range_, None if queue is None else queue_name(queue))
    return encode.answer(
        schema.QueueHistory(
            range=found.range,
            step_seconds=int(found.range.step.total_seconds()),
            at=list(found.at),
            slots=_values(found.slots, "slots"),
            busy=_values(found.slots, "running"),
            queues=[_series(one) for one in found.queues],
        )
    )


@router.post(
    "/{queue}/pause",
    dependencies=[permits(Queues.pause)],
    response_model=schema.QueueStatus,
    openapi_extra=body(PauseRequest, required=False),
    summary="Pause a queue",
)
async def pause(cases: Cases, caller: Who, queue: QueueName, asked: Body) -> Response:
    """After the answer no run of it starts, of any tenant. Running ones continue; schedules keep firing into it."""
    return encode.answer(_queue(await cases[Queues].pause(caller, queue, asked.document, asked.once(200, _queue))))


@router.post(
    "/{queue}/resume",
    dependencies=[permits(Queues.resume)],
    response_model=schema.QueueStatus,
    summary="Resume a queue",
)
async def resume(cases: Cases, caller: Who, queue: QueueName, asked: Body) -> Response:
    """Its runs start again, highest priority first."""
    return encode.answer(_queue(await cases[Queues].resume(caller, queue, asked.once(200, _queue))))


def _queue(one: QueueView) -> schema.QueueStatus:
    return schema.QueueStatus(
        name=one.name,
        depth=one.depth,
        oldest=one.oldest,
        in_flight=one.in_flight,
        per_minute=one.per_minute,
        paused_at=one.paused_at,
        paused_by=one.paused_by,
        reason=one.reason,
        workers=None if one.workers is None else list(one.workers),
    )


def _series(one: model.SampledQueue) -> schema.QueueSeries:
    return schema.QueueSeries(
        name=one.name,
        waiting=_values(one, "waiting"),
        oldest_ms=_values(one, "oldest_ms"),
        running=_values(one, "running"),
        ended=_values(one, "ended"),
    )


def _values(one: model.SampledQueue, name: str) -> list[int | None]:
    return [None if point is None else getattr(point, name) for point in one.points]
