"""Routes of queues."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response

from foliot.core.document import rfc3339
from foliot.core.queue_name import queue_name
from foliot.features.queues.usecases import Queues, QueueView
from foliot.servers.http import bodies, encode
from foliot.servers.http.bodies import Model, body
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases

router = APIRouter(prefix="/api/queues", tags=["Queues"])


class QueueModel(Model):
    """One queue. The role system sees all of it; everybody else what is theirs, with null for what is the house's."""

    name: str
    depth: int
    """Runs that wait in it."""
    oldest: datetime | None
    """Since when the one that has waited longest could start."""
    in_flight: int
    """Runs of it that run now."""
    per_minute: int | None
    """Runs of it that ended within the last minute, as its workers report."""
    paused_at: datetime | None
    paused_by: str | None
    reason: str | None
    workers: list[str] | None
    """Live processes that take runs from it."""


class QueueList(Model):
    """Every queue that every house has, and every other one with runs or with something said of it."""

    items: list[QueueModel]
    next_cursor: str | None


async def _name(queue: Annotated[str, Path(description="A queue's name. `default_queue` is `default`.")]) -> str:
    return queue_name(queue)


QueueName = Annotated[str, Depends(_name)]


@router.get("", dependencies=[permits(Queues.list)], response_model=QueueList, summary="List queues")
async def list_(cases: Cases, caller: Who, part: Parted) -> Response:
    """What waits and runs in each, and whether it is paused."""
    shown, following = part.of(await cases[Queues].list(caller), lambda one: one.name)
    return encode.answer({"items": [_queue(one) for one in shown], "next_cursor": following})


@router.post(
    "/{queue}/pause",
    dependencies=[permits(Queues.pause)],
    response_model=QueueModel,
    openapi_extra=body(bodies.PauseRequest, required=False),
    summary="Pause a queue",
)
async def pause(cases: Cases, caller: Who, queue: QueueName, asked: Body) -> Response:
    """After the answer no run of it starts, whichever tenant's. What runs goes on; schedules go on firing into it."""
    return encode.answer(_queue(await cases[Queues].pause(caller, queue, asked.document, asked.once(200, _whole))))


@router.post(
    "/{queue}/resume",
    dependencies=[permits(Queues.resume)],
    response_model=QueueModel,
    summary="Resume a queue",
)
async def resume(cases: Cases, caller: Who, queue: QueueName, asked: Body) -> Response:
    """Its runs start again, the most urgent first."""
    return encode.answer(_queue(await cases[Queues].resume(caller, queue, asked.once(200, _whole))))


def _queue(one: QueueView) -> dict[str, Any]:
    return {
        "name": one.name,
        "depth": one.depth,
        "oldest": rfc3339(one.oldest),
        "in_flight": one.in_flight,
        "per_minute": one.per_minute,
        "paused_at": rfc3339(one.paused_at),
        "paused_by": one.paused_by,
        "reason": one.reason,
        "workers": None if one.workers is None else list(one.workers),
    }


def _whole(one: QueueView) -> bytes:
    return encode.dumps(_queue(one))
