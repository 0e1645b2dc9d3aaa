"""Routes of the processes that fire and execute."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response

from foliot.core.document import rfc3339
from foliot.core.errors import NotFound
from foliot.engine.model.node import NodeState, Wish
from foliot.features.workers.usecases import Worker, Workers
from foliot.servers.http import encode
from foliot.servers.http.bodies import Model
from foliot.servers.http.models import CONFLICT, UNKNOWN
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases

router = APIRouter(prefix="/api/workers", tags=["Workers"])

MAX_ID = 200


class WorkerModel(Model):
    """One process, as it reported last."""

    id: str
    role: str
    host: str
    pid: int | None
    started_at: datetime
    seen_at: datetime
    state: NodeState
    """`stale` when it has not reported for 30 s; it is forgotten after a day. `draining` when it was asked to leave."""
    wish: Wish | None
    """What was asked of it."""
    slots: int
    """How many runs it executes at once; 0 for one that only fires."""
    free: int
    in_flight: int
    queues: list[str] | None
    """The queues it takes runs from; null is every queue."""


class WorkerList(Model):
    """Every process that reported within the last day."""

    items: list[WorkerModel]
    next_cursor: str | None


async def _id(node_id: Annotated[str, Path(description="A process's id, as the list names it.")]) -> str:
    # As processes name themselves; any other is nobody's.
    if not 0 < len(node_id) <= MAX_ID or not node_id.isprintable():
        raise NotFound("worker", node_id[:64])
    return node_id


NodeId = Annotated[str, Depends(_id)]


@router.get("", dependencies=[permits(Workers.list)], response_model=WorkerList, summary="List workers")
async def list_(cases: Cases, caller: Who, part: Parted) -> Response:
    """Schedulers too: whatever fires or executes. Processes with only an API do not report."""
    shown, following = part.of(await cases[Workers].list(caller), lambda one: one.id)
    return encode.answer({"items": [_worker(one) for one in shown], "next_cursor": following})


@router.post(
    "/ping",
    dependencies=[permits(Workers.ping)],
    response_model=WorkerList,
    summary="Ping workers",
)
async def ping(cases: Cases, caller: Who, asked: Body) -> Response:
    """Every process is asked to report at once. The answer is the list as it was: who lives has a later `seen_at` soon.

    Without a feed that reaches it, a process reports every five seconds all the same.
    """
    return encode.answer(_listed(await cases[Workers].ping(caller, asked.once(200, _all))))


@router.post(
    "/{node_id}/drain",
    dependencies=[permits(Workers.ask)],
    response_model=WorkerModel,
    responses={**UNKNOWN, **CONFLICT},
    summary="Drain a worker",
)
async def drain(cases: Cases, caller: Who, node_id: NodeId, asked: Body) -> Response:
    """It takes no new runs and finishes those it has. A restart ends that."""
    return encode.answer(_worker(await cases[Workers].ask(caller, node_id, Wish.DRAIN, asked.once(200, _whole))))


@router.post(
    "/{node_id}/restart",
    dependencies=[permits(Workers.ask)],
    response_model=WorkerModel,
    responses={**UNKNOWN, **CONFLICT},
    summary="Restart a worker",
)
async def restart(cases: Cases, caller: Who, node_id: NodeId, asked: Body) -> Response:
    """It takes no new runs, finishes those it has, and begins anew, under another id in this list."""
    return encode.answer(_worker(await cases[Workers].ask(caller, node_id, Wish.RESTART, asked.once(200, _whole))))


def _listed(found: Sequence[Worker]) -> dict[str, Any]:
    return {"items": [_worker(one) for one in found], "next_cursor": None}


def _all(found: Sequence[Worker]) -> bytes:
    return encode.dumps(_listed(found))


def _worker(one: Worker) -> dict[str, Any]:
    return {
        "id": one.id,
        "role": one.role,
        "host": one.host,
        "pid": one.pid,
        "started_at": rfc3339(one.started_at),
        "seen_at": rfc3339(one.seen_at),
        "state": one.state.value,
        "wish": None if one.wish is None else one.wish.value,
        "slots": one.slots,
        "free": one.free,
        "in_flight": one.in_flight,
        "queues": None if one.queues is None else list(one.queues),
    }


def _whole(one: Worker) -> bytes:
    return encode.dumps(_worker(one))
