"""Routes of watches, their pages, versions and changes."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from foliot.core.errors import NotFound
from foliot.features.runs.schema import Run
from foliot.features.watches.model.request import WatchRequest
from foliot.features.watches.model.watch import VERSION, WATCH, WATCHED_PAGE, PageState
from foliot.features.watches.schema.pages import (
    PageDiffDetail,
    PageVersionDetail,
    PageVersionList,
    WatchedPageDetail,
    WatchedPageList,
)
from foliot.features.watches.schema.watches import (
    WatchChange,
    WatchDetail,
    WatchPage,
    WatchPreviewAnswer,
    WatchPreviewRequest,
)
from foliot.features.watches.usecases.history import PageHistory
from foliot.features.watches.usecases.preview import WatchPreviews
from foliot.features.watches.usecases.watches import Watches, WatchView
from foliot.servers.http import encode
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Batch, Body, Cases, Text
from foliot.servers.http.schema import CONFLICT, UNKNOWN, body, problem

router = APIRouter(prefix="/api/watches", tags=["Watches"])

_HEX = re.compile(r"[0-9a-f]{32}")
_TOO_MANY = problem(429, "The tenant has reached its limit")


def checked(kind: str, prefix: str, given: str) -> str:
    if not _HEX.fullmatch(given.removeprefix(f"{prefix}_")):
        raise NotFound(kind, given[:64])
    return given


async def _watch_id(watch_id: Annotated[str, Path(description="A watch's id, `wat_…`.")]) -> str:
    return checked("watch", WATCH, watch_id)


async def _page_id(page_id: Annotated[str, Path(description="The id of a watch's page, `wpg_…`.")]) -> str:
    return checked("page", WATCHED_PAGE, page_id)


async def _version_id(version_id: Annotated[str, Path(description="A version's id, `wve_…`.")]) -> str:
    return checked("version", VERSION, version_id)


async def base_of(request: Request) -> str:
    """Where the addresses of feeds lead: the public address, else the one that the request arrived at."""
    public: str | None = request.app.state.public_url
    return public or f"{request.url.scheme}://{request.url.netloc}"


WatchId = Annotated[str, Depends(_watch_id)]
PageId = Annotated[str, Depends(_page_id)]
VersionId = Annotated[str, Depends(_version_id)]
Base = Annotated[str, Depends(base_of)]


@router.post(
    "",
    dependencies=[permits(Watches.create)],
    status_code=201,
    response_model=WatchDetail,
    openapi_extra=body(WatchRequest),
    responses={**CONFLICT, **_TOO_MANY},
    summary="Create a watch",
    operation_id="watches.create",
)
async def create_watch(cases: Cases, caller: Who, asked: Batch, base: Base) -> Response:
    """Its first visit is what later ones are compared with."""

    def shown(view: WatchView) -> WatchDetail:
        return WatchDetail.of(view, base)

    made = await cases[Watches].create(caller, asked.document, asked.once(201, shown))
    return encode.answer(shown(made), 201, {"Location": f"/api/watches/{made.watch.id}"})


@router.post(
    "/preview",
    dependencies=[permits(WatchPreviews.preview)],
    response_model=WatchPreviewAnswer,
    openapi_extra=body(WatchPreviewRequest),
    summary="Try a watch before it is saved",
    operation_id="watches.preview",
)
async def preview_watch(cases: Cases, caller: Who, asked: Body) -> Response:
    """Visits its first page once. It counts as a run that was asked for."""
    found = await cases[WatchPreviews].preview(caller, asked.document)
    return encode.answer(WatchPreviewAnswer.of(found))


@router.get(
    "",
    dependencies=[permits(Watches.list)],
    response_model=WatchPage,
    summary="List watches",
    operation_id="watches.list",
)
async def list_watches(
    cases: Cases,
    caller: Who,
    turn: Paged,
    base: Base,
    q: Annotated[str, Query(max_length=200, description="Part of the name.")] = "",
) -> Response:
    """Newest first."""
    found = await cases[Watches].list(caller, turn.more(), q.replace("\x00", ""))
    shown, following = turn.of(found, lambda view: view.watch.id)
    items = [WatchDetail.of(view, base, whole=False) for view in shown]
    return encode.answer(WatchPage(items=items, next_cursor=following))


@router.get(
    "/{watch_id}",
    dependencies=[permits(Watches.get)],
    response_model=WatchDetail,
    responses=UNKNOWN,
    summary="One watch",
    operation_id="watches.get",
)
async def get_watch(cases: Cases, caller: Who, watch_id: WatchId, base: Base) -> Response:
    return encode.answer(WatchDetail.of(await cases[Watches].get(caller, watch_id), base))


@router.patch(
    "/{watch_id}",
    dependencies=[permits(Watches.change)],
    response_model=WatchDetail,
    openapi_extra=body(WatchChange),
    responses={**UNKNOWN, **CONFLICT},
    summary="Change a watch",
    operation_id="watches.change",
)
async def change_watch(cases: Cases, caller: Who, watch_id: WatchId, asked: Batch, base: Base) -> Response:
    """Fields that are absent stay. Pages that are read in another way from now on begin with a new version, which is
    no change.
    """
    return encode.answer(WatchDetail.of(await cases[Watches].change(caller, watch_id, asked.document), base))


@router.delete(
    "/{watch_id}",
    dependencies=[permits(Watches.delete)],
    status_code=204,
    responses=UNKNOWN,
    summary="Delete a watch",
    operation_id="watches.delete",
)
async def delete_watch(cases: Cases, caller: Who, watch_id: WatchId) -> Response:
    """With its schedule, its pages, their versions and changes."""
    await cases[Watches].delete(caller, watch_id)
    return Response(status_code=204)


@router.post(
    "/{watch_id}/pause",
    dependencies=[permits(Watches.pause)],
    response_model=WatchDetail,
    responses=UNKNOWN,
    summary="Pause a watch",
    operation_id="watches.pause",
)
async def pause_watch(cases: Cases, caller: Who, watch_id: WatchId, asked: Body, base: Base) -> Response:
    """No page is visited until it is resumed."""
    once = asked.once(200, lambda view: WatchDetail.of(view, base))
    return encode.answer(WatchDetail.of(await cases[Watches].pause(caller, watch_id, once), base))


@router.post(
    "/{watch_id}/resume",
    dependencies=[permits(Watches.resume)],
    response_model=WatchDetail,
    responses=UNKNOWN,
    summary="Resume a watch",
    operation_id="watches.resume",
)
async def resume_watch(cases: Cases, caller: Who, watch_id: WatchId, asked: Body, base: Base) -> Response:
    once = asked.once(200, lambda view: WatchDetail.of(view, base))
    return encode.answer(WatchDetail.of(await cases[Watches].resume(caller, watch_id, once), base))


@router.post(
    "/{watch_id}/visit",
    dependencies=[permits(Watches.visit)],
    status_code=202,
    response_model=Run,
    responses=UNKNOWN,
    summary="Visit all pages now",
    operation_id="watches.visit",
)
async def visit_watch(cases: Cases, caller: Who, watch_id: WatchId, asked: Body) -> Response:
    """Also pages that are not due."""
    run = await cases[Watches].visit(caller, watch_id, asked.once(202, Run.of))
    return encode.answer(Run.of(run), 202, {"Location": f"/api/runs/{run.id}"})


@router.get(
    "/{watch_id}/pages",
    dependencies=[permits(PageHistory.pages)],
    response_model=WatchedPageList,
    responses=UNKNOWN,
    summary="List the pages of a watch",
    operation_id="watches.pages",
)
async def list_pages(
    cases: Cases,
    caller: Who,
    watch_id: WatchId,
    turn: Paged,
    state: PageState | None = None,
    q: Text = None,
) -> Response:
    """In the order in which they were added, each with its next visit and why it is then."""
    view = await cases[Watches].get(caller, watch_id)
    found = await cases[PageHistory].pages(caller, watch_id, turn.more(), state, (q or "").replace("\x00", ""))
    shown, following = turn.of(found, lambda page: page.id)
    now = cases[PageHistory].clock.now()
    items = [WatchedPageDetail.of(page, view, now) for page in shown]
    return encode.answer(WatchedPageList(items=items, next_cursor=following))


@router.get(
    "/{watch_id}/pages/{page_id}",
    dependencies=[permits(PageHistory.page)],
    response_model=WatchedPageDetail,
    responses=UNKNOWN,
    summary="One page of a watch",
    operation_id="watches.page",
)
async def get_page(cases: Cases, caller: Who, watch_id: WatchId, page_id: PageId) -> Response:
    view = await cases[Watches].get(caller, watch_id)
    page = await cases[PageHistory].page(caller, watch_id, page_id)
    return encode.answer(WatchedPageDetail.of(page, view, cases[PageHistory].clock.now()))


@router.get(
    "/{watch_id}/pages/{page_id}/versions",
    dependencies=[permits(PageHistory.versions)],
    response_model=PageVersionList,
    responses=UNKNOWN,
    summary="List the versions of a page",
    operation_id="watches.versions",
)
async def list_versions(cases: Cases, caller: Who, watch_id: WatchId, page_id: PageId, turn: Paged) -> Response:
    """Newest first."""
    found = await cases[PageHistory].versions(caller, watch_id, page_id, turn.more())
    shown, following = turn.of(found, lambda version: version.id)
    items = [PageVersionDetail.of(version) for version in shown]
    return encode.answer(PageVersionList(items=items, next_cursor=following))


@router.get(
    "/{watch_id}/pages/{page_id}/versions/{version_id}",
    dependencies=[permits(PageHistory.version)],
    response_model=PageVersionDetail,
    responses=UNKNOWN,
    summary="One version of a page, with its text",
    operation_id="watches.version",
)
async def get_version(cases: Cases, caller: Who, watch_id: WatchId, page_id: PageId, version_id: VersionId) -> Response:
    found = await cases[PageHistory].version(caller, watch_id, page_id, version_id)
    return encode.answer(PageVersionDetail.of(found))


@router.get(
    "/{watch_id}/pages/{page_id}/diff",
    dependencies=[permits(PageHistory.diff)],
    response_model=PageDiffDetail,
    responses=UNKNOWN,
    summary="What differs between two versions of a page",
    operation_id="watches.diff",
)
async def diff_versions(  # noqa: PLR0913, PLR0917 -- one argument for each parameter
    cases: Cases,
    caller: Who,
    watch_id: WatchId,
    page_id: PageId,
    before: Annotated[
        str | None, Query(alias="from", max_length=40, description="A version; default: the one before.")
    ] = None,
    after: Annotated[
        str | None, Query(alias="to", max_length=40, description="A version; default: the newest.")
    ] = None,
    form: Annotated[Literal["fields", "lines", "words"], Query(alias="as")] = "lines",
) -> Response:
    """Between the last two versions, unless two are named."""
    named = [None if each is None else checked("version", VERSION, each) for each in (before, after)]
    found = await cases[PageHistory].diff(caller, watch_id, page_id, named[0], named[1], form)
    return encode.answer(PageDiffDetail.of(found))
