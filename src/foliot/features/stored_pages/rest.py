"""Routes of stored pages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from foliot import __version__
from foliot.core.errors import NotFound
from foliot.features.stored_pages import schema
from foliot.features.stored_pages.model import PAGE, PageFilter
from foliot.features.stored_pages.usecases import StoredPages
from foliot.features.stored_pages.warc import WARC, head
from foliot.servers.http import encode, sse
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases
from foliot.servers.http.schema import UNKNOWN

router = APIRouter(prefix="/api/pages", tags=["Pages"])
_ID = re.compile(r"[0-9a-f]{32}")


async def _page_id(page_id: Annotated[str, Path(description="A stored page's id, `pag_…`.")]) -> str:
    if not _ID.fullmatch(page_id.removeprefix(f"{PAGE}_")):
        raise NotFound("page", page_id[:64])
    return page_id


PageId = Annotated[str, Depends(_page_id)]


@router.get(
    "",
    dependencies=[permits(StoredPages.list)],
    response_model=schema.StoredPageList,
    summary="List stored pages",
    operation_id="pages.list",
)
async def list_pages(
    cases: Cases,
    caller: Who,
    turn: Paged,
    q: Annotated[str, Query(max_length=1000, description="As in `host:shop.example since:7d status:200`.")] = "",
) -> Response:
    """Newest first."""
    shown, following = turn.of(await cases[StoredPages].list(caller, turn.more(), q), lambda page: page.id)
    items = [schema.StoredPageInfo.of(page) for page in shown]
    return encode.answer(schema.StoredPageList(items=items, next_cursor=following))


@router.get(
    "/export",
    dependencies=[permits(StoredPages.archived)],
    response_class=StreamingResponse,
    responses={200: {"content": {WARC: {"schema": {"type": "string", "format": "binary"}}}}},
    summary="Download stored pages as WARC",
    operation_id="pages.export",
)
async def export_pages(
    request: Request,
    cases: Cases,
    caller: Who,
    q: Annotated[str, Query(max_length=1000, description="As in `host:shop.example since:7d status:200`.")] = "",
) -> Response:
    """Newest first, without a limit: answers as they were received, and rendered documents as their conversions."""
    pages = cases[StoredPages]
    which = PageFilter.read(q, pages.clock.now())

    # Before the response begins: what cannot be exported is answered by its status.
    piece, after = await pages.archived(caller, which, None)

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal piece, after
        yield head(f"Foliot/{__version__}", pages.clock.now())
        yield piece
        while after is not None:
            piece, after = await pages.archived(caller, which, after)
            yield piece

    return await sse.download(request.app, cases, caller, pieces(), sse.DownloadName(WARC, "pages.warc.gz"))


@router.get(
    "/{page_id}",
    dependencies=[permits(StoredPages.get)],
    response_model=schema.StoredPageInfo,
    responses=UNKNOWN,
    summary="One stored page",
    operation_id="pages.get",
)
async def get_page(cases: Cases, caller: Who, page_id: PageId) -> Response:
    return encode.answer(schema.StoredPageInfo.of(await cases[StoredPages].get(caller, page_id)))


@router.get(
    "/{page_id}/body",
    dependencies=[permits(StoredPages.body)],
    responses={200: {"content": {"application/octet-stream": {}}}, **UNKNOWN},
    response_class=Response,
    summary="The body of a stored page",
    operation_id="pages.body",
)
async def get_body(
    cases: Cases,
    caller: Who,
    page_id: PageId,
    *,
    rendered: Annotated[bool, Query(description="The rendered document instead of the body.")] = False,
) -> Response:
    """As it came: a stranger's page, so it is sent as a download that no browser opens.

    `X-Content-Type` is the type that it was sent as.
    """
    found = await cases[StoredPages].body(caller, page_id, rendered=rendered)
    headers = {
        "Content-Disposition": f'attachment; filename="{page_id}"',
        "Content-Security-Policy": "sandbox",
        "X-Content-Type-Options": "nosniff",
        "X-Content-Type": found.content_type.encode("latin-1", "replace").decode("latin-1"),
    }
    return Response(found.body, media_type="application/octet-stream", headers=headers)
