"""Builds the HTTP door."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.routing import BaseRoute, Route, WebSocketRoute

from foliot import __version__
from foliot.doors.rest import (
    articles,
    attention,
    bulks,
    crawl,
    dead_letters,
    demo,
    echo,
    endpoints,
    health,
    jobs,
    keys,
    metrics,
    models_access,
    models_articles,
    models_bulk,
    models_jobs,
    models_schedules,
    models_session,
    pipelines,
    presets,
    problems,
    queues,
    run_export,
    run_logs,
    runs,
    schedule_acts,
    schedule_export,
    schedule_health,
    schedules,
    searching,
    secrets,
    session,
    sockets,
    stream,
    suggesting,
    tasks,
    tenants,
    tickets,
    timeline,
    trail,
    workers,
)
from foliot.doors.rest.bodies import REQUESTS
from foliot.doors.rest.guard import LOOPBACK, Guard, Typed, Unambiguous
from foliot.doors.rest.metrics import Scrape
from foliot.doors.rest.models import ALWAYS, Problem
from foliot.doors.rest.pulses import Pulses
from foliot.doors.rest.streams import Streams
from foliot.doors.rest.web import Web
from foliot.doors.rest.who import PUBLIC
from foliot.ports import Identity
from foliot.ports.keys import Pepper
from foliot.usecases import UseCases
from foliot.usecases.throttle import Throttle

ABOUT = """Fires web work at the right instant, exactly once, and shows what happened and why.

Times are RFC 3339 in UTC. Errors are problem documents (RFC 9457) with a `code`. Every POST takes an `Idempotency-Key`.
Lists answer `{"items": […], "next_cursor": …}`."""


ROOMS = (
    # Before the schedules and the runs: their paths would be taken for one's id.
    schedule_health,
    schedule_export,
    searching,
    run_export,
    suggesting,
    schedules,
    schedule_acts,
    runs,
    run_logs,
    crawl,
    articles,
    jobs,
    sockets,
    stream,
    tasks,
    presets,
    pipelines,
    dead_letters,
    bulks,
    queues,
    endpoints,
    workers,
    keys,
    tickets,
    session,
    echo,
    demo,
    secrets,
    tenants,
    trail,
    attention,
    timeline,
    health,
    metrics,
)

FIRST = frozenset({"/crawl", "/api/schedules/{schedule_id}/run-now"})
"""Asked more often than all others: a path is compared with one route after the other."""

OPEN = (("/health", "get"), ("/api/session", "get"), ("/api/session", "post"), ("/api/session", "delete"))
"""What nobody has to show anything for."""

BEARER = {"type": "http", "scheme": "bearer", "description": "A token (JWT) or an API key (`flt_…`)."}


def create_app(  # noqa: PLR0913 -- as many as there are things to choose
    cases: UseCases,
    *,
    identity: Identity | None = None,
    hosts: Collection[str] = LOOPBACK,
    metrics_token: str | None = None,
    cursor_pepper: Pepper | None = None,
    pages: Path | None = None,
    public_url: str | None = None,
) -> FastAPI:
    """The app. Two can live in one process. `app.state.streams.stopping.set()` ends every open stream.

    Without `identity` it is in local mode: it asks nobody for a token, and answers only those who are on this machine
    and come from no other site. `metrics_token` opens `/metrics` to whoever shows it. `cursor_pepper` signs
    the places where lists go on. `pages` is where the dashboard's build lies, `public_url` where people find it.
    """
    app = FastAPI(
        title="Foliot",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        # A redirect would be made of the Host header: it leads wherever that says, and behind a proxy out of https.
        redirect_slashes=False,
    )
    app.state.cases = cases
    app.state.identity = None if identity is None else cases.sessions.over(identity)
    app.state.public_url = public_url
    app.state.metrics_token = metrics_token
    app.state.cursor_pepper = cursor_pepper
    app.state.scrape = Scrape()
    app.state.streams = Streams()
    app.state.pulses = Pulses(app.state.streams.stopping)
    app.state.tries = session.Tries()
    app.state.throttle = Throttle()
    problems.install(app)
    app.router.routes.extend(sorted(_routes(), key=lambda route: getattr(route, "path", "") not in FIRST))
    app.add_api_route("/docs", _docs, include_in_schema=False, dependencies=[PUBLIC])
    # FastAPI's own way to extend the document.
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    # Inside the guard: in local mode a page is for those on this machine alone.
    app.add_middleware(Web, root=pages, taken=_taken(app))
    app.add_middleware(Unambiguous)
    if identity is None:
        app.add_middleware(Guard, hosts=frozenset(hosts) | LOOPBACK)
    app.add_middleware(Typed)
    return app


@lru_cache(maxsize=1)
def _routes() -> Sequence[BaseRoute]:
    """The routes of all rooms, which all apps share: they know nothing of any.

    Including the routers would make every route again for each app, when its first request comes, and every request
    would go from room to room.
    """
    routes = [route for room in ROOMS for route in room.router.routes]
    for route in routes:
        if isinstance(route, APIRoute):
            route.responses = {**ALWAYS, **route.responses}
    return routes


def _taken(app: FastAPI) -> frozenset[str]:
    """The first parts of all paths that routes answer: no page of the dashboard can have such an address."""
    return frozenset(route.path.split("/")[1] for route in app.routes if isinstance(route, Route | WebSocketRoute))


def _openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document, with the models of bodies that the domain reads."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=_routes())
        rooms = (
            endpoints,
            models_access,
            models_articles,
            models_bulk,
            models_jobs,
            models_schedules,
            models_session,
            tenants,
            tasks,
            presets,
            pipelines,
        )
        read: list[type[BaseModel]] = [*REQUESTS, *(model for room in rooms for model in room.REQUESTS), Problem]
        _, extra = models_json_schema(
            [(model, "validation") for model in read], ref_template="#/components/schemas/{model}"
        )
        made["components"]["schemas"] = extra["$defs"] | made["components"]["schemas"]
        if app.state.identity is not None:
            made["components"]["securitySchemes"] = {"bearer": BEARER}
            made["security"] = [{"bearer": []}]
            for path, method in OPEN:
                made["paths"][path][method]["security"] = []
        app.openapi_schema = made
    return app.openapi_schema


async def _docs() -> HTMLResponse:
    return HTMLResponse(_page(), headers={"Content-Security-Policy": _POLICY, "X-Frame-Options": "DENY"})


# The page needs its own inline script and style, and the API it stands on; nothing else. Its buttons really send, so no
# other page may put it into a frame of its own.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


@lru_cache(maxsize=1)
def _page() -> str:
    return (files("foliot.doors.rest") / "docs.html").read_text(encoding="utf-8")
