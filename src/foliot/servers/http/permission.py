"""Authentication and authorisation: stated on every route, checked before anything else of the request is read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, overload

from fastapi import Depends, Query, Request
from starlette.requests import HTTPConnection

from foliot.auth.identity import Identity
from foliot.commands.envelope import Permission, UseCases, permissions_of
from foliot.commands.limits import FailedLoginDelay, Limiter
from foliot.core.access import LOCAL, Caller, Thing, Verb, require
from foliot.core.errors import Unauthenticated
from foliot.servers.http import session_cookie
from foliot.servers.http.request import only_known, wants_stream

MAX_TOKEN = 8 * 1024
"""Bytes of a token or API key; a longer one is refused unread."""

CallerOf = Callable[[str], Awaitable[Caller]]
"""Resolves a session or a ticket to its caller; passed in by the feature that issues them."""


async def identify(request: Request) -> Caller:
    """The caller of this request; in local mode always the local caller."""
    identity: Identity | None = request.app.state.identity
    if identity is None:
        return LOCAL
    session = None if "authorization" in request.headers else session_cookie.shown(request)
    if session is not None:
        by_session: CallerOf = request.app.state.session_caller
        caller = await by_session(session)
        session_cookie.require_own_page(request, session)
        return caller
    bearer = bearer_of(request)
    if bearer is None:
        raise Unauthenticated
    return await by_bearer(request, identity, bearer)


async def by_bearer(request: HTTPConnection, identity: Identity, bearer: str) -> Caller:
    """The caller of this token or API key; many invalid ones from an address are answered with a delay."""
    try:
        return await identity.caller(bearer)
    except Unauthenticated:
        throttle: FailedLoginDelay = request.app.state.throttle
        cases: UseCases = request.app.state.cases
        await throttle.failed(request.client.host if request.client else "", cases[Limiter].clock.monotonic())
        raise


def bearer_of(request: Request) -> str | None:
    """The bearer token or API key of the request; None unless there is exactly one."""
    shown = request.headers.getlist("authorization")
    scheme, _, bearer = (shown[0] if len(shown) == 1 else "").partition(" ")
    return bearer if scheme.lower() == "bearer" and 0 < len(bearer) <= MAX_TOKEN else None


async def identify_follower(
    request: Request,
    ticket: Annotated[
        str | None,
        Query(description="For streams only, instead of `Authorization`: a ticket from `POST /api/stream-tickets`."),
    ] = None,
) -> Caller:
    """The caller of a route that can answer with a stream; a ticket is accepted for the stream only."""
    identity: Identity | None = request.app.state.identity
    if identity is None or ticket is None or "authorization" in request.headers or not wants_stream(request):
        return await identify(request)
    by_ticket: CallerOf = request.app.state.ticket_caller
    caller = await by_ticket(ticket)
    if not await identity.still(caller):
        raise Unauthenticated
    return caller


Who = Annotated[Caller, Depends(identify)]
Follower = Annotated[Caller, Depends(identify_follower)]


Identify = Callable[..., Awaitable[Caller]]


@overload
def permits(verb: Verb, thing: Thing, /, *, by: Identify = ...) -> Any: ...
@overload
def permits(*use_cases: Callable[..., object], by: Identify = ...) -> Any: ...
def permits(*asked: Any, by: Identify = identify) -> Any:
    """For a route's `dependencies`: the use cases that it calls, whose permissions are required of the caller.

    A route that calls none directly states a verb and a thing. A test fails for a route that states nothing.
    """
    needs: tuple[Permission, ...]
    if isinstance(asked[0], Verb):
        needs = (asked,)
    else:
        needs = tuple(dict.fromkeys(one for use_case in asked for one in permissions_of(use_case)))

    # Every route has its own function, and FastAPI inspects each at every start: it has no more parameters than needed.
    async def permitted(request: Request, caller: Caller = Depends(by)) -> None:
        cases: UseCases = request.app.state.cases
        await cases[Limiter].request(caller)
        for verb, thing in needs:
            require(caller, verb, thing)
        only_known(request)

    permitted.permission = needs[0]  # type: ignore[attr-defined]
    return Depends(permitted)


async def public(request: Request) -> None:
    """For a route's `dependencies`: no authentication."""
    only_known(request)


PUBLIC = Depends(public)
