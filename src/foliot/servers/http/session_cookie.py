"""The dashboard's session cookie and its CSRF protection.

Middleware against DNS rebinding and cross-site requests in local mode, MIME sniffing and ambiguous requests.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foliot.core.errors import Forged
from foliot.servers.http.problems import problem

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class LoopbackGuard:
    """Local mode: the request must name a loopback address, and come from no other site.

    A page that rebinds its own name to 127.0.0.1 still sends that name in `Host`; a cross-site form still has the
    other site in `Origin`, and where that is missing, the browser sends `Sec-Fetch-Site`. Following a link from
    another site is allowed.
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
class NoSniff:
    """Sets `X-Content-Type-Options: nosniff`: no browser may interpret a tenant's text as markup or a script."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), _NO_SNIFFING]
            await send(message)

        await self.app(scope, receive, tell if scope["type"] == "http" else send)


_NO_SNIFFING = (b"x-content-type-options", b"nosniff")


@dataclass(frozen=True, slots=True)
class Unambiguous:
    """Refuses requests that a proxy in front of us could parse differently (request smuggling)."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in {"http", "websocket"} and (why := _ambiguous(scope["headers"])) is not None:
            await problem("bad_request", why, headers={"Connection": "close"})(scope, receive, send)
            return
        await self.app(scope, receive, send)


def _ambiguous(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    lengths: set[bytes] = set()
    for name, value in headers:
        if name in _LENGTHS:
            lengths.add(name)
        elif name == b"host" and value and _name(value.decode("latin-1")) is None:
            return "the Host header must be a name or an address, and a port at most"
    return None if len(lengths) < len(_LENGTHS) else "give Content-Length or Transfer-Encoding, not both"


_LENGTHS = frozenset({b"content-length", b"transfer-encoding"})
_HOST = re.compile(r"([a-z0-9._~-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.ASCII | re.IGNORECASE)


@lru_cache(maxsize=64)
def _name(host: str) -> str | None:
    """The name in a Host header; None where it is more than name and port, for parsers differ on those."""
    match = _HOST.fullmatch(host)
    return None if match is None else match[1].strip("[]").lower()


def _own(headers: Headers, scope: Scope) -> bool:
    """Whether the browser, if it is one, marks the request as same-origin or as a navigation by its user."""
    if headers.get("sec-fetch-site", "none").lower() in {"none", "same-origin"}:
        return True
    return scope.get("method") == "GET" and headers.get("sec-fetch-mode", "").lower() == "navigate"


def same_origin(origin: str, host: str) -> bool:
    return origin.lower() in {f"http://{host}".lower(), f"https://{host}".lower()}


NAME = "foliot_session"
HOST_NAME = f"__Host-{NAME}"
"""Over https: by the prefix `__Host-`, neither a sibling domain nor a page over http can set a cookie of this name."""
TOKEN_HEADER = "X-CSRF-Token"  # noqa: S105 -- the name of a header
_SAFE = frozenset({"GET", "HEAD"})
_PURPOSE = b"foliot: the pages that this session was given to"


def shown(request: HTTPConnection) -> str | None:
    """The session in the request's cookie; None without one.

    Two cookies count as none: a sibling domain may have set one of them. Over https only the name counts that a
    sibling domain cannot set.
    """
    strict = _named(request.headers, HOST_NAME)
    return strict if strict is not None or by_https(request) else _named(request.headers, NAME)


def _named(headers: Headers, wanted: str) -> str | None:
    parts = [part.strip() for line in headers.getlist("cookie") for part in line.split(";")]
    values = {value for name, mark, value in (part.partition("=") for part in parts) if mark and name.strip() == wanted}
    if not values:
        return None
    return values.pop() if len(values) == 1 else ""


def csrf_of(session: str) -> str:
    """The CSRF token of a session: our pages read it from an answer, which another site's page cannot."""
    return hmac.new(session.encode(), _PURPOSE, hashlib.sha256).hexdigest()


def require_own_page(request: HTTPConnection, session: str) -> None:
    """`Forged` unless the request has the CSRF token; `Sec-Fetch-Site` and `Origin` are checked too."""
    headers, method = request.headers, request.scope.get("method", "GET")
    if headers.get("sec-fetch-site", "same-origin").lower() not in {"same-origin", "none"}:
        raise Forged("this request comes from a page of another site")
    if method in _SAFE:
        return
    require_own_origin(headers)
    given = headers.get(TOKEN_HEADER, "")
    if not hmac.compare_digest(given.encode(), csrf_of(session).encode()):
        raise Forged(f"the header {TOKEN_HEADER} must be the `csrf` of GET /api/session; load the page again")


def require_own_origin(headers: Headers, *, needed: bool = True) -> None:
    """`Forged` unless `Origin` is our own address; browsers send it with everything but a plain GET."""
    origin = headers.get("origin")
    if origin is None and not needed:
        return
    if origin is None or not same_origin(origin, headers.get("host", "")):
        raise Forged("the Origin must be Foliot's own address")


def by_https(request: HTTPConnection) -> bool:
    """Whether the browser uses https; behind a proxy that terminates TLS, `Origin` or `X-Forwarded-Proto` says so."""
    headers = request.headers
    public: str | None = request.app.state.public_url
    return (
        (public or "").startswith("https://")
        or request.url.scheme in {"https", "wss"}
        or headers.get("origin", "").lower().startswith("https://")
        or headers.get("x-forwarded-proto", "").lower() == "https"
    )


def given(session: str, life: timedelta, *, secure: bool) -> str:
    """The `Set-Cookie` header of a session: `SameSite=Strict` and `HttpOnly`."""
    return _cookie(session, max(int(life.total_seconds()), 0), secure=secure)


def taken(*, secure: bool) -> str:
    """The `Set-Cookie` header that deletes it."""
    return _cookie("", 0, secure=secure)


def _cookie(value: str, life: int, *, secure: bool) -> str:
    flags = "; Secure" if secure else ""
    name = HOST_NAME if secure else NAME
    return f"{name}={value}; Max-Age={life}; Path=/; HttpOnly; SameSite=Strict{flags}"
