"""Routes of bulk actions: create, list, read, pause, resume, stop."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from foliot.core.errors import NotFound
from foliot.core.failure_fingerprint import told
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import RunView
from foliot.features.bulk import schema
from foliot.features.bulk.model import NewBulkAction
from foliot.features.bulk.usecases import BulkEstimate, Bulks, BulkView, shown_details
from foliot.features.dead_letters.model import MOST_REPLAYS
from foliot.features.dead_letters.usecases import ReplayEstimate
from foliot.servers.http import encode
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import CONFLICT, UNKNOWN, body

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
    response_model=schema.BulkAction,
    openapi_extra=body(NewBulkAction),
    responses={**UNKNOWN, **CONFLICT, 200: {"model": schema.BulkDryRun, "description": "What it would do (`dry_run`)"}},
    summary="Act on everything that matches",
)
async def create(cases: Cases, caller: Who, asked: Body) -> Response:
    """What it acts on is fixed now; each is acted on once, at the given rate, also across restarts."""
    made = await cases[Bulks].create(caller, asked.document, asked.once(202, view, _located))
    if isinstance(made, BulkEstimate):
        return encode.answer(_trial(made))
    return encode.answer(view(made), 202, _located(made))


@router.get(
    "",
    dependencies=[permits(Bulks.list)],
    response_model=schema.BulkActionPage,
    summary="List bulk actions, newest first",
)
async def list_(cases: Cases, caller: Who, page: Paged) -> Response:
    shown, following = page.of(await cases[Bulks].list(caller, page.more()), lambda one: one.bulk.id)
    return encode.answer(schema.BulkActionPage(items=[view(one) for one in shown], next_cursor=following))


@router.get(
    "/{bulk_id}",
    dependencies=[permits(Bulks.get)],
    response_model=schema.BulkAction,
    responses=UNKNOWN,
    summary="One bulk action",
)
async def get(cases: Cases, caller: Who, bulk_id: BulkId) -> Response:
    return encode.answer(view(await cases[Bulks].get(caller, bulk_id)))


@router.post(
    "/{bulk_id}/pause",
    dependencies=[permits(Bulks.pause)],
    response_model=schema.BulkAction,
    responses={**UNKNOWN, **CONFLICT},
    summary="Pause",
)
async def pause(cases: Cases, caller: Who, bulk_id: BulkId, asked: Body) -> Response:
    """No item is acted on after this, until it is resumed."""
    return encode.answer(view(await cases[Bulks].pause(caller, bulk_id, asked.once(200, view))))


@router.post(
    "/{bulk_id}/resume",
    dependencies=[permits(Bulks.resume)],
    response_model=schema.BulkAction,
    responses={**UNKNOWN, **CONFLICT},
    summary="Resume",
)
async def resume(cases: Cases, caller: Who, bulk_id: BulkId, asked: Body) -> Response:
    """Continues where it was paused."""
    return encode.answer(view(await cases[Bulks].resume(caller, bulk_id, asked.once(200, view))))


@router.post(
    "/{bulk_id}/stop",
    dependencies=[permits(Bulks.stop)],
    response_model=schema.BulkAction,
    responses={**UNKNOWN, **CONFLICT},
    summary="Stop for good",
)
async def stop(cases: Cases, caller: Who, bulk_id: BulkId, asked: Body) -> Response:
    """What was done stays done; the rest is left alone."""
    return encode.answer(view(await cases[Bulks].stop(caller, bulk_id, asked.once(200, view))))


def view(one: BulkView) -> schema.BulkAction:
    """A bulk action as JSON."""
    bulk = one.bulk
    return schema.BulkAction(
        id=bulk.id,
        action=bulk.act,
        filter=bulk.filter,
        ids_given=bulk.ids_given,
        rate=bulk.rate,
        stop_after=bulk.stop_after,
        order=bulk.order,
        state=bulk.state,
        total=bulk.total,
        done=bulk.done,
        ok=bulk.ok,
        failed=bulk.failed,
        pending=bulk.total - bulk.done,
        failures=[schema.BulkFailure(id=found, message=message) for found, message in one.failures],
        outcomes={RunState(state): number for state, number in one.outcomes.items()},
        user_id=bulk.user_id,
        created_at=bulk.created_at,
        updated_at=bulk.updated_at,
        finished_at=bulk.finished_at,
        reason=bulk.reason,
        details=shown_details(bulk) or None,
    )


def _trial(one: BulkEstimate) -> schema.BulkDryRun:
    return schema.BulkDryRun(
        dry_run=True,
        count=one.count,
        sample=[_sampled(each, one.rehearsal) for each in one.sample],
        hosts=list(one.hosts),
        warnings=list(one.warnings),
        rehearsal=None if one.rehearsal is None else _rehearsal(one.rehearsal),
    )


def _rehearsal(one: ReplayEstimate) -> schema.ReplayDryRun:
    return schema.ReplayDryRun(
        looked_at=one.looked_at,
        duplicates=one.duplicates,
        changed=one.changed,
        stay=sum(one.stay.values()),
        edited=one.edited,
        refused=one.refused,
        refusals=[schema.BulkRefusal(id=found, message=why) for found, why in one.reasons],
        replays_most=max(one.replays.values(), default=0),
        replays_cap=MOST_REPLAYS,
    )


def _sampled(one: RunView | Schedule, rehearsal: ReplayEstimate | None) -> schema.BulkSample:
    if isinstance(one, Schedule):
        summary = one.spec.trigger.summary
        return {"id": one.id, "kind": one.spec.kind, "name": one.name, "state": one.status, "message": summary}
    _, message = told(one.error)
    sample: schema.BulkSample = {
        "id": one.id,
        "kind": one.kind,
        "name": one.schedule_name,
        "state": one.state,
        "message": message,
    }
    if rehearsal is not None:
        sample["version"] = one.version
        sample["follows"] = rehearsal.follows.get(one.id)
        sample["replays"] = rehearsal.replays.get(one.id, 0)
    return sample


def _located(made: BulkView) -> dict[str, str]:
    return {"Location": f"/api/bulk/{made.bulk.id}"}
