"""The dashboard's session cookie and its CSRF protection."""

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
