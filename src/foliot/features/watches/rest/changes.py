"""Routes of changes: one list over all watches, its downloads, and a feed of each watch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse

from foliot.commands.envelope import UseCases
from foliot.core.access import Caller
from foliot.core.document import rfc3339
from foliot.core.errors import Invalid, NotFound
from foliot.features.filters.model import FilterQuery
from foliot.features.jobs.rest.jobs import CSV, NDJSON
from foliot.features.jobs.rest.results import cell, table
from foliot.features.watches.atom import feed_of
from foliot.features.watches.model.watch import CHANGE
from foliot.features.watches.rest.watches import Base, checked
from foliot.features.watches.schema.changes import ChangeDetail, ChangeList
from foliot.features.watches.usecases.history import ListedChange, PageHistory
from foliot.servers.http import encode, sse
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import PUBLIC, Who, permits
from foliot.servers.http.request import Cases
from foliot.servers.http.schema import UNKNOWN

router = APIRouter(tags=["Watches"])
BATCH = 500
COLUMNS = ("id", "seq", "at", "watch_id", "watch", "page_id", "url", "kind", "matched", "fields", "diff", "run_id")
_TEXT = {"schema": {"type": "string"}}
Filter = Annotated[
    str,
    Query(max_length=1000, description="As in `watch:Shop kind:changed matched:true since:7d`; words: the URL."),
]


@router.get(
    "/api/changes",
    dependencies=[permits(PageHistory.changes)],
    response_model=ChangeList,
    responses={200: {"content": {NDJSON: _TEXT, CSV: _TEXT}}},
    summary="List changes of all watches",
    operation_id="changes.list",
)
async def list_changes(
    request: Request,
    cases: Cases,
    caller: Who,
    turn: Paged,
    q: Filter = "",
    after: Annotated[
        int | None, Query(ge=0, le=2**53, description="A change's `seq`: those after it, oldest first.")
    ] = None,
) -> Response:
    """Newest first. With `after`, the changes since that one, oldest first: a reader that remembers `last_seq` and asks
    for what is after it misses none and gets none twice. With `Accept: application/x-ndjson` or `text/csv`, and without
    `after`, all changes that match are downloaded.
    """
    accepted = request.headers.get("accept", "").lower()
    if after is None and (NDJSON in accepted or CSV in accepted):
        return await _download(request, cases, caller, q, "ndjson" if NDJSON in accepted else "csv")
    history, wanted = cases[PageHistory], cases[PageHistory].read_changes(q)
    more = turn.more()
    if after is not None and more.cursor is not None:
        raise Invalid("after", "cannot be beside cursor: give last_seq as after instead")
    before = None if more.cursor is None else int(more.cursor)
    found = await history.changes(caller, wanted, more.limit, before, after)
    shown, following = turn.of(found, lambda listed: str(listed.change.seq))
    last = max((listed.change.seq for listed in shown), default=None)
    items = [ChangeDetail.of(listed) for listed in shown]
    cursor = following if after is None else None
    return encode.answer(ChangeList(items=items, next_cursor=cursor, last_seq=last))


@router.get(
    "/api/changes/export",
    dependencies=[permits(PageHistory.changes)],
    response_class=StreamingResponse,
    responses={200: {"content": {NDJSON: _TEXT, CSV: _TEXT}}},
    summary="Download all changes that match a filter",
    operation_id="changes.export",
)
async def export_changes(
    request: Request,
    cases: Cases,
    caller: Who,
    q: Filter = "",
    form: Annotated[Literal["ndjson", "csv"], Query(alias="format")] = "ndjson",
) -> Response:
    """Newest first, without a limit. A CSV cell that a spreadsheet would take for a formula begins with an
    apostrophe.
    """
    return await _download(request, cases, caller, q, form)


async def _download(
    request: Request, cases: UseCases, caller: Caller, q: str, form: Literal["ndjson", "csv"]
) -> Response:
    wanted = cases[PageHistory].read_changes(q)
    media, encoder = (CSV, _rows) if form == "csv" else (NDJSON, _documents)
    pieces = _pieces(cases, caller, wanted, encoder, head=table([COLUMNS]) if form == "csv" else b"")
    return await sse.download(request.app, cases, caller, pieces, sse.DownloadName(media, f"changes.{form}"))


@router.get(
    "/api/changes/{change_id}",
    dependencies=[permits(PageHistory.change)],
    response_model=ChangeDetail,
    responses=UNKNOWN,
    summary="One change",
    operation_id="changes.get",
)
async def get_change(
    cases: Cases, caller: Who, change_id: Annotated[str, Path(description="A change's id, `chg_…`.")]
) -> Response:
    found = await cases[PageHistory].change(caller, checked("change", CHANGE, change_id))
    return encode.answer(ChangeDetail.of(found))


@router.get("/api/watches/{watch_id}/feed.atom", dependencies=[PUBLIC], include_in_schema=False)
async def atom_feed(
    cases: Cases, watch_id: str, base: Base, key: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    """The changes that count, newest first. The key in the address is the credential."""
    try:
        found = await cases[PageHistory].of_feed(watch_id[:64], key)
    except NotFound:
        return PlainTextResponse("not found", 404)
    headers = {"Cache-Control": "private, max-age=60", "X-Content-Type-Options": "nosniff"}
    return Response(feed_of(found, base), media_type="application/atom+xml", headers=headers)


async def _pieces(
    cases: UseCases,
    caller: Caller,
    wanted: FilterQuery,
    encoder: Callable[[Sequence[ListedChange]], bytes],
    head: bytes,
) -> AsyncIterator[bytes]:
    yield head
    before: int | None = None
    found: Sequence[ListedChange] = ()
    while before is None or len(found) == BATCH:
        found = await cases[PageHistory].changes(caller, wanted, BATCH, before)
        if not found:
            return
        before = found[-1].change.seq
        yield encoder(found)


def _documents(found: Sequence[ListedChange]) -> bytes:
    return b"".join(encode.dumps(ChangeDetail.of(listed)) + b"\n" for listed in found)


def _rows(found: Sequence[ListedChange]) -> bytes:
    return table([_row(ChangeDetail.of(listed)) for listed in found])


def _row(change: ChangeDetail) -> list[object]:
    values = (getattr(change, name) for name in COLUMNS)
    return [cell(_plain(value)) for value in values]


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return rfc3339(value)
    return orjson.dumps(value).decode() if isinstance(value, dict) else value
