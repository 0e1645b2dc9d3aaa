"""Routes of signing in and out, of login links, and of the members of a tenant."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field

from fastapi import APIRouter, Request, Response

from foliot import __version__
from foliot.auth.identity import Identity
from foliot.commands.envelope import UseCases
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Thing, Verb, may
from foliot.core.errors import Conflict, Invalid, SessionOver, TooMany, Unauthenticated
from foliot.core.limits import TokenBucket
from foliot.features.api_keys.schema import NO_STORE
from foliot.features.demo import schema as demo_schema
from foliot.features.demo.usecases import Demo
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.sessions import schema
from foliot.features.sessions.usecases import (
    LARGEST,
    LINK_LASTS,
    Members,
    NewSession,
    NewTicket,
    SeenMember,
    Sessions,
    session_caller,
)
from foliot.servers.http import encode, session_cookie
from foliot.servers.http.own_address import own_address
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import MAX_TOKEN, PUBLIC, Who, identify, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import CONFLICT, body

router = APIRouter(prefix="/api", tags=["Session"])

TRIES = 30
"""Failed sign-ins per minute, for one address and one key, token or code."""
REMEMBERED = 10_000
_OPEN = len("flt_12345678")
"""Characters of a key or a code that are not secret."""

Guess = tuple[str, bytes]
"""The client's address, and a digest of the public part of the credential."""


def guess(address: str, text: str) -> Guess:
    """Counted per credential too: behind a proxy all clients share an address, and one attacker must not block them."""
    claims, dot, _ = text.rpartition(".")
    return address, hashlib.sha256((claims if dot else text[:_OPEN]).encode("utf-8", "replace")).digest()


@dataclass(slots=True)
class FailedGuesses:
    """Counts recent failed sign-ins."""

    buckets: OrderedDict[Guess, TokenBucket] = field(default_factory=OrderedDict)

    def look(self, one: Guess, now: float) -> None:
        """`TooMany` when there were too many failures to try again now."""
        bucket = self.buckets.get(one)
        if bucket is None:
            return
        wait = bucket.take(now)
        if wait is not None:
            raise TooMany(f"too many wrong tokens and codes: at most {TRIES} a minute", retry_after=wait)
        # Only a check: a successful sign-in uses up no allowance.
        bucket.level += 1

    def wrong(self, one: Guess, now: float) -> None:
        self.buckets.setdefault(one, TokenBucket.full(TRIES, now)).take(now)
        self.buckets.move_to_end(one)
        if len(self.buckets) > REMEMBERED:
            self.buckets.popitem(last=False)


@router.get("/session", dependencies=[PUBLIC], response_model=schema.SessionInfo, summary="Get the current session")
async def show(request: Request, cases: Cases) -> Response:
    """Needs no authentication. The dashboard asks first whether it has to sign in, and what it may show."""
    local = request.app.state.identity is None
    known: schema.SessionInfo = {
        "mode": "local" if local else "secured",
        "signed_in": False,
        "version": __version__,
    }
    try:
        caller = await identify(request)
    except Unauthenticated:
        headers = dict(NO_STORE)
        if session_cookie.shown(request) is not None:
            headers["Set-Cookie"] = session_cookie.taken(secure=session_cookie.by_https(request))
        return encode.answer(known, headers=headers)
    session = None if local or "authorization" in request.headers else session_cookie.shown(request)
    info: schema.SessionInfo = {
        **known,
        "signed_in": True,
        "user_id": caller.user_id,
        "tenant_id": caller.tenant_id,
        "role": caller.role,
        "may": _allowed(caller),
        "expires_at": caller.expires_at,
        "timezone": cases[Schedules].default_zone,
        "csrf": None if session is None else session_cookie.csrf_of(session),
        "demo": await _demo(cases, caller) if local else None,
        "features": _features(cases, local=local),
    }
    return encode.answer(info, headers=NO_STORE)


@router.post(
    "/session",
    dependencies=[PUBLIC],
    status_code=204,
    openapi_extra=body(schema.SessionRequest),
    responses=CONFLICT,
    summary="Sign in with a browser",
)
async def begin(request: Request, cases: Cases, asked: Body) -> Response:
    """By a token, an API key or the code of a login link; sets a cookie that expires with that credential."""
    identity: Identity | None = request.app.state.identity
    if identity is None:
        raise Conflict("local mode has no sign-in: everything is open on this machine")
    session_cookie.require_own_origin(request.headers, needed=False)
    tries: FailedGuesses = request.app.state.tries
    name, text = _shown(asked.document)
    one, now = guess(request.client.host if request.client else "", text), cases[Limiter].clock.monotonic()
    tries.look(one, now)
    try:
        session = await _session(cases, identity, name, text)
    except Unauthenticated:
        tries.wrong(one, now)
        raise
    if len(session.text) > LARGEST:
        raise Invalid("token", f"is too long for a browser's cookie: at most {LARGEST} characters")
    given = session_cookie.given(
        session.text, session.expires_at - cases[Limiter].clock.now(), secure=session_cookie.by_https(request)
    )
    return Response(status_code=204, headers={**NO_STORE, "Set-Cookie": given})


