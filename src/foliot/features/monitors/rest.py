"""Routes of monitors, and the addresses that jobs ping, as Healthchecks.io has them."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse

from foliot.core.errors import NotFound, TooMany
from foliot.features.monitors import schema
from foliot.features.monitors.model import MONITOR, MOST_BODY, PING, Signal, signal_of
from foliot.features.monitors.usecases import Monitors, MonitorView, Pings
from foliot.servers.http import encode
from foliot.servers.http.paging import Paged, Parted
from foliot.servers.http.permission import PUBLIC, Who, permits
from foliot.servers.http.problems import BadBody
from foliot.servers.http.request import MAX_BODY, Body, Cases, Document
from foliot.servers.http.schema import CONFLICT, UNKNOWN, body, problem

router = APIRouter(tags=["Monitors"])

_ID = re.compile(r"[0-9a-f]{32}")
_TOO_MANY = problem(429, "The tenant has reached its limit")
PING_METHODS = ["GET", "POST", "HEAD"]
MOST_RID = 64
MOST_AGENT = 200


async def _monitor_id(monitor_id: Annotated[str, Path(description="A monitor's id, `mon_…`.")]) -> str:
    if not _ID.fullmatch(monitor_id.removeprefix(f"{MONITOR}_")):
        raise NotFound("monitor", monitor_id[:64])
    return monitor_id


async def _ping_id(ping_id: Annotated[str, Path(description="A ping's id, `png_…`.")]) -> str:
    if not _ID.fullmatch(ping_id.removeprefix(f"{PING}_")):
        raise NotFound("ping", ping_id[:64])
    return ping_id


async def _base(request: Request) -> str:
    """Where ping addresses lead: the public address, else the one that the request arrived at."""
    public: str | None = request.app.state.public_url
    return public or f"{request.url.scheme}://{request.url.netloc}"


MonitorId = Annotated[str, Depends(_monitor_id)]
PingId = Annotated[str, Depends(_ping_id)]
Base = Annotated[str, Depends(_base)]


@router.post(
    "/api/monitors",
    dependencies=[permits(Monitors.create)],
    status_code=201,
    response_model=schema.MonitorDetail,
    openapi_extra=body(schema.MonitorRequest),
    responses={**CONFLICT, **_TOO_MANY},
    summary="Create a monitor",
    operation_id="monitors.create",
)
async def create_monitor(cases: Cases, caller: Who, asked: Body, base: Base) -> Response:
    """It is new until its first ping; from then on a ping that does not come in time opens alerts."""

    def shown(view: MonitorView) -> schema.MonitorDetail:
        return schema.MonitorDetail.of(view, base)

    made = await cases[Monitors].create(caller, asked.document, asked.once(201, shown))
    return encode.answer(shown(made), 201, {"Location": f"/api/monitors/{made.monitor.id}"})


@router.get(
    "/api/monitors",
    dependencies=[permits(Monitors.list)],
    response_model=schema.MonitorPage,
    summary="List monitors",
    operation_id="monitors.list",
)
async def list_monitors(cases: Cases, caller: Who, part: Parted, base: Base) -> Response:
    """By name."""
    shown, following = part.of(await cases[Monitors].list(caller), lambda one: one.monitor.id)
    items = [schema.MonitorDetail.of(one, base) for one in shown]
    return encode.answer(schema.MonitorPage(items=items, next_cursor=following))


@router.get(
    "/api/monitors/{monitor_id}",
    dependencies=[permits(Monitors.get)],
    response_model=schema.MonitorDetail,
    responses=UNKNOWN,
    summary="One monitor",
    operation_id="monitors.get",
)
async def get_monitor(cases: Cases, caller: Who, monitor_id: MonitorId, base: Base) -> Response:
    return encode.answer(schema.MonitorDetail.of(await cases[Monitors].get(caller, monitor_id), base))


@router.patch(
    "/api/monitors/{monitor_id}",
    dependencies=[permits(Monitors.change)],
    response_model=schema.MonitorDetail,
    openapi_extra=body(schema.MonitorChange),
    responses={**UNKNOWN, **CONFLICT},
    summary="Change a monitor",
    operation_id="monitors.change",
)
async def change_monitor(cases: Cases, caller: Who, monitor_id: MonitorId, document: Document, base: Base) -> Response:
    """Fields that are absent stay; its ping address stays too."""
    return encode.answer(schema.MonitorDetail.of(await cases[Monitors].change(caller, monitor_id, document), base))


@router.delete(
    "/api/monitors/{monitor_id}",
    dependencies=[permits(Monitors.delete)],
    status_code=204,
    responses=UNKNOWN,
    summary="Delete a monitor",
    operation_id="monitors.delete",
)
async def delete_monitor(cases: Cases, caller: Who, monitor_id: MonitorId) -> Response:
    """With its pings; what is open about it is resolved."""
    await cases[Monitors].delete(caller, monitor_id)
    return Response(status_code=204)


@router.post(
    "/api/monitors/{monitor_id}/pause",
    dependencies=[permits(Monitors.pause)],
    response_model=schema.MonitorDetail,
    responses=UNKNOWN,
    summary="Pause a monitor",
    operation_id="monitors.pause",
)
async def pause_monitor(cases: Cases, caller: Who, monitor_id: MonitorId, asked: Body, base: Base) -> Response:
    """Pings are recorded, but change nothing; what is open about it is resolved."""
    once = asked.once(200, lambda view: schema.MonitorDetail.of(view, base))
    return encode.answer(schema.MonitorDetail.of(await cases[Monitors].pause(caller, monitor_id, once), base))


@router.post(
    "/api/monitors/{monitor_id}/resume",
    dependencies=[permits(Monitors.resume)],
    response_model=schema.MonitorDetail,
    responses=UNKNOWN,
    summary="Resume a monitor",
    operation_id="monitors.resume",
)
async def resume_monitor(cases: Cases, caller: Who, monitor_id: MonitorId, asked: Body, base: Base) -> Response:
    """The next ping is expected as if the last had come now."""
    once = asked.once(200, lambda view: schema.MonitorDetail.of(view, base))
    return encode.answer(schema.MonitorDetail.of(await cases[Monitors].resume(caller, monitor_id, once), base))


@router.get(
    "/api/monitors/{monitor_id}/pings",
    dependencies=[permits(Monitors.pings)],
    response_model=schema.MonitorPingPage,
    responses=UNKNOWN,
    summary="List a monitor's pings, newest first",
    operation_id="monitors.pings",
)
async def list_pings(cases: Cases, caller: Who, monitor_id: MonitorId, page: Paged) -> Response:
    """The last 100 are kept."""
    shown, following = page.of(await cases[Monitors].pings(caller, monitor_id, page.more()), lambda one: one.id)
    items = [schema.MonitorPing.of(one) for one in shown]
    return encode.answer(schema.MonitorPingPage(items=items, next_cursor=following))


@router.get(
    "/api/monitors/{monitor_id}/instants",
    dependencies=[permits(Monitors.instants)],
    response_model=schema.ExpectedPingPage,
    responses=UNKNOWN,
    summary="List the times at which pings were or are expected",
    operation_id="monitors.instants",
)
async def list_instants(
    cases: Cases,
    caller: Who,
    monitor_id: MonitorId,
    limit: Annotated[int, Query(ge=1, le=500, description="The largest number of times that have passed.")] = 100,
) -> Response:
    """The newest that have passed, oldest first, each answered, answered late, failed or missed; then the next five."""
    items = [schema.ExpectedPing.of(one) for one in await cases[Monitors].instants(caller, monitor_id, limit)]
    return encode.answer(schema.ExpectedPingPage(items=items, next_cursor=None))


@router.get(
    "/api/monitors/{monitor_id}/pings/{ping_id}",
    dependencies=[permits(Monitors.ping)],
    response_model=schema.MonitorPing,
    responses=UNKNOWN,
    summary="One ping, with its log",
    operation_id="monitors.ping",
)
async def get_ping(cases: Cases, caller: Who, monitor_id: MonitorId, ping_id: PingId) -> Response:
    return encode.answer(schema.MonitorPing.of(await cases[Monitors].ping(caller, monitor_id, ping_id)))


@router.api_route("/ping/{key}", methods=PING_METHODS, dependencies=[PUBLIC], include_in_schema=False)
async def ping(request: Request, cases: Cases, key: str, rid: Annotated[str | None, Query()] = None) -> Response:
    """A success."""
    return await _pinged(request, cases, key, "", rid)


@router.api_route("/ping/{key}/{signal}", methods=PING_METHODS, dependencies=[PUBLIC], include_in_schema=False)
async def ping_signal(
    request: Request, cases: Cases, key: str, signal: str, rid: Annotated[str | None, Query()] = None
) -> Response:
    """The start of a run, a failure, a log or an exit code."""
    return await _pinged(request, cases, key, signal, rid)


async def _pinged(request: Request, cases: Cases, key: str, word: str, rid: str | None) -> Response:
    known = signal_of(word)
    if known is None:
        return PlainTextResponse("invalid url format", 400)
    kept, sent = await _body(request)
    signal = Signal(
        kind=known[0],
        method=request.method,
        exit_code=known[1],
        rid=None if not rid else _visible(rid, MOST_RID),
        user_agent=_visible(request.headers.get("user-agent", ""), MOST_AGENT),
        body=kept,
        body_bytes=sent,
    )
    try:
        await cases[Pings].receive(key[:MOST_RID], signal)
    except NotFound:
        return PlainTextResponse("not found", 404)
    except TooMany as refused:
        after = {"Retry-After": str(int(refused.retry_after or 0) + 1)}
        return PlainTextResponse("rate limited", 429, after)
    return PlainTextResponse("OK", 200, {"Ping-Body-Limit": str(MOST_BODY)})


async def _body(request: Request) -> tuple[bytes, int]:
    """What is kept of the body, and how many bytes it has. A log that is too long must not lose the ping."""
    kept, sent = bytearray(), 0
    async for chunk in request.stream():
        sent += len(chunk)
        kept += chunk[: MOST_BODY - len(kept)]
        if sent > MAX_BODY:
            raise BadBody("too_large", f"a ping's body may have 1 MiB, of which {MOST_BODY:,} bytes are kept")
    return bytes(kept), sent


def _visible(text: str, most: int) -> str:
    return "".join(character if character.isprintable() else "�" for character in text[:most])
