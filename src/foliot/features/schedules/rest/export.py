"""The route that exports all matching schedules, as documents that can be imported again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from foliot.commands.envelope import UseCases
from foliot.core.access import Caller
from foliot.core.errors import Invalid
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import PageRequest
from foliot.features.filters.schema import Filter
from foliot.features.filters.usecases import Search
from foliot.features.schedules.model.document import document
from foliot.servers.http import encode, sse
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases, plain_texts

router = APIRouter(prefix="/api/schedules", tags=["Schedules"])

BATCH = 500
MOST_IDS = 200
YAML, JSON = "application/yaml", "application/json"
_LIST = {"schema": {"type": "array", "items": {"type": "object"}}}


@router.get(
    "/export",
    dependencies=[permits(Search.schedules, Search.several_schedules)],
    response_class=StreamingResponse,
    responses={200: {"content": {YAML: _LIST, JSON: _LIST}}},
    summary="Download all schedules that match a filter",
)
async def export(
    request: Request,
    cases: Cases,
    caller: Who,
    q: Filter = None,
    ids: Annotated[
        str | None,
        Query(max_length=8000, description=f"Instead of a filter: up to {MOST_IDS} ids, separated by commas."),
    ] = None,
    form: Annotated[Literal["yaml", "json"], Query(alias="format")] = "yaml",
) -> Response:
    """A list of documents as `POST /api/schedules` takes them, each with its `status`; `foliot schedule import` reads
    them back. Newest first; deleted ones are left out unless the filter names them."""
    plain_texts(ids=ids)
    pages = _named(cases, caller, ids) if ids else _matching(cases, caller, q)
    media, pieces = (YAML, _yaml(pages)) if form == "yaml" else (JSON, _json(pages))
    return await sse.download(request.app, cases, caller, pieces, sse.DownloadName(media, f"schedules.{form}"))


def _matching(cases: UseCases, caller: Caller, q: str | None) -> AsyncIterator[Sequence[Schedule]]:
    wish = cases[Search].read_schedules(q)

    async def pages() -> AsyncIterator[Sequence[Schedule]]:
        last: str | None = None
        schedules: Sequence[Schedule] = ()
        while last is None or len(schedules) == BATCH:
            schedules = await cases[Search].schedules(caller, PageRequest(BATCH, last), wish)
            if not schedules:
                return
            last = schedules[-1].id
            yield schedules

    return pages()


def _named(cases: UseCases, caller: Caller, ids: str) -> AsyncIterator[Sequence[Schedule]]:
    wanted = list(dict.fromkeys(one for one in ids.split(",") if one))
    if len(wanted) > MOST_IDS:
        raise Invalid("ids", f"must name at most {MOST_IDS} schedules: give a filter instead", got=len(wanted))

    async def pages() -> AsyncIterator[Sequence[Schedule]]:
        yield await cases[Search].several_schedules(caller, wanted)

    return pages()


async def _yaml(pages: AsyncIterator[Sequence[Schedule]]) -> AsyncIterator[bytes]:
    empty = True
    async for schedules in pages:
        empty = empty and not schedules
        yield encode.yaml_list([exported(schedule) for schedule in schedules]).encode()
    if empty:
        yield b"[]\n"


async def _json(pages: AsyncIterator[Sequence[Schedule]]) -> AsyncIterator[bytes]:
    before = b"[\n"
    async for schedules in pages:
        for schedule in schedules:
            yield before + encode.dumps(exported(schedule))
            before = b",\n"
    yield b"\n]\n" if before == b",\n" else b"[]\n"


def exported(schedule: Schedule) -> dict[str, Any]:
    """The document that would create it again; `status` says whether to pause it then, or that its row is damaged."""
    fields = {name: value for name, value in document(schedule).items() if value is not None}
    rule = schedule.spec.trigger.follows
    if rule is not None:
        # Names, because the ids of another installation are others.
        fields["after"] = {**rule.as_dict(), "schedule": list(rule.names or rule.parents)}
    paused = {"paused_reason": schedule.paused_reason} if schedule.paused_reason else {}
    return {**fields, "status": "damaged" if schedule.fault else schedule.status.value, **paused}
