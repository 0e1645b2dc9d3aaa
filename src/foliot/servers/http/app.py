"""Builds the FastAPI application from the features' routers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.routing import BaseRoute, Route, WebSocketRoute

from foliot import __version__
from foliot.auth.digest import Pepper
from foliot.auth.identity import Identity
from foliot.commands.failed_login_delay import FailedLoginDelay
from foliot.commands.use_cases import UseCases
from foliot.servers.http import problems
from foliot.servers.http.dashboard_files import Dashboard
from foliot.servers.http.permission import PUBLIC, CallerOf, public
from foliot.servers.http.run_broadcast import EventReader
from foliot.servers.http.same_site import LOOPBACK, LoopbackGuard, NoSniff, Unambiguous
from foliot.servers.http.schema import ALWAYS, Problem, RequestBody
from foliot.servers.http.shared_reader import SharedReaders
from foliot.servers.http.sse import OpenStreams

ABOUT = """Fires web work at the right instant, exactly once, and shows what happened and why.

Times are RFC 3339 in UTC. Errors are problem documents (RFC 9457) with a `code`. Every POST takes an `Idempotency-Key`.
Lists answer `{"items": […], "next_cursor": …}`."""


HttpApp = FastAPI
Routes = Sequence[BaseRoute]

BEARER = {"type": "http", "scheme": "bearer", "description": "A token (JWT) or an API key (`flt_…`)."}


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """What the features pass to this server, which imports none of them."""

    routes: Sequence[BaseRoute]
    """The features' routes, as `routes_of` collects them."""
    event_reader: Callable[[], EventReader]
    session_caller: CallerOf
    ticket_caller: CallerOf


def build_app(  # noqa: PLR0913 -- as many as there are things to choose
    cases: UseCases,
    handed: Handed,
    *,
    identity: Identity | None = None,
    hosts: Collection[str] = LOOPBACK,
    metrics_token: str | None = None,
    cursor_pepper: Pepper | None = None,
    pages: Path | None = None,
    public_url: str | None = None,
) -> FastAPI:
    """The app. Two can live in one process. `app.state.streams.stopping.set()` ends every open stream.

    Without `identity` it is in local mode: it needs no token, and accepts only requests to a loopback address that come
    from no other site. `metrics_token` is a bearer token for `/metrics` alone. `cursor_pepper` signs pagination
    cursors. `pages` is the directory of the dashboard's build, `public_url` the address that users open.
    """
    app = FastAPI(
        title="Foliot",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        # A redirect is built from the Host header, which the client controls; behind a proxy it would leave https.
        redirect_slashes=False,
    )
    app.state.cases = cases
    app.state.identity = identity
    app.state.session_caller = handed.session_caller
    app.state.ticket_caller = handed.ticket_caller
    app.state.public_url = public_url
    app.state.metrics_token = metrics_token
    app.state.cursor_pepper = cursor_pepper
    app.state.streams = OpenStreams(handed.event_reader)
    app.state.pulses = SharedReaders(app.state.streams.stopping)
    app.state.throttle = FailedLoginDelay()
    problems.install(app)
    app.router.routes.extend(handed.routes)
    app.add_api_route("/docs", _docs, include_in_schema=False, dependencies=[PUBLIC])
    # FastAPI's documented way to extend the OpenAPI document.
    app.openapi = lambda: _openapi(app, handed.routes)  # type: ignore[method-assign]
    # Inside the loopback guard: in local mode the dashboard too is served to this machine alone.
    app.add_middleware(Dashboard, root=pages, taken=_taken(app))
    app.add_middleware(Unambiguous)
    if identity is None:
        app.add_middleware(LoopbackGuard, hosts=frozenset(hosts) | LOOPBACK)
    app.add_middleware(NoSniff)
    return app


def routes_of(routers: Iterable[APIRouter], first: Collection[str] = ()) -> Sequence[BaseRoute]:
    """The routes of all features; they hold no state, so all apps share them.

    Routes are matched in order: those of the paths `first`, which get the most requests, come first.
    `include_router` would build every route again for each app, and matching would go from router to router.
    """
    routes = [route for router in routers for route in router.routes]
    for route in routes:
        if isinstance(route, APIRoute):
            route.responses = {**ALWAYS, **route.responses}
            route.operation_id = route.operation_id or operation_id(route.endpoint)
    return sorted(routes, key=lambda route: getattr(route, "path", "") not in first)


def operation_id(endpoint: Callable[..., Any]) -> str:
    """The operation id in OpenAPI: feature and function, `schedules.create`."""
    feature = endpoint.__module__.removeprefix("foliot.features.").partition(".")[0]
    return f"{feature}.{endpoint.__name__.rstrip('_')}"


def _taken(app: FastAPI) -> frozenset[str]:
    """The first segments of all routes' paths: no page of the dashboard can have such an address."""
    return frozenset(route.path.split("/")[1] for route in app.routes if isinstance(route, Route | WebSocketRoute))


def _openapi(app: FastAPI, routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """FastAPI's OpenAPI document, with the schemas of request bodies, which the routes read themselves."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=routes)
        described = [route for route in routes if isinstance(route, APIRoute) and route.include_in_schema]
        bodies = [route.openapi_extra.model for route in described if isinstance(route.openapi_extra, RequestBody)]
        _, extra = TypeAdapter.json_schemas(
            [(model, "validation", TypeAdapter(model)) for model in dict.fromkeys([*bodies, Problem])],
            ref_template="#/components/schemas/{model}",
        )
        document["components"]["schemas"] = extra["$defs"] | document["components"]["schemas"]
        if app.state.identity is not None:
            document["components"]["securitySchemes"] = {"bearer": BEARER}
            document["security"] = [{"bearer": []}]
            for route in described:
                if any(each.dependency is public for each in route.dependencies):
                    for method in route.methods or ():
                        document["paths"][route.path_format][method.lower()]["security"] = []
        app.openapi_schema = document
    return app.openapi_schema


async def _docs() -> HTMLResponse:
    return HTMLResponse(_page(), headers={"Content-Security-Policy": _POLICY, "X-Frame-Options": "DENY"})


# The page needs its own inline script and style, and the API of the same origin; nothing else. Its buttons send real
# requests, so no other site may frame it.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


@lru_cache(maxsize=1)
def _page() -> str:
    return (files("foliot.servers.http") / "docs.html").read_text(encoding="utf-8")
