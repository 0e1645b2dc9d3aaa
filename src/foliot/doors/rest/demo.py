"""Routes of the demo, and the site that its schedules call."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from fastapi import APIRouter, Request, Response

from foliot.domain.access import Thing, Verb
from foliot.domain.errors import NotFound
from foliot.doors.rest import models_session, render
from foliot.doors.rest.asking import Cases
from foliot.doors.rest.streams import Streams
from foliot.doors.rest.who import PUBLIC, Who, permits

router = APIRouter()


@router.get(
    "/api/demo",
    dependencies=[permits(Verb.READ, Thing.SCHEDULE)],
    response_model=models_session.Demo,
    tags=["Demo"],
    summary="Whether the demo is on",
)
async def show(cases: Cases, caller: Who) -> Response:
    """`foliot up --demo` puts it there."""
    about = await cases.demo.about(caller)
    return render.answer({"on": about.on, "schedules": about.schedules, "runs": about.runs})


@router.delete(
    "/api/demo",
    dependencies=[permits(Verb.WRITE, Thing.SCHEDULE)],
    response_model=models_session.DemoRemoved,
    tags=["Demo"],
    summary="Remove the demo",
)
async def remove(cases: Cases, caller: Who) -> Response:
    """Everything that it made, and nothing else: its schedules, their runs, logs, articles and prices, for good."""
    erased = await cases.demo.remove(caller)
    return render.answer({"schedules": erased.schedules, "runs": erased.runs})


@router.api_route("/api/demo-site/{path:path}", methods=["GET", "POST"], dependencies=[PUBLIC], include_in_schema=False)
async def site(request: Request, cases: Cases, path: str) -> Response:
    """Only in local mode, and only where the demo was started."""
    if request.app.state.identity is not None or cases.demo.site is None:
        raise NotFound("site", "demo")
    page = cases.demo.site(path, cases.demo.clock.now())
    streams: Streams = request.app.state.streams
    if page.seconds:
        with suppress(TimeoutError):
            async with asyncio.timeout(page.seconds):
                await streams.stopping.wait()
    policy = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}
    return Response(page.body, page.status, policy, page.media_type)
