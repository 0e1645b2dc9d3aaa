"""Keeps web pages of other sites from driving a Foliot that asks for no token, and browsers from guessing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foliot.doors.rest.problems import problem

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Guard:
    """Local mode: the request must name a loopback address, and come from no other site.

    A page that rebinds its own name to 127.0.0.1 still says its own name in `Host`; a page that sends a form across
    sites still says its own site in `Origin`, and where that is missing, its browser says so in `Sec-Fetch-Site`. A
    link from elsewhere may be followed.
    """

    app: ASGIApp
    hosts: Collection[str] = LOOPBACK

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in {"http", "websocket"}:
            headers = Headers(scope=scope)
            host, origin = headers.get("host", ""), headers.get("origin")
            refused = None
            if len(headers.getlist("host")) != 1 or _name(host) not in self.hosts:
                refused = problem("foreign_host", "in local mode the Host header must name this machine")
            elif not (same_origin(origin, host) if origin is not None else _own(headers, scope)):
                refused = problem("foreign_origin", "in local mode the Origin must be Foliot's own address")
            if refused is not None:
                await refused(scope, receive, send)
                return
        await self.app(scope, receive, send)


@dataclass(frozen=True, slots=True)
class Typed:
    """Every answer is of the type it says: no browser shall find markup or a script in a tenant's words."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), _NO_SNIFFING]
            await send(message)

        await self.app(scope, receive, tell if scope["type"] == "http" else send)


_NO_SNIFFING = (b"x-content-type-options", b"nosniff")


@lru_cache(maxsize=64)
def _name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _own(headers: Headers, scope: Scope) -> bool:
    """Whether the browser, if it is one, calls the request its user's own or a page's of ours."""
    if headers.get("sec-fetch-site", "none").lower() in {"none", "same-origin"}:
        return True
    return scope.get("method") == "GET" and headers.get("sec-fetch-mode", "").lower() == "navigate"


def same_origin(origin: str, host: str) -> bool:
    return origin.lower() in {f"http://{host}".lower(), f"https://{host}".lower()}
