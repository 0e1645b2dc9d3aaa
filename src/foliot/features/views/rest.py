"""Routes of saved views."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from foliot.core.errors import NotFound
from foliot.features.views import model, schema
from foliot.features.views.model import VIEW, NewSavedView, SavedViewChange, ViewedList
from foliot.features.views.usecases import SavedViews
from foliot.servers.http import encode
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases, Document
from foliot.servers.http.schema import CONFLICT, UNKNOWN, body, problem

router = APIRouter(prefix="/api/views", tags=["Views"])

_ID = re.compile(r"[0-9a-f]{32}")


async def _view_id(view_id: Annotated[str, Path(description="A view's id, `viw_…`.")]) -> str:
    if not _ID.fullmatch(view_id.removeprefix(f"{VIEW}_")):
        raise NotFound("view", view_id[:64])
    return view_id


ViewId = Annotated[str, Depends(_view_id)]


@router.post(
    "",
    dependencies=[permits(SavedViews.create)],
    status_code=201,
    response_model=schema.SavedView,
    openapi_extra=body(NewSavedView),
    responses={**CONFLICT, **problem(429, "The user or the tenant has reached its limit")},
    summary="Save a view",
    operation_id="views.create",
)
async def create(cases: Cases, caller: Who, asked: Body) -> Response:
    """A filter and an order under a name. It belongs to the caller; with `shared` the whole tenant sees it."""

    def shown(view: model.StoredView) -> schema.SavedView:
        return schema.SavedView.of(view, caller)

    made = await cases[SavedViews].create(caller, asked.document, asked.once(201, shown))
    return encode.answer(shown(made), 201, {"Location": f"/api/views/{made.id}"})


@router.get(
    "",
    dependencies=[permits(SavedViews.list)],
    response_model=schema.SavedViewPage,
    summary="List saved views",
    operation_id="views.list",
)
async def list_(
    cases: Cases,
    caller: Who,
    part: Parted,
    of: Annotated[ViewedList | None, Query(alias="list", description="Only views of this list.")] = None,
) -> Response:
    """The caller's own, oldest first, then those that others share."""
    shown, following = part.of(await cases[SavedViews].list(caller, of), lambda one: one.id)
    items = [schema.SavedView.of(one, caller) for one in shown]
    return encode.answer(schema.SavedViewPage(items=items, next_cursor=following))


@router.patch(
    "/{view_id}",
    dependencies=[permits(SavedViews.change)],
    response_model=schema.SavedView,
    openapi_extra=body(SavedViewChange),
    responses={**UNKNOWN, **CONFLICT},
    summary="Change a saved view",
    operation_id="views.change",
)
async def change(cases: Cases, caller: Who, view_id: ViewId, document: Document) -> Response:
    """Fields that are absent stay. A shared view is changed by its owner and by admins."""
    return encode.answer(schema.SavedView.of(await cases[SavedViews].change(caller, view_id, document), caller))


@router.delete(
    "/{view_id}",
    dependencies=[permits(SavedViews.delete)],
    status_code=204,
    responses=UNKNOWN,
    summary="Delete a saved view",
    operation_id="views.delete",
)
async def delete(cases: Cases, caller: Who, view_id: ViewId) -> Response:
    await cases[SavedViews].delete(caller, view_id)
    return Response(status_code=204)
