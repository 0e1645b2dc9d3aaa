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
from foliot.auth.digest import Pepper
from foliot.auth.identity_port import Identity
from foliot.commands.failed_login_delay import Throttle
from foliot.commands.use_cases import UseCases
from foliot.features.api_keys import rest as keys
from foliot.features.api_keys import schema as models_access
from foliot.features.articles import rest as articles
from foliot.features.articles import schema as models_articles
from foliot.features.audit_log import rest as trail
from foliot.features.bulk import rest as bulks
from foliot.features.bulk import schema as models_bulk
from foliot.features.crawls import rest as crawl
from foliot.features.dead_letters import rest as dead_letters
from foliot.features.demo import rest as demo
from foliot.features.endpoints import rest as endpoints
from foliot.features.filters import rest as searching
from foliot.features.health import metrics_rest
from foliot.features.health import rest as health
from foliot.features.health.metrics_rest import Scrape
from foliot.features.insights.rest import attention, timeline
from foliot.features.jobs import schema as models_jobs
from foliot.features.jobs.rest import jobs
from foliot.features.jobs.rest import socket as sockets
from foliot.features.live.rest import socket as stream
from foliot.features.pipelines import rest as pipelines
from foliot.features.presets import rest as presets
from foliot.features.queues import rest as queues
from foliot.features.runs.rest import export as run_export
from foliot.features.runs.rest import log, runs
from foliot.features.schedules import schema as models_schedules
from foliot.features.schedules.rest import actions, schedules
from foliot.features.schedules.rest import export as schedule_export
from foliot.features.schedules.rest import health as schedule_health
from foliot.features.search import rest as suggesting
from foliot.features.secrets import rest as secrets
from foliot.features.sessions import schema as models_session
from foliot.features.sessions.rest import session, tickets
from foliot.features.sessions.usecases.sessions import Sessions
from foliot.features.tasks import rest as tasks
from foliot.features.tenants import rest as tenants
from foliot.features.webhooks import rest as echo
from foliot.features.workers import rest as workers
from foliot.servers.http import problems
from foliot.servers.http.bodies import REQUESTS
from foliot.servers.http.dashboard_files import Web
from foliot.servers.http.models import ALWAYS, Problem
from foliot.servers.http.permission import PUBLIC
from foliot.servers.http.same_site import LOOPBACK, Guard, Typed, Unambiguous
from foliot.servers.http.shared_reader import Pulses
from foliot.servers.http.sse import Streams

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
    actions,
    runs,
    log,
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
    metrics_rest,
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
    app.state.identity = None if identity is None else cases[Sessions].over(identity)
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
    return (files("foliot.servers.http") / "docs.html").read_text(encoding="utf-8")
