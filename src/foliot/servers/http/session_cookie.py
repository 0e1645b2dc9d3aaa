"""The cookie of the dashboard: what it holds, who may use it, and what a page of another site cannot do with it."""

from __future__ import annotations

import hashlib
import hmac
from datetime import timedelta

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from foliot.core.errors import Forged
from foliot.servers.http.same_site import same_origin

NAME = "foliot_session"
HOST_NAME = f"__Host-{NAME}"
"""By https: no neighbour under the same domain, and no page in the clear, can set a cookie of this name for us."""
TOKEN_HEADER = "X-CSRF-Token"  # noqa: S105 -- the name of a header
_SAFE = frozenset({"GET", "HEAD"})
_PURPOSE = b"foliot: the pages that this session was given to"


def shown(request: HTTPConnection) -> str | None:
    """The session that the browser shows; None when it shows none.

    Two of them are none that counts: a neighbour under the same domain may have put one there. By https only the name
    counts that a neighbour cannot give.
    """
    strict = _named(request.headers, HOST_NAME)
    return strict if strict is not None or by_https(request) else _named(request.headers, NAME)


def _named(headers: Headers, wanted: str) -> str | None:
    parts = [part.strip() for line in headers.getlist("cookie") for part in line.split(";")]
    found = {value for name, mark, value in (part.partition("=") for part in parts) if mark and name.strip() == wanted}
    if not found:
        return None
    return found.pop() if len(found) == 1 else ""


def csrf_of(session: str) -> str:
    """What a page of ours sends along to show that it could read our answers; another site's cannot know it."""
    return hmac.new(session.encode(), _PURPOSE, hashlib.sha256).hexdigest()


def require_own_page(request: HTTPConnection, session: str) -> None:
    """`Forged` unless the request comes from a page of ours. The browser's word for it is asked for too."""
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
    """`Forged` unless `Origin` is our own address; a browser states it with everything but a plain GET."""
    origin = headers.get("origin")
    if origin is None and not needed:
        return
    if origin is None or not same_origin(origin, headers.get("host", "")):
        raise Forged("the Origin must be Foliot's own address")


def by_https(request: HTTPConnection) -> bool:
    """Whether the browser came by https; behind a proxy that ends it, the page's own address says so."""
    headers = request.headers
    public: str | None = request.app.state.public_url
    return (
        (public or "").startswith("https://")
        or request.url.scheme in {"https", "wss"}
        or headers.get("origin", "").lower().startswith("https://")
        or headers.get("x-forwarded-proto", "").lower() == "https"
    )


def given(session: str, life: timedelta, *, secure: bool) -> str:
    """The header that gives it to the browser: for our own pages alone, and for no script."""
    return _cookie(session, max(int(life.total_seconds()), 0), secure=secure)


def taken(*, secure: bool) -> str:
    """The header that takes it away."""
    return _cookie("", 0, secure=secure)


def _cookie(value: str, life: int, *, secure: bool) -> str:
    flags = "; Secure" if secure else ""
    name = HOST_NAME if secure else NAME
    return f"{name}={value}; Max-Age={life}; Path=/; HttpOnly; SameSite=Strict{flags}"
