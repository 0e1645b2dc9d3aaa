"""Routes of signing in and out, of login links, and of who was seen."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, Request, Response

from foliot import __version__
from foliot.domain.access import Caller, Thing, Verb, may
from foliot.domain.errors import Conflict, Invalid, SessionOver, TooMany, Unauthenticated
from foliot.domain.limits import Bucket
from foliot.domain.reading import rfc3339
from foliot.doors.rest import cookie, models_session, render
from foliot.doors.rest.asking import Body, Cases
from foliot.doors.rest.bodies import body
from foliot.doors.rest.models import CONFLICT
from foliot.doors.rest.models_access import NO_STORE
from foliot.doors.rest.paging import Parted
from foliot.doors.rest.who import MAX_TOKEN, PUBLIC, Who, identify, permits
from foliot.ports import Identity
from foliot.usecases import UseCases
from foliot.usecases.members import Member
from foliot.usecases.sessions import LINK_LASTS, NewSession
from foliot.usecases.tickets import NewTicket

router = APIRouter(prefix="/api", tags=["Session"])

TRIES = 30
"""Wrong ones a minute, from one address and for one key, token or code."""
REMEMBERED = 10_000
_OPEN = len("flt_12345678")
"""Characters of a key or a code that may be known; the others are its secret."""

Guess = tuple[str, bytes]
"""Where it came from, and what it was aimed at."""


def guess(address: str, text: str) -> Guess:
    """Behind a proxy everybody has one address: whoever guesses at one key must not keep the others out."""
    claims, dot, _ = text.rpartition(".")
    return address, hashlib.sha256((claims if dot else text[:_OPEN]).encode("utf-8", "replace")).digest()


@dataclass(slots=True)
class Tries:
    """How often each guess was wrong lately."""

    buckets: OrderedDict[Guess, Bucket] = field(default_factory=OrderedDict)

    def look(self, one: Guess, now: float) -> None:
        """`TooMany` when it was wrong too often to be heard now."""
        bucket = self.buckets.get(one)
        if bucket is None:
            return
        wait = bucket.take(now)
        if wait is not None:
            raise TooMany(f"too many wrong tokens and codes: {TRIES} a minute are heard", retry_after=wait)
        # Only looked: whoever is right now has taken nothing.
        bucket.level += 1

    def wrong(self, one: Guess, now: float) -> None:
        self.buckets.setdefault(one, Bucket.full(TRIES, now)).take(now)
        self.buckets.move_to_end(one)
        if len(self.buckets) > REMEMBERED:
            self.buckets.popitem(last=False)


@router.get("/session", dependencies=[PUBLIC], response_model=models_session.Session, summary="Who you are here")
async def show(request: Request, cases: Cases) -> Response:
    """Anybody may ask. A dashboard asks first, and learns whether it has to sign in and what it may show."""
    local = request.app.state.identity is None
    known: dict[str, Any] = {"mode": "local" if local else "secured", "version": __version__}
    try:
        caller = await identify(request)
    except Unauthenticated:
        headers = dict(NO_STORE)
        if cookie.shown(request) is not None:
            headers["Set-Cookie"] = cookie.taken(secure=cookie.by_https(request))
        return render.answer({**known, "signed_in": False}, headers=headers)
    session = None if local or "authorization" in request.headers else cookie.shown(request)
    told = {
        **known,
        "signed_in": True,
        **_caller(caller),
        "timezone": cases.schedules.default_zone,
        "csrf": None if session is None else cookie.csrf_of(session),
        "demo": await _demo(cases, caller) if local else None,
        "features": _features(cases, local=local),
    }
    return render.answer(told, headers=NO_STORE)


@router.post(
    "/session",
    dependencies=[PUBLIC],
    status_code=204,
    openapi_extra=body(models_session.SessionRequest),
    responses=CONFLICT,
    summary="Sign in with a browser",
)
async def begin(request: Request, cases: Cases, asked: Body) -> Response:
    """By a token, an API key or the code of a login link; gives a cookie that ends when what was shown does."""
    identity: Identity | None = request.app.state.identity
    if identity is None:
        raise Conflict("in local mode nobody signs in: everything is open to whoever is on this machine")
    cookie.demand_own_origin(request.headers, needed=False)
    tries: Tries = request.app.state.tries
    name, text = _shown(asked.document)
    one, now = guess(request.client.host if request.client else "", text), cases.limiter.clock.monotonic()
    tries.look(one, now)
    try:
        made = await _session(cases, identity, name, text)
    except Unauthenticated:
        tries.wrong(one, now)
        raise
    if len(made.text) > cookie.LARGEST:
        raise Invalid("token", f"is too long to be kept by a browser, which keeps {cookie.LARGEST} characters")
    given = cookie.given(made, cases.limiter.clock.now(), secure=cookie.by_https(request))
    return Response(status_code=204, headers={**NO_STORE, "Set-Cookie": given})


async def _session(cases: UseCases, identity: Identity, name: str, text: str) -> NewSession:
    if name == "token":
        return await cases.sessions.begin(await identity.caller(text), text)
    caller = await cases.sessions.redeem(text)
    if not await identity.still(caller):
        raise Unauthenticated
    return await cases.sessions.begin(caller)


def _shown(document: object) -> tuple[str, str]:
    if not isinstance(document, dict) or set(document) not in ({"token"}, {"code"}):
        raise Invalid("body", "must be an object with either `token` or `code`")
    ((name, text),) = document.items()
    if not isinstance(text, str) or not 0 < len(text) <= MAX_TOKEN:
        raise Invalid(name, f"must be a text of 1 to {MAX_TOKEN} characters")
    return name, text


@router.delete("/session", dependencies=[PUBLIC], status_code=204, summary="Sign out with a browser")
async def end(request: Request, cases: Cases) -> Response:
    """Ends the session: whoever has its cookie is nobody, and its streams end within 5 seconds.

    A token or key that was shown to begin it goes on to count: revoke it to end it.
    """
    cookie.demand_own_origin(request.headers, needed=False)
    identity: Identity | None = request.app.state.identity
    session = None if identity is None else cookie.shown(request)
    if identity is not None and session is not None:
        with suppress(SessionOver):
            await cases.sessions.end(await cookie.caller_of(identity, cases.sessions, session))
    return Response(status_code=204, headers={**NO_STORE, "Set-Cookie": cookie.taken(secure=cookie.by_https(request))})


@router.delete(
    "/sessions",
    dependencies=[permits(Verb.WRITE, Thing.TICKET)],
    response_model=models_session.SessionsEnded,
    summary="Sign out everywhere",
)
async def end_all(request: Request, cases: Cases, caller: Who) -> Response:
    """Ends every session of yours, in whichever browser, this one too; streams end within 5 seconds."""
    taken = {"Set-Cookie": cookie.taken(secure=cookie.by_https(request))}
    return render.answer({"ended": await cases.sessions.end_all(caller)}, headers={**NO_STORE, **taken})


@router.post(
    "/login-links",
    dependencies=[permits(Verb.WRITE, Thing.TICKET)],
    status_code=201,
    response_model=models_session.LoginLink,
    responses=CONFLICT,
    summary="An address that signs you in",
)
async def link(request: Request, cases: Cases, caller: Who, asked: Body) -> Response:
    """Opens the dashboard as yourself: once, within 5 minutes, and until what you show now ends."""
    if asked.document not in (None, {}):
        raise Invalid("body", "must be empty: a link signs in whoever asks for it")
    address = _own_address(request)

    if request.app.state.identity is None:
        # Nobody has to sign in here: the address itself does.
        until = rfc3339(cases.limiter.clock.now() + LINK_LASTS)
        return render.answer({"url": f"{address}/", "expires_at": until}, 201, NO_STORE)

    def shown(made: NewTicket) -> bytes:
        return render.dumps({"url": f"{address}/login?code={made.text}", "expires_at": rfc3339(made.expires_at)})

    made = await cases.sessions.link(caller, asked.once(201, shown, secret=True))
    return Response(shown(made), 201, NO_STORE, "application/json")


def _own_address(request: Request) -> str:
    """Where the dashboard is: as the operator says, or where the request arrived. `Host` is what a caller wrote."""
    public: str | None = request.app.state.public_url
    if public is not None:
        return public
    host, port = request.scope.get("server") or ("127.0.0.1", None)
    named = f"[{host}]" if ":" in host else host
    return f"{request.scope['scheme']}://{named}" + (f":{port}" if port else "")


@router.get(
    "/members",
    dependencies=[permits(Verb.READ, Thing.KEY)],
    response_model=models_session.Members,
    summary="Who was seen in the tenant",
)
async def members(cases: Cases, caller: Who, part: Parted) -> Response:
    """From API keys and the audit log: there is no list of people, for tokens name them."""
    shown, following = part.of(await cases.members.list(caller), lambda one: one.user_id)
    return render.answer({"items": [_member(one) for one in shown], "next_cursor": following})


def _caller(caller: Caller) -> dict[str, Any]:
    allowed = [
        f"{verb.value}:{thing.value.replace(' ', '_')}" for thing in Thing for verb in Verb if may(caller, verb, thing)
    ]
    return {
        "user_id": caller.user_id,
        "tenant_id": caller.tenant_id,
        "role": caller.role.value,
        "may": allowed,
        "expires_at": rfc3339(caller.expires_at),
    }


async def _demo(cases: UseCases, caller: Caller) -> dict[str, Any]:
    count = await cases.demo.schedules(caller)
    return {"on": count > 0, "schedules": count}


def _features(cases: UseCases, *, local: bool) -> dict[str, bool]:
    kinds = cases.schedules.actions.kinds()
    return {"pipelines": "pipeline" in kinds, "scrapyd": "crawl" in kinds, "echo": local}


def _member(one: Member) -> dict[str, Any]:
    return {
        "user_id": one.user_id,
        "roles": sorted(role.value for role in one.roles),
        "keys": one.keys,
        "last_seen_at": rfc3339(one.last_seen_at),
        "last_action": one.last_action,
    }
