"""Use cases of host sessions: set, list, delete. Cookies are write-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from annotated_types import MaxLen

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Thing, Verb
from foliot.core.declaration import Parsed, Wire, declared, read
from foliot.core.duration import duration_between
from foliot.core.errors import Invalid, NotFound, TooMany
from foliot.core.ports import Clock
from foliot.core.secrets import Vault, read_name
from foliot.db.database import Database
from foliot.features.fetching.browser_actions import (
    MOST_STEPS,
    BrowserStep,
    PageResource,
    as_document,
    read_actions,
)
from foliot.features.fetching.url import BadUrl, redirect_url
from foliot.features.fetching.usecases import host_name
from foliot.features.host_sessions import cookies as jar
from foliot.features.host_sessions.model import MOST_COOKIES, MOST_SESSIONS, Cookies, HostSession, SignIn
from foliot.features.host_sessions.sql import SqlHostSessions
from foliot.wakeups.feed import Feed

MOST_URL = 2048
MOST_COOKIE = 4096
_every = duration_between(timedelta(minutes=1), timedelta(days=365))


@declared
class SignInRequest:
    """The page of the sign-in, and what a browser does there."""

    url: Annotated[str, MaxLen(MOST_URL)]
    every: Annotated[str | None, MaxLen(20)] = None
    """Sign in again this long after the last time, such as `12h`; default: once a page asks for it."""
    wait_for: Annotated[int | str | None, Parsed(lambda _, raw: raw), Wire(int | str | None)] = None
    scroll: Annotated[int | None, Parsed(lambda _, raw: raw), Wire(int | None)] = None
    steps: Annotated[Any, Parsed(lambda _, raw: raw), Wire(Annotated[list[BrowserStep], MaxLen(MOST_STEPS)] | None)] = (
        None
    )
    load: Annotated[Any, Parsed(lambda _, raw: raw), Wire(list[PageResource] | None)] = None


@declared
class CookieRequest:
    """A cookie as browsers export it."""

    name: Annotated[str, MaxLen(200)]
    value: Annotated[str, MaxLen(MOST_COOKIE)]
    domain: Annotated[str | None, MaxLen(255)] = None
    """Default: the host."""
    path: Annotated[str, MaxLen(1024)] = "/"
    expires: Annotated[float | None, Parsed(lambda _, raw: raw), Wire(float | None)] = None
    """Seconds since 1970; default: with the session."""
    secure: bool = False


def _login(path: str, raw: Any) -> SignIn | None:
    if raw is None:
        return None
    asked = read(SignInRequest, raw, path)
    try:
        url = redirect_url(asked.url)
    except BadUrl as wrong:
        raise Invalid(f"{path}.url", str(wrong), got=asked.url[:200]) from None
    given = {"wait_for": asked.wait_for, "scroll": asked.scroll, "steps": asked.steps, "load": asked.load}
    actions = read_actions(path, {name: value for name, value in given.items() if value is not None})
    every = None if asked.every is None else _every(f"{path}.every", asked.every)
    return SignIn(url=url, actions=actions, every=every)


def _cookies(path: str, raw: Any) -> Sequence[CookieRequest] | None:
    if raw is None:
        return None
    if not isinstance(raw, list) or len(raw) > MOST_COOKIES:
        raise Invalid(path, f"must be a list of at most {MOST_COOKIES} cookies")
    return [_cookie(f"{path}.{at}", one) for at, one in enumerate(raw)]


def _cookie(path: str, raw: Any) -> CookieRequest:
    # Exports of browsers have further fields, which do not matter here.
    known = ("name", "value", "domain", "path", "expires", "secure")
    given = {name: raw[name] for name in known if name in raw} if isinstance(raw, Mapping) else raw
    cookie = read(CookieRequest, given, path)
    if not cookie.name or not f"{cookie.name}{cookie.value}".isprintable() or ";" in f"{cookie.name}{cookie.value}":
        raise Invalid(path, "must have a name, and neither control characters nor semicolons")
    if cookie.expires is not None and (isinstance(cookie.expires, bool) or not isinstance(cookie.expires, int | float)):
        raise Invalid(f"{path}.expires", "must be a number of seconds since 1970")
    return cookie


@declared(
    example={
        "login": {
            "url": "https://shop.example/login",
            "every": "12h",
            "steps": [
                {"do": "fill", "selector": "#password", "value": "{{ secret.SHOP_PASSWORD }}"},
                {"do": "press", "selector": "#password", "key": "Enter"},
                {"do": "wait_for", "selector": ".account"},
            ],
        }
    }
)
class HostSessionRequest:
    """How a session gets its cookies: a sign-in, cookies that are given, or both."""

    login: Annotated[SignIn | None, Parsed(_login), Wire(SignInRequest | None)] = None
    cookies: Annotated[
        Sequence[CookieRequest] | None,
        Parsed(_cookies),
        Wire(Annotated[list[CookieRequest], MaxLen(MOST_COOKIES)] | None),
    ] = None
    """Stored encrypted and never shown; absent: what is stored stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSessions:
    """Sessions of a tenant, by host and name."""

    store: Database
    clock: Clock
    feed: Feed
    vault: Vault | None

    @query(Verb.READ, Thing.HOST)
    async def list(self, ctx: QueryContext) -> Sequence[HostSession]:
        """All of them, without their cookies."""
        async with ctx.read() as tx:
            return await SqlHostSessions(tx).of_tenant(ctx.tenant_id)

    @command(Verb.WRITE, Thing.HOST)
    async def put(
        self, ctx: CommandContext, host: str, name: str, raw: object, once: IdempotentRequest = EACH_TIME
    ) -> HostSession:
        """Creates or replaces a session; cookies that are not given stay."""
        host, name, asked = host_name(host), read_name(name), read(HostSessionRequest, raw)
        if asked.login is None and asked.cookies is None:
            raise Invalid("login", "or cookies are required: a session gets its cookies from one of them")
        tx = await ctx.begin()
        sessions = SqlHostSessions(tx)
        before = await sessions.get(ctx.tenant_id, host, name, lock=True)
        if before is None and await sessions.count(ctx.tenant_id) >= MOST_SESSIONS:
            raise TooMany(f"there are {MOST_SESSIONS} sessions, the maximum: delete one first")
        session = HostSession(
            tenant_id=ctx.tenant_id,
            host=host,
            name=name,
            sign_in=asked.login,
            cookies=None if asked.cookies is None else _given(asked.cookies, host),
            signed_in_at=ctx.now if asked.cookies else None,
            updated_at=ctx.now,
            created_by=ctx.caller.user_id,
        )
        await sessions.put(session, self.vault, exists=before is not None)
        told = None if before is None else _told(before)
        ctx.audit(AuditedChange("set", Thing.HOST, f"{host}/{name}", told, _told(session)))
        stored = await sessions.get(ctx.tenant_id, host, name)
        assert stored is not None  # noqa: S101 -- it was written in this transaction
        return stored

    @command(Verb.WRITE, Thing.HOST)
    async def delete(self, ctx: CommandContext, host: str, name: str, once: IdempotentRequest = EACH_TIME) -> None:
        """The session with its cookies; pages that name it fail from then on."""
        host = host_name(host)
        tx = await ctx.begin()
        if not await SqlHostSessions(tx).delete(ctx.tenant_id, host, name[:64]):
            raise NotFound("session", f"{host}/{name[:64]}")
        ctx.audit(AuditedChange("delete", Thing.HOST, f"{host}/{name[:64]}"))


def _given(cookies: Sequence[CookieRequest], host: str) -> Cookies:
    place = host.partition(":")[0]
    return jar.read(
        [
            {
                "name": cookie.name,
                "value": cookie.value,
                "domain": cookie.domain or place,
                "path": cookie.path,
                "expires": cookie.expires,
                "secure": cookie.secure,
            }
            for cookie in cookies
        ]
    )


def _told(session: HostSession) -> dict[str, object]:
    """For the audit log: no cookie."""
    login = session.sign_in
    return {
        "login": None if login is None else {"url": login.url, **dict(as_document(login.actions))},
        "cookies": len(session.cookies) if session.cookies is not None else session.count,
    }
