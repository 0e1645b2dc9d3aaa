"""Builds the HTTP door."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from functools import lru_cache
from importlib.resources import files
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from foliot import __version__
from foliot.domain.access import LOCAL, Caller
from foliot.doors.rest import dead_letters, health, metrics, problems, runs, schedules
from foliot.doors.rest.asking import only_known
from foliot.doors.rest.bodies import REQUESTS
from foliot.doors.rest.guard import LOOPBACK, Guard
from foliot.doors.rest.metrics import Scrape
from foliot.doors.rest.models import ALWAYS, Problem
from foliot.doors.rest.streams import Streams
from foliot.usecases import UseCases

Identify = Callable[[Request], Awaitable[Caller]]

ABOUT = """Fires web work at the right instant, exactly once, and shows what happened and why.

Times are RFC 3339 in UTC. Errors are problem documents (RFC 9457) with a `code`. Every POST takes an `Idempotency-Key`.
Lists answer `{"items": […], "next_cursor": …}`."""


async def _local(_: Request) -> Caller:
    """Local mode asks nobody who they are; the guard has seen to it that they are on this machine."""
    return LOCAL


def create_app(
    cases: UseCases,
    *,
    identify: Identify = _local,
    guarded: bool = True,
    hosts: Collection[str] = LOOPBACK,
) -> FastAPI:
    """The app. Two can live in one process. `app.state.streams.stopping.set()` ends every open stream."""
    app = FastAPI(
        title="Foliot",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(only_known)],
        responses=ALWAYS,
    )
    app.state.cases = cases
    app.state.identify = identify
    app.state.scrape = Scrape()
    app.state.streams = Streams()
    problems.install(app)
    for room in (schedules, runs, dead_letters, health, metrics):
        app.include_router(room.router)
    app.add_api_route("/docs", _docs, include_in_schema=False)
    app.add_api_route("/", _home, include_in_schema=False)
    # FastAPI's own way to extend the document.
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    if guarded:
        app.add_middleware(Guard, hosts=frozenset(hosts) | LOOPBACK)
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document, with the models of bodies that the domain reads."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        read: list[type[BaseModel]] = [*REQUESTS, Problem]
        _, extra = models_json_schema(
            [(model, "validation") for model in read], ref_template="#/components/schemas/{model}"
        )
        made["components"]["schemas"] = extra["$defs"] | made["components"]["schemas"]
        app.openapi_schema = made
    return app.openapi_schema


async def _home() -> RedirectResponse:
    return RedirectResponse("/docs")


async def _docs() -> HTMLResponse:
    return HTMLResponse(_page(), headers={"Content-Security-Policy": _POLICY})


# The page needs its own inline script and style, and the API it stands on; nothing else.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:"


@lru_cache(maxsize=1)
def _page() -> str:
    return (files("foliot.doors.rest") / "docs.html").read_text(encoding="utf-8")
