"""The route that exports all runs matching a filter, as NDJSON or CSV."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from foliot.commands.envelope import UseCases
from foliot.core.access import Caller
from foliot.core.document import rfc3339
from foliot.engine.model.views import PageRequest, RunView
from foliot.features.filters.model import FilterQuery as Wish
from foliot.features.filters.schema import Filter
from foliot.features.filters.usecases import Search
from foliot.features.jobs.rest.jobs import CSV, NDJSON
from foliot.features.jobs.rest.results import cell, table
from foliot.features.runs import schema
from foliot.servers.http import encode, sse
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases

router = APIRouter(prefix="/api/runs", tags=["Runs"])

BATCH = 500
COLUMNS = (
    "id", "schedule_id", "schedule_name", "kind", "origin", "state", "scheduled_for", "created_at", "started_at",
    "finished_at", "duration_ms", "lateness_ms", "attempt", "max_attempts", "queue", "priority", "worker", "user_id",
    "parent_id", "resolved_by",
)  # fmt: skip
ERROR = ("error_code", "error")
_TEXT = {"schema": {"type": "string"}}


@router.get(
    "/export",
    dependencies=[permits(Search.runs)],
    response_class=StreamingResponse,
    responses={200: {"content": {NDJSON: _TEXT, CSV: _TEXT}}},
    summary="Download all runs that match a filter",
)
async def export(
    request: Request,
    cases: Cases,
    caller: Who,
    q: Filter = None,
    form: Annotated[Literal["ndjson", "csv"], Query(alias="format")] = "ndjson",
) -> Response:
    """Newest first, without a limit; runs that are created meanwhile are not among them. NDJSON has a run per line, in
    the form of lists. A CSV cell that a spreadsheet would take for a formula begins with an apostrophe."""
    wish = cases[Search].read_runs(q)
    media, encoder = (CSV, _rows) if form == "csv" else (NDJSON, _documents)
    pieces = _pieces(cases, caller, wish, encoder, head=table([[*COLUMNS, *ERROR]]) if form == "csv" else b"")
    return await sse.download(request.app, cases, caller, pieces, sse.DownloadName(media, f"runs.{form}"))


async def _pieces(
    cases: UseCases, caller: Caller, wish: Wish, encoder: Callable[[Sequence[RunView]], bytes], head: bytes
) -> AsyncIterator[bytes]:
    """Holds one page of runs in memory at a time. Ids only grow, so each page continues where the last one ended."""
    yield head
    last: str | None = None
    runs: Sequence[RunView] = ()
    while last is None or len(runs) == BATCH:
        runs = await cases[Search].runs(caller, PageRequest(BATCH, last), wish)
        if not runs:
            return
        last = runs[-1].id
        yield encoder(runs)


def _documents(runs: Sequence[RunView]) -> bytes:
    return b"".join(encode.dumps(schema.Run.of(run)) + b"\n" for run in runs)


def _rows(runs: Sequence[RunView]) -> bytes:
    return table([_row(run) for run in runs])


def _row(one: RunView) -> list[object]:
    run, error = schema.Run.of(one), one.error or {}
    values = (getattr(run, name) for name in COLUMNS)
    texts = (rfc3339(value) if isinstance(value, datetime) else value for value in values)
    return [*(cell(text) for text in texts), cell(error.get("code")), cell(error.get("message"))]
