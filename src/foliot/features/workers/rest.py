"""Routes of worker and scheduler processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from foliot.core.errors import NotFound
from foliot.engine.model.node import NodeRequest
from foliot.features.workers import schema
from foliot.features.workers.usecases import Workers, WorkerView
from foliot.servers.http import encode
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import CONFLICT, UNKNOWN

router = APIRouter(prefix="/api/workers", tags=["Workers"])

MAX_ID = 200


async def _id(node_id: Annotated[str, Path(description="A process's id, as in the list.")]) -> str:
    # The form of generated node ids; no process can have another.
    if not 0 < len(node_id) <= MAX_ID or not node_id.isprintable():
        raise NotFound("worker", node_id[:64])
    return node_id


NodeId = Annotated[str, Depends(_id)]


@router.get("", dependencies=[permits(Workers.list)], response_model=schema.WorkerPage, summary="List workers")
async def list_(cases: Cases, caller: Who, part: Parted) -> Response:
    """Schedulers too: every process that fires or executes. Processes with only an API do not report."""
    shown, following = part.of(await cases[Workers].list(caller), lambda one: one.id)
    return encode.answer(
        schema.WorkerPage(
            items=[_worker(one) for one in shown],
            next_cursor=following,
        )
    )


@router.post(
    "/ping",
    dependencies=[permits(Workers.ping)],
    response_model=schema.WorkerPage,
    summary="Ping workers",
)
async def ping(cases: Cases, caller: Who, asked: Body) -> Response:
    """Every process is asked to report at once. The answer has the state before: a live one soon has a later `seen_at`.

    Without a feed that reaches it, a process still reports every five seconds.
    """
    return encode.answer(_listed(await cases[Workers].ping(caller, asked.once(200, _listed))))


@router.post(
    "/{node_id}/drain",
    dependencies=[permits(Workers.ask)],
    response_model=schema.WorkerStatus,
    responses={**UNKNOWN, **CONFLICT},
    summary="Drain a worker",
)
async def drain(cases: Cases, caller: Who, node_id: NodeId, asked: Body) -> Response:
    """It takes no new runs and finishes those it has. A restart ends that."""
    return encode.answer(
        _worker(await cases[Workers].ask(caller, node_id, NodeRequest.DRAIN, asked.once(200, _worker)))
    )


@router.post(
    "/{node_id}/restart",
    dependencies=[permits(Workers.ask)],
    response_model=schema.WorkerStatus,
    responses={**UNKNOWN, **CONFLICT},
    summary="Restart a worker",
)
async def restart(cases: Cases, caller: Who, node_id: NodeId, asked: Body) -> Response:
    """It takes no new runs, finishes those it has, and starts again, under another id in this list."""
    return encode.answer(
        _worker(await cases[Workers].ask(caller, node_id, NodeRequest.RESTART, asked.once(200, _worker)))
    )


def _listed(found: Sequence[WorkerView]) -> schema.WorkerPage:
    return schema.WorkerPage(
        items=[_worker(one) for one in found],
        next_cursor=None,
    )


def _worker(one: WorkerView) -> schema.WorkerStatus:
    return schema.WorkerStatus(
        id=one.id,
        role=one.role,
        host=one.host,
        pid=one.pid,
        started_at=one.started_at,
        seen_at=one.seen_at,
        state=one.state,
        wish=None if one.wish is None else one.wish,
        slots=one.slots,
        free=one.free,
        in_flight=one.in_flight,
        queues=None if one.queues is None else list(one.queues),
    )