async def _session(cases: UseCases, identity: Identity, name: str, text: str) -> NewSession:
    if name == "token":
        return await cases[Sessions].begin(await identity.caller(text), text)
    caller = await cases[Sessions].redeem(text)
    if not await identity.still(caller):
        raise Unauthenticated
    return await cases[Sessions].begin(caller)


def _shown(document: object) -> tuple[str, str]:
    if not isinstance(document, dict) or set(document) not in ({"token"}, {"code"}):
        raise Invalid("body", "must be an object with either `token` or `code`")
    ((name, text),) = document.items()
    if not isinstance(text, str) or not 0 < len(text) <= MAX_TOKEN:
        raise Invalid(name, f"must be text of 1 to {MAX_TOKEN} characters")
    return name, text


@router.delete("/session", dependencies=[PUBLIC], status_code=204, summary="Sign out with a browser")
async def end(request: Request, cases: Cases) -> Response:
    """Ends the session: its cookie no longer authenticates, and its streams end within 5 seconds.

    The token or key that began it stays valid: revoke it to end that.
    """
    session_cookie.require_own_origin(request.headers, needed=False)
    identity: Identity | None = request.app.state.identity
    session = None if identity is None else session_cookie.shown(request)
    if identity is not None and session is not None:
        with suppress(SessionOver):
            await cases[Sessions].end(await session_caller(identity, cases[Sessions], session))
    return Response(
        status_code=204,
        headers={**NO_STORE, "Set-Cookie": session_cookie.taken(secure=session_cookie.by_https(request))},
    )


@router.delete(
    "/sessions",
    dependencies=[permits(Sessions.end_all)],
    response_model=schema.SessionsEnded,
    summary="Sign out everywhere",
)
async def end_all(request: Request, cases: Cases, caller: Who) -> Response:
    """Ends every session of yours, in all browsers including this one; streams end within 5 seconds."""
    taken = {"Set-Cookie": session_cookie.taken(secure=session_cookie.by_https(request))}
    return encode.answer(
        schema.SessionsEnded(
            ended=await cases[Sessions].end_all(caller),
        ),
        headers={**NO_STORE, **taken},
    )


@router.post(
    "/login-links",
    dependencies=[permits(Sessions.link)],
    status_code=201,
    response_model=schema.LoginLink,
    responses=CONFLICT,
    operation_id="login_links.create",
    summary="Create a sign-in link",
)
async def link(request: Request, cases: Cases, caller: Who, asked: Body) -> Response:
    """Opens the dashboard as yourself: once, within 5 minutes, and until your present credential expires."""
    if asked.document not in (None, {}):
        raise Invalid("body", "must be empty: a link signs in its caller")
    address = own_address(request)

    if request.app.state.identity is None:
        # Local mode has no sign-in: the plain URL suffices.
        until = cases[Limiter].clock.now() + LINK_LASTS
        return encode.answer(
            schema.LoginLink(
                url=f"{address}/",
                expires_at=until,
            ),
            201,
            NO_STORE,
        )

    def shown(ticket: NewTicket) -> schema.LoginLink:
        return schema.LoginLink(
            url=f"{address}/login?code={ticket.text}",
            expires_at=ticket.expires_at,
        )

    ticket = await cases[Sessions].link(caller, asked.once(201, shown, secret=True))
    return encode.answer(shown(ticket), 201, NO_STORE)


@router.get(
    "/members",
    dependencies=[permits(Members.list)],
    response_model=schema.MemberPage,
    operation_id="members.list",
    summary="List members of the tenant",
)
async def members(cases: Cases, caller: Who, part: Parted) -> Response:
    """From API keys and the audit log: there is no table of users, for tokens name them."""
    shown, following = part.of(await cases[Members].list(caller), lambda one: one.user_id)
    return encode.answer(
        schema.MemberPage(
            items=[_member(one) for one in shown],
            next_cursor=following,
        )
    )


def _allowed(caller: Caller) -> list[str]:
    return [
        f"{verb.value}:{thing.value.replace(' ', '_')}" for thing in Thing for verb in Verb if may(caller, verb, thing)
    ]


async def _demo(cases: UseCases, caller: Caller) -> demo_schema.DemoState:
    count = await cases[Demo].schedules(caller)
    return demo_schema.DemoState(on=count > 0, schedules=count)


def _features(cases: UseCases, *, local: bool) -> schema.ServerFeatures:
    kinds = cases[Schedules].actions.kinds()
    return schema.ServerFeatures(
        pipelines="pipeline" in kinds,
        scrapyd="crawl" in kinds,
        echo=local,
    )


def _member(one: SeenMember) -> schema.MemberInfo:
    return schema.MemberInfo(
        user_id=one.user_id,
        roles=sorted(one.roles),
        keys=one.keys,
        last_seen_at=one.last_seen_at,
        last_action=one.last_action,
    )
