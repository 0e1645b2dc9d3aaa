"""Routes of new readings of stored pages."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from foliot.features.bulk import schema as bulk_schema
from foliot.features.bulk.rest import view
from foliot.features.bulk.usecases import BulkView
from foliot.features.reextractions import schema
from foliot.features.reextractions.model import ReextractRequest
from foliot.features.reextractions.usecases import ReextractEstimate, Reextractions
from foliot.servers.http import encode
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import CONFLICT, body

router = APIRouter(prefix="/api/pages", tags=["Pages"])


@router.post(
    "/reextract",
    dependencies=[permits(Reextractions.create)],
    status_code=202,
    response_model=bulk_schema.BulkAction,
    openapi_extra=body(ReextractRequest),
    responses={
        **CONFLICT,
        200: {"model": schema.ReextractDryRun, "description": "What it would find (`dry_run`)"},
    },
    summary="Read stored pages again",
    operation_id="pages.reextract",
)
async def reextract(cases: Cases, caller: Who, asked: Body) -> Response:
    """Each page that matches now gets a new version, once; nothing is requested from its site."""
    made = await cases[Reextractions].create(caller, asked.document, asked.once(202, view, _located))
    if isinstance(made, ReextractEstimate):
        return encode.answer(schema.ReextractDryRun.of(made))
    return encode.answer(view(made), 202, _located(made))


@router.get(
    "/versions",
    dependencies=[permits(Reextractions.list)],
    response_model=schema.StoredPageVersionList,
    summary="List versions of stored pages",
    operation_id="pages.versions",
)
async def list_versions(
    cases: Cases,
    caller: Who,
    turn: Paged,
    page_id: Annotated[str | None, Query(max_length=40, description="Of this page.")] = None,
    bulk_id: Annotated[str | None, Query(max_length=40, description="Made by this bulk action.")] = None,
) -> Response:
    """What new readings found, newest first."""
    found = await cases[Reextractions].list(caller, turn.more(), page_id=page_id, bulk_id=bulk_id)
    shown, following = turn.of(found, lambda one: one.id)
    items = [schema.StoredPageVersionInfo.of(one) for one in shown]
    return encode.answer(schema.StoredPageVersionList(items=items, next_cursor=following))


def _located(made: BulkView) -> dict[str, str]:
    return {"Location": f"/api/bulk/{made.bulk.id}"}
