"""Signs in to the sessions of hosts, in the turn of a page, and gives pages the cookies of their session."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from urllib.parse import urljoin, urlsplit

from foliot.engine.model.run import AttemptError
from foliot.features.fetching.answer import header
from foliot.features.fetching.model import FetchFailure, FetchOptions, FetchRequest, Page, Renderer, host_of
from foliot.features.fetching.page_session import SIGNED_OUT, PageSession, PageSessions, SessionUnusable

LATER = timedelta(minutes=5)


@dataclass(slots=True, kw_only=True)
class SignIns:
    """One sign-in at a time for each session of this process."""

    sessions: PageSessions
    renderer: Renderer | None = None
    _locks: dict[tuple[str, str, str], asyncio.Lock] = field(default_factory=dict)
    _users: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    async def open(self, request: FetchRequest) -> FetchRequest | FetchFailure:
        """The request with its session, where its host has one of that name."""
        try:
            session = await self._find(request)
        except SessionUnusable as why:
            return _unusable(why)
        return request if session is None else replace(request, session=session)

    async def renew(self, request: FetchRequest) -> FetchFailure | None:
        """Signs in, unless that has been done meanwhile; None when the session can be used."""
        assert request.session is not None  # noqa: S101 -- the caller has found it due
        key = (request.session.tenant_id, request.session.host, request.session.name)
        self._users[key] += 1
        try:
            async with self._locks.setdefault(key, asyncio.Lock()):
                session = await self._find(request, anew=True)
                return await self._sign_in(session, request) if session is not None and session.due else None
        except SessionUnusable as why:
            return _unusable(why)
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key], self._locks[key]

    async def note(self, request: FetchRequest, page: Page) -> bool:
        """Keeps what the answer changes of the cookies; whether it asks for a sign-in that can be done."""
        session = request.session
        if session is None:
            return False
        if session.login is not None and not session.fresh and _asks(page, request.url, session.login):
            await self.sessions.ended(session)
            return True
        if page.rendered is not None:
            await self.sessions.replaced(session, page.cookies or (), signed_in=False)
        else:
            await self.sessions.answered(session, request.url, [str(line) for line in page.cookies or ()])
        return False

    def header(self, request: FetchRequest, url: str) -> dict[str, str]:
        """The `Cookie` header of a request without a browser."""
        value = "" if request.session is None else self.sessions.header(request.session, url)
        return {"Cookie": value} if value else {}

    async def _find(self, request: FetchRequest, *, anew: bool = False) -> PageSession | None:
        name = request.options.session or ""
        return await self.sessions.find(request.tenant_id, name, host_of(request.url), anew=anew)

    async def _sign_in(self, session: PageSession, request: FetchRequest) -> FetchFailure | None:
        if self.renderer is None:
            return _failed("no_browser", "A sign-in takes a browser, and this process has none: see FOLIOT_BROWSER.")
        login = FetchRequest(
            url=session.login or "",
            tenant_id=request.tenant_id,
            options=FetchOptions(browser=session.actions),
            source=request.source,
            proxy=request.proxy,
            session=session,
        )
        page = await self.renderer.render(login)
        why = None
        if isinstance(page, FetchFailure):
            why = page.words
        elif page.status >= 400:
            why = f"the page of the sign-in answered {page.status}"
        elif not page.cookies:
            why = "it left no cookies"
        if why is None and isinstance(page, Page):
            await self.sessions.replaced(session, page.cookies or (), signed_in=True)
            return None
        await self.sessions.failed(session, str(why))
        return _failed("sign_in_failed", f"The session {session.name!r} could not sign in: {why}."[:500])


def _asks(page: Page, asked: str, login: str) -> bool:
    """Whether a page wants a sign-in: by its status, or because it leads to the page of the sign-in."""
    if page.status in SIGNED_OUT:
        return True
    place = header(page.headers, "location")
    try:
        there = urljoin(asked, place) if place else page.url
        return there != asked and urlsplit(there)[:3] == urlsplit(login)[:3]
    except ValueError:
        return False


def _unusable(why: SessionUnusable) -> FetchFailure:
    later = None if why.retry_after is None else timedelta(seconds=why.retry_after)
    return FetchFailure(problem=AttemptError(why.code, str(why)), permanent=later is None, retry_after=later)


def _failed(code: str, message: str) -> FetchFailure:
    return FetchFailure(problem=AttemptError(code, message), retry_after=LATER)
