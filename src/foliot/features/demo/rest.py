"""Routes of the demo, and the site that its schedules call."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from fastapi import APIRouter, Request, Response

from foliot.core.errors import NotFound
from foliot.features.demo import schema
from foliot.features.demo.usecases import Demo
from foliot.servers.http import encode
from foliot.servers.http.permission import PUBLIC, Who, permits
from foliot.servers.http.request import Cases
from foliot.servers.http.sse import OpenStreams

router = APIRouter()


@router.get(
    "/api/demo",
    dependencies=[permits(Demo.about)],
    response_model=schema.DemoSummary,
    tags=["Demo"],
    summary="Whether the demo is on",
)
async def show(cases: Cases, caller: Who) -> Response:
    """`foliot up --demo` installs it."""
    about = await cases[Demo].about(caller)
    return encode.answer(
        schema.DemoSummary(
            on=about.on,
            schedules=about.schedules,
            runs=about.runs,
        )
    )


@router.delete(
    "/api/demo",
    dependencies=[permits(Demo.remove)],
    response_model=schema.DemoRemoved,
    tags=["Demo"],
    summary="Remove the demo",
)
async def remove(cases: Cases, caller: Who) -> Response:
    """Everything that it created, and nothing else: its schedules, their runs, logs, articles and prices, for good."""
    erased = await cases[Demo].remove(caller)
    return encode.answer(
        schema.DemoRemoved(
            schedules=erased.schedules,
            runs=erased.runs,
        )
    )


@router.api_route("/api/demo-site/{path:path}", methods=["GET", "POST"], dependencies=[PUBLIC], include_in_schema=False)
async def site(request: Request, cases: Cases, path: str) -> Response:
    """Only in local mode, and only where the demo is on."""
    demo = cases[Demo]
    if request.app.state.identity is not None or demo.site is None:
        raise NotFound("site", "demo")
    page = demo.site(path, demo.clock.now())
    streams: OpenStreams = request.app.state.streams
    if page.seconds:
        with suppress(TimeoutError):
            async with asyncio.timeout(page.seconds):
                await streams.stopping.wait()
    policy = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}
    return Response(page.body, page.status, policy, page.media_type)
