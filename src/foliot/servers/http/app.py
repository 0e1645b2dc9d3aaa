"""Builds the FastAPI application from the features' routers.

Serves the dashboard: the files of its build, and `index.html` for every address that is one of its pages.

The HTTP server: uvicorn with bounds for connections, messages and shutdown.
"""

from __future__ import annotations

import contextlib
import mimetypes
import resource
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from foliot import __version__
from foliot.auth.identity import Identity, Pepper
from foliot.commands.envelope import UseCases
from foliot.commands.limits import FailedLoginDelay
from foliot.servers.http import problems
from foliot.servers.http.connections import Connection, ConnectionLimits
from foliot.servers.http.openapi import ABOUT, protected
from foliot.servers.http.permission import PUBLIC, CallerOf
from foliot.servers.http.request import MAX_MESSAGE
from foliot.servers.http.run_broadcast import EventReader
from foliot.servers.http.schema import ALWAYS
from foliot.servers.http.session_cookie import LOOPBACK, LoopbackGuard, NoSniff, Unambiguous
from foliot.servers.http.sse import OpenStreams, SharedReaders

HttpApp = FastAPI
Routes = Sequence[BaseRoute]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """What the features pass to this server, which imports none of them."""

    routes: Sequence[BaseRoute]
    """The features' routes, as `routes_of` collects them."""
    described: Callable[[], dict[str, Any]]
    """Their OpenAPI document, which all apps share."""
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
        # It would keep the bodies and parameters of requests, and looks for a provider at each of them.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
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
    guarded = identity is not None
    app.openapi = cache(lambda: protected(handed.described(), handed.routes) if guarded else handed.described())  # type: ignore[method-assign]
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


async def _docs() -> HTMLResponse:
    return HTMLResponse(_page(), headers={"Content-Security-Policy": _POLICY, "X-Frame-Options": "DENY"})


# The page needs its own inline script and style, and the API of the same origin; nothing else. Its buttons send real
# requests, so no other site may frame it.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


@lru_cache(maxsize=1)
def _page() -> str:
    return (files("foliot.servers.http") / "docs.html").read_text(encoding="utf-8")


INDEX = "index.html"
ASSETS = "assets/"
"""File names in here contain a digest of the content, so they can be cached for ever."""
ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
"""Encodings that the build may have compressed files with, best first."""
FOR_EVER, EACH_TIME = "public, max-age=31536000, immutable", "no-cache"

# Scripts come from our own files alone. Inline styles are allowed, for some components write them. Images and small
# fonts may be embedded (`data:`), and a download is created by the page (`blob:`).
POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_PLAIN_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE = {
    "Cache-Control": EACH_TIME,
    "X-Frame-Options": "DENY",
    # An address of ours can contain the code of a login link: it must not leak in the Referer header.
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class BuildFile:
    """One file of the build, with its compressed variants."""

    path: Path
    media_type: str
    compressed: Mapping[str, Path]
    lasting: bool


@dataclass(slots=True)
class DashboardBuild:
    """The files of a build, listed in advance: a request is a look-up by name, so no path leaves the directory."""

    root: Path
    _files: Mapping[str, BuildFile] = field(init=False, default_factory=dict)
    _seen: int | None = field(init=False, default=None)

    def find(self, name: str) -> BuildFile | None:
        """The file; after a new build while the server runs, the new one."""
        try:
            mtime = (self.root / INDEX).stat().st_mtime_ns
        except OSError:
            mtime = None
        if mtime != self._seen:
            self._files, self._seen = ({} if mtime is None else _listed(self.root)), mtime
        return self._files.get(name)


@dataclass(slots=True)
class Dashboard:
    """ASGI middleware that serves the dashboard's addresses and passes all others to the routes."""

    app: ASGIApp
    root: Path | None = None
    """The directory of the build; None or an empty one: a plain page says so."""
    taken: Collection[str] = ()
    """First segments of paths that belong to routes."""
    _build: DashboardBuild | None = field(init=False)

    def __post_init__(self) -> None:
        self._build = None if self.root is None else DashboardBuild(self.root)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._answer(scope) if scope["type"] == "http" and scope["method"] in {"GET", "HEAD"} else None
        await (answer or self.app)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response | None:
        name = scope["path"].removeprefix("/")
        headers = Headers(scope=scope)
        if name.partition("/")[0] in self.taken:
            return None
        if name and (file := self._find(name)) is not None:
            return _file(file, headers)
        # Only a browser accepts text/html; any other client gets a 404.
        if name not in {"", INDEX} and "text/html" not in headers.get("accept", ""):
            return None
        index = self._find(INDEX)
        return _plain(404 if name else 200) if index is None else _file(index, headers)

    def _find(self, name: str) -> BuildFile | None:
        return None if self._build is None else self._build.find(name)


def _listed(root: Path) -> dict[str, BuildFile]:
    paths = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {
        name: BuildFile(
            path=path,
            media_type=mimetypes.guess_type(name)[0] or "application/octet-stream",
            compressed={coding: paths[name + end] for coding, end in ENCODINGS if name + end in paths},
            lasting=name.startswith(ASSETS),
        )
        for name, path in paths.items()
        if not name.endswith(tuple(end for _, end in ENCODINGS))
    }


def _file(file: BuildFile, asked: Headers) -> Response:
    accepted = {part.partition(";")[0].strip() for part in asked.get("accept-encoding", "").split(",")}
    coding = next((coding for coding in file.compressed if coding in accepted), None)
    headers = {"Cache-Control": FOR_EVER} if file.lasting else {"Cache-Control": EACH_TIME}
    if file.media_type == "text/html":
        headers = _PAGE | {"Content-Security-Policy": POLICY}
    if file.compressed:
        headers["Vary"] = "Accept-Encoding"
    if coding is not None:
        headers["Content-Encoding"] = coding
    return FileResponse(
        file.path if coding is None else file.compressed[coding], headers=headers, media_type=file.media_type
    )


def _plain(status: int) -> Response:
    return HTMLResponse(_plain_page(), status, _PAGE | {"Content-Security-Policy": _PLAIN_POLICY})


@lru_cache(maxsize=1)
def _plain_page() -> str:
    return (files("foliot.servers.http") / "plain.html").read_text(encoding="utf-8")


STREAMS_SECONDS = 2
"""Seconds that a stopping server waits for open streams, which have no end of their own."""
MOST_PER_ADDRESS = 1000
QUARTER = 4


class Server(uvicorn.Server):
    """uvicorn without its signal handlers: on a signal the engine has to drain as well."""

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()


def server_of(asgi: Any, *, bounds: ConnectionLimits | None = None, **options: Any) -> Server:
    """A uvicorn server of this app, with bounds on message sizes and connections."""
    protocol: Any = partial(Connection, bounds=bounds or ConnectionLimits())
    config = uvicorn.Config(
        asgi,
        http=protocol,
        ws="websockets-sansio",
        # A message a little too long is answered; a larger one closes the connection. Compression would hide the size.
        ws_max_size=2 * MAX_MESSAGE,
        ws_per_message_deflate=False,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=STREAMS_SECONDS,
        server_header=False,
        proxy_headers=False,
        **options,
    )
    return Server(config)


def per_address(chosen: int | None, *, local: bool) -> int | None:
    """Connections per address: as configured, 0 for no limit; by default a quarter of all."""
    if chosen is not None:
        return chosen or None
    if local:
        return None
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_PER_ADDRESS if files == resource.RLIM_INFINITY else min(MOST_PER_ADDRESS, max(files // QUARTER, 1))
