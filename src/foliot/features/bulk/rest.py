"""Routes of bulk actions."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response

from foliot.core.document import rfc3339
from foliot.core.errors import NotFound
from foliot.core.failure_fingerprint import told
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import RunView
from foliot.features.bulk import schema as models
from foliot.features.bulk.usecases.bulk import Bulks, BulkView, Trial, shown_details
from foliot.features.dead_letters.model import MOST_REPLAYS
from foliot.features.dead_letters.usecases.trial import Rehearsal
from foliot.servers.http import encode
from foliot.servers.http.bodies import body
from foliot.servers.http.models import CONFLICT, UNKNOWN
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases

router = APIRouter(prefix="/api/bulk", tags=["Bulk actions"])

_BULK_ID = re.compile(r"blk_[0-9a-f]{32}")


async def _bulk_id(bulk_id: Annotated[str, Path(description="A bulk action's id, `blk_…`.")]) -> str:
    if not _BULK_ID.fullmatch(bulk_id):
        raise NotFound("bulk action", bulk_id[:64])
    return bulk_id


BulkId = Annotated[str, Depends(_bulk_id)]


@router.post(
    "",
    dependencies=[permits(Bulks.create)],
    status_code=202,
    response_model=models.Bulk,
    openapi_extra=body(models.BulkRequest),
    responses={**UNKNOWN, **CONFLICT, 200: {"model": models.Trial, "description": "What it would do (`dry_run`)"}},
    summary="Act on everything that matches",
)
async def create(cases: Cases, caller: Who, asked: Body) -> Response:
    """What it acts on is fixed now; each is acted on once, at the given rate, also across restarts."""
    made = await cases[Bulks].create(caller, asked.document, asked.once(202, _whole, _located))
    if isinstance(made, Trial):
        return encode.answer(_trial(made))
    return encode.answer(view(made), 202, _located(made))


@router.get(
    "", dependencies=[permits(Bulks.list)], response_model=models.Bulks, summary="List bulk actions, newest first"
)
async def list_(cases: Cases, caller: Who, page: Paged) -> Response:
    return encode.page(await cases[Bulks].list(caller, page.more()), page, view, lambda one: one.bulk.id)


@router.get(
    "/{bulk_id}",
    dependencies=[permits(Bulks.get)],
    response_model=models.Bulk,
    responses=UNKNOWN,
    summary="One bulk action",
)
async def get(cases: Cases, caller: Who, bulk_id: BulkId) -> Response:
    return encode.answer(view(await cases[Bulks].get(caller, bulk_id)))


@router.post(
    "/{bulk_id}/pause",
    dependencies=[permits(Bulks.pause)],
    response_model=models.Bulk,
    responses={**UNKNOWN, **CONFLICT},
    summary="Pause",
)
async def pause(cases: Cases, caller: Who, bulk_id: BulkId, asked: Body) -> Response:
    """No item is acted on after this, until it is resumed."""
    return encode.answer(view(await cases[Bulks].pause(caller, bulk_id, asked.once(200, _whole))))


@router.post(
    "/{bulk_id}/resume",
    dependencies=[permits(Bulks.resume)],
    response_model=models.Bulk,
    responses={**UNKNOWN, **CONFLICT},
    summary="Resume",
)
async def resume(cases: Cases, caller: Who, bulk_id: BulkId, asked: Body) -> Response:
    """Goes on where it was paused."""
    return encode.answer(view(await cases[Bulks].resume(caller, bulk_id, asked.once(200, _whole))))


@router.post(
    "/{bulk_id}/stop",
    dependencies=[permits(Bulks.stop)],
    response_model=models.Bulk,
    responses={**UNKNOWN, **CONFLICT},
    summary="Stop for good",
)
async def stop(cases: Cases, caller: Who, bulk_id: BulkId, asked: Body) -> Response:
    """What was done stays done; the rest is left alone."""
    return encode.answer(view(await cases[Bulks].stop(caller, bulk_id, asked.once(200, _whole))))


def view(one: BulkView) -> dict[str, Any]:
    """A bulk action as JSON."""
    bulk = one.bulk
    return {
        "id": bulk.id,
        "action": bulk.act.value,
        "filter": bulk.filter,
        "ids_given": bulk.ids_given,
        "rate": bulk.rate,
        "stop_after": bulk.stop_after,
        "order": bulk.order.value,
        "state": bulk.state.value,
        "total": bulk.total,
        "done": bulk.done,
        "ok": bulk.ok,
        "failed": bulk.failed,
        "pending": bulk.total - bulk.done,
        "failures": [{"id": found, "message": message} for found, message in one.failures],
        "outcomes": dict(one.outcomes),
        "user_id": bulk.user_id,
        "created_at": rfc3339(bulk.created_at),
        "updated_at": rfc3339(bulk.updated_at),
        "finished_at": rfc3339(bulk.finished_at),
        "reason": bulk.reason,
        "details": shown_details(bulk) or None,
    }


def _trial(one: Trial) -> dict[str, Any]:
    return {
        "dry_run": True,
        "count": one.count,
        "sample": [_sampled(each) | _course(each, one.rehearsal) for each in one.sample],
        "hosts": list(one.hosts),
        "warnings": list(one.warnings),
        "rehearsal": None if one.rehearsal is None else _rehearsal(one.rehearsal),
    }


def _rehearsal(one: Rehearsal) -> dict[str, Any]:
    return {
        "looked_at": one.looked_at,
        "duplicates": one.duplicates,
        "changed": one.changed,
        "stay": sum(one.stay.values()),
        "edited": one.edited,
        "refused": one.refused,
        "refusals": [{"id": found, "message": why} for found, why in one.reasons],
        "replays_most": max(one.replays.values(), default=0),
        "replays_cap": MOST_REPLAYS,
    }


def _course(one: RunView | Schedule, rehearsal: Rehearsal | None) -> dict[str, Any]:
    if isinstance(one, Schedule) or rehearsal is None:
        return {}
    return {
        "version": one.version,
        "follows": rehearsal.follows.get(one.id),
        "replays": rehearsal.replays.get(one.id, 0),
    }


def _sampled(one: RunView | Schedule) -> dict[str, Any]:
    if isinstance(one, Schedule):
        summary = one.spec.trigger.summary
        return {"id": one.id, "kind": one.spec.kind, "name": one.name, "state": one.status.value, "message": summary}
    _, message = told(one.error)
    return {"id": one.id, "kind": one.kind, "name": one.schedule_name, "state": one.state.value, "message": message}


def _whole(made: BulkView) -> bytes:
    return encode.dumps(view(made))


def _located(made: BulkView) -> dict[str, str]:
    return {"Location": f"/api/bulk/{made.bulk.id}"}
