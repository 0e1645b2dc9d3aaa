"""Fetches pages for every kind of work: one request per turn of the host, robots.txt obeyed, redirects checked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol
from urllib.parse import urljoin, urlsplit

from foliot import __version__
from foliot.core.egress import Egress, EgressFailed, EgressRefused, OutgoingRequest, OutgoingResponse
from foliot.core.errors import Invalid
from foliot.core.ports import Clock
from foliot.engine.model.run import AttemptError
from foliot.features.fetching.access import NO_ACCESS, HostAccess, SecretUnusable, StepSecrets
from foliot.features.fetching.answer import header, host_update, looks_empty, never
from foliot.features.fetching.latency import HostLatencies
from foliot.features.fetching.model import (
    NO_NEWS,
    NO_WORD,
    NO_WORD_KEPT,
    FetchFailure,
    FetchOptions,
    FetchRequest,
    HostTurn,
    HostUpdate,
    KeepPage,
    Page,
    PageMoved,
    PageSource,
    Render,
    Renderer,
    Robots,
    host_of,
    options_at,
)
from foliot.features.fetching.render.memory import RenderMemory
from foliot.features.fetching.robots import AGENT, MOST_BYTES, allows, judge_robots
from foliot.features.fetching.sign_in import SignIns
from foliot.features.fetching.url import BadUrl, redirect_url

MOST_REDIRECTS = 10
MOST_MISSED = 20
"""Turns that one request may miss because this process was slow."""
MOST_ROBOTS = 2
"""Turns that one request spends on robots.txt."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PERMANENT = frozenset({"tls_failed"})
NOWHERE = never("bad_redirect", "The page redirects to something that is not a URL.")
TOO_MANY = never("too_many_redirects", f"The page redirected more than {MOST_REDIRECTS} times.")
DISALLOWED = never("robots_disallowed", "The host's robots.txt does not allow this page to be fetched.")
NO_BROWSER = never(
    "no_browser", "The page must be rendered in a browser, and this process has none: see FOLIOT_BROWSER."
)
NO_SESSIONS = never("session_missing", "This process knows no sessions of hosts.")
MISSED = FetchFailure(
    problem=AttemptError("turn_missed", "This process was too slow for the turn that the page had at its host.")
)
UNHEARD = FetchFailure(
    problem=AttemptError(
        "robots_unavailable", "The host's robots.txt could not be read, so nothing was fetched from it."
    ),
    retry_after=NO_WORD_KEPT,
)

HEADERS = {
    "User-Agent": f"{AGENT}/{__version__}",
    "Accept": "text/html,application/xhtml+xml;q=0.9,text/plain;q=0.5,*/*;q=0.1",
}


class HostTurns(Protocol):
    """Allocates the requests to a host: each waits for its turn, and every answer is reported."""

    async def take(self, host: str, tenant_id: str, caller: str = "") -> HostTurn:
        """Waits until this tenant may send one request to the host; what it is for takes turns with the rest."""
        ...

    async def done(self, turn: HostTurn, update: HostUpdate) -> None:
        """Ends a turn, with what the answer says about the host."""
        ...


class UnlimitedTurns:
    """Every turn comes at once, and robots.txt is not asked for: for tests, and for hosts that are the caller's own."""

    async def take(self, host: str, tenant_id: str, caller: str = "") -> HostTurn:
        return HostTurn(host=host, tenant_id=tenant_id)

    async def done(self, turn: HostTurn, update: HostUpdate) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFetcher:
    """Sends requests for pages and for robots.txt, one at a time and without waiting for a turn."""

    egress: Egress
    timeout: timedelta = timedelta(seconds=30)
    """Of robots.txt."""
    renderer: Renderer | None = None
    memory: RenderMemory | None = None
    """Which hosts need the renderer."""
    secrets: StepSecrets | None = None
    """For headers and proxies of hosts."""
    sign_ins: SignIns | None = None
    """For sessions of hosts."""
    latencies: HostLatencies = field(default_factory=HostLatencies)

    async def once(self, request: FetchRequest, robots: str | None) -> Page | PageMoved | FetchFailure:
        """One request, in a turn that the caller holds. `robots` is the stored robots.txt of the host.

        The target of a redirect has its own robots.txt and limits, so it is returned instead of fetched.
        """
        if request.options.robots is not Robots.IGNORE and (refused := _refusal(robots, request.url)) is not None:
            return refused
        opened = await self._opened(request)
        return opened if isinstance(opened, FetchFailure) else await self._got(opened)

    async def _got(self, request: FetchRequest) -> Page | PageMoved | FetchFailure:
        # `auto` where a browser is configured, else `never`.
        auto = self.renderer is not None and request.method == "GET" and request.options.render in {None, Render.AUTO}
        if request.options.render is Render.ALWAYS or (auto and await self._needs_browser(request)):
            return await self._render(request)
        page = await self._ask(
            request.url,
            request,
            {**HEADERS, **self._cookies(request), **request.headers, **request.known},
            request.most,
            request.timeout,
        )
        if isinstance(page, FetchFailure):
            return page
        if await self._signed_out(request, page):
            return MISSED
        if request.follow and (location := _location(page)) is not None:
            return _target(request.url, location)
        return replace(page, may_render=True) if auto and page.status == 200 and self._may_help(request) else page

    async def in_browser(self, request: FetchRequest) -> Page | FetchFailure:
        """The page, rendered, in a turn that the caller holds."""
        opened = await self._opened(request)
        return opened if isinstance(opened, FetchFailure) else await self._render(opened)

    async def _render(self, request: FetchRequest) -> Page | FetchFailure:
        page = NO_BROWSER if self.renderer is None else await self.renderer.render(request)
        return MISSED if isinstance(page, Page) and await self._signed_out(request, page) else page

    async def _signed_out(self, request: FetchRequest, page: Page) -> bool:
        return self.sign_ins is not None and await self.sign_ins.note(request, page)

    def _cookies(self, request: FetchRequest) -> Mapping[str, str]:
        return {} if self.sign_ins is None else self.sign_ins.header(request, request.url)

    async def _opened(self, request: FetchRequest) -> FetchRequest | FetchFailure:
        """With its session, and the headers and the proxy of its host; `MISSED` when a sign-in has used the turn."""
        if access := request.options.access:
            try:
                headers, proxy = await access.open(self.secrets, request.tenant_id, request.url)
            except SecretUnusable as why:
                return never(why.code, str(why))
            request = replace(request, headers={**headers, **request.headers}, proxy=proxy)
        if request.options.session is None:
            return request
        opened = NO_SESSIONS if self.sign_ins is None else await self.sign_ins.open(request)
        if isinstance(opened, FetchRequest) and opened.session is not None and opened.session.due and self.sign_ins:
            return await self.sign_ins.renew(opened) or MISSED
        return opened

    async def close(self) -> None:
        """End what renders; once for all callers of a process."""
        if self.renderer is not None:
            await self.renderer.close()

    async def learn(self, request: FetchRequest, *, helped: bool) -> None:
        """A browser was asked because there was nothing to read; whether it found something."""
        if self.memory is not None:
            await self.memory.learn(request.tenant_id, host_of(request.url), helped=helped)

    async def _needs_browser(self, request: FetchRequest) -> bool:
        return self.memory is not None and await self.memory.needs(request.tenant_id, host_of(request.url))

    def _may_help(self, request: FetchRequest) -> bool:
        return self.memory is None or self.memory.may_help(request.tenant_id, host_of(request.url))

    async def robots(self, url: str, tenant_id: str, access: HostAccess = NO_ACCESS) -> Page | FetchFailure:
        """The robots.txt of this URL's host; follows redirects within one time limit."""
        url = urljoin(url, "/robots.txt")
        request = await self._opened(FetchRequest(url=url, tenant_id=tenant_id, options=FetchOptions(access=access)))
        if isinstance(request, FetchFailure):
            # Says nothing of the host: robots.txt stays unknown, and is not taken for one that allows everything.
            return replace(request, permanent=False)
        home = host_of(url)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout.total_seconds()
        for _ in range(MOST_REDIRECTS + 1):
            left = timedelta(seconds=max(deadline - loop.time(), 0.001))
            own = request.headers if host_of(url) == home else {}
            page = await self._ask(url, request, {**HEADERS, "Accept": "text/plain,*/*;q=0.1", **own}, MOST_BYTES, left)
            if isinstance(page, FetchFailure) or (location := _location(page)) is None:
                return page
            try:
                url = urljoin(url, location)
            except ValueError:
                return NOWHERE
        return TOO_MANY

    async def _ask(
        self, url: str, request: FetchRequest, headers: Mapping[str, str], most: int, timeout: timedelta
    ) -> Page | FetchFailure:
        if request.latest is not None and asyncio.get_running_loop().time() > request.latest:
            return MISSED
        outgoing = OutgoingRequest(
            method=request.method,
            url=url,
            headers=headers,
            body=request.body,
            timeout=timeout,
            keep=most,
            most=most,
            tenant_id=request.tenant_id,
            proxy=request.proxy,
        )
        try:
            page = _page(url, await self.egress.send(outgoing))
        except (EgressRefused, Invalid) as refusal:
            return never("address_refused", str(refusal))
        except EgressFailed as failure:
            return FetchFailure(
                problem=AttemptError(failure.code, failure.message), permanent=failure.code in _PERMANENT
            )
        if page.first_byte is not None:
            self.latencies.note(host_of(url), page.first_byte)
        return page

    def update_of(self, page: Page, url: str, now: datetime, *, slowed: bool) -> HostUpdate:
        """What an answer says about its host: by its status, and by how long the host's answers take now."""
        update = host_update(page, url, now, slowed=slowed)
        return update if update.asks else self.latencies.update(url, update)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetcher:
    """Fetches one page politely: waits for the host's turn, obeys its robots.txt, follows redirects by turns too."""

    pages: PageFetcher
    clock: Clock
    turns: HostTurns = field(default_factory=UnlimitedTurns)
    keeper: KeepPage | None = None

    async def fetch(self, request: FetchRequest) -> Page | FetchFailure:
        """The answer of any status; `FetchFailure` when there is none. Waiting for a turn is not limited in time."""
        asked = request
        for _ in range(MOST_REDIRECTS + 1):
            answer = await self._turn(asked)
            if isinstance(answer, Page) and answer.may_render and looks_empty(answer):
                answer = await self._rendered(asked, answer)
            if isinstance(answer, Page) and request.options.keep is not None and self.keeper is not None:
                await self.keeper.keep(answer, request)
            if not isinstance(answer, PageMoved):
                return answer
            try:
                elsewhere = urlsplit(answer.url)[:2] != urlsplit(asked.url)[:2]
            except ValueError:
                return NOWHERE
            # Headers for one host, such as a token, are not sent to another; validators belong to the first URL.
            asked = replace(asked, url=answer.url, headers={} if elsewhere else asked.headers, known={})
        return TOO_MANY

    async def rendered(self, request: FetchRequest) -> Page | FetchFailure:
        """The page in a browser, in a turn of its own: for callers that found nothing in it as it came."""
        return await self.fetch(replace(request, options=replace(request.options, render=Render.ALWAYS), known={}))

    async def learn(self, request: FetchRequest, *, helped: bool) -> None:
        """Whether a browser found what such a caller wanted."""
        await self.pages.learn(request, helped=helped)

    async def _rendered(self, request: FetchRequest, page: Page) -> Page:
        """The page in a browser; as it came, if that is of no help."""
        # Kept once, by the caller.
        better = await self.rendered(replace(request, options=replace(request.options, keep=None)))
        helped = isinstance(better, Page) and better.status == 200 and not looks_empty(better)
        await self.learn(request, helped=helped)
        return better if isinstance(better, Page) and helped else replace(page, may_render=False)

    async def send(self, request: OutgoingRequest, caller: str) -> OutgoingResponse:
        """Any other request, in its host's turn; raises as the egress does. What robots.txt disallows is for pages."""
        try:
            host = host_of(redirect_url(request.url))
        except BadUrl as wrong:
            raise EgressRefused(f"The URL {wrong}.") from None
        source = PageSource("run", caller)
        asked = FetchRequest(url=request.url, tenant_id=request.tenant_id, source=source)
        turn = await self._settled_turn(asked, host)
        update = NO_NEWS
        try:
            reply = await self.pages.egress.send(request)
            update = self.pages.update_of(_page(request.url, reply), request.url, self.clock.now(), slowed=turn.slowed)
            return reply
        finally:
            await self.turns.done(turn, update)

    async def _turn(self, request: FetchRequest) -> Page | PageMoved | FetchFailure:
        try:
            host = host_of(redirect_url(request.url))
        except BadUrl as wrong:
            return never("address_refused", f"The URL {wrong}.")
        answer: Page | PageMoved | FetchFailure = MISSED
        for _ in range(MOST_MISSED):
            turn = await self._settled_turn(request, host)
            update = NO_NEWS
            try:
                answer = await self.pages.once(_settled(request, turn), turn.robots)
                update = self._update(answer, request, turn)
            finally:
                await self.turns.done(turn, update)
            if answer is not MISSED:
                break
        return answer

    async def _settled_turn(self, request: FetchRequest, host: str) -> HostTurn:
        """A turn at a host whose robots.txt is known: where it is not, the first turn is spent on it."""
        turn = await self.turns.take(host, request.tenant_id, request.source.id)
        for _ in range(MOST_ROBOTS):
            if not turn.robots_due or request.options.robots is Robots.IGNORE:
                break
            update = NO_NEWS
            try:
                update = await self._robots(_settled(request, turn))
            finally:
                await self.turns.done(turn, update)
            turn = await self.turns.take(host, request.tenant_id, request.source.id)
        return turn

    def _update(self, answer: Page | PageMoved | FetchFailure, request: FetchRequest, turn: HostTurn) -> HostUpdate:
        if isinstance(answer, Page):
            return self.pages.update_of(answer, request.url, self.clock.now(), slowed=turn.slowed)
        return HostUpdate(well=turn.slowed) if isinstance(answer, PageMoved) else NO_NEWS

    async def _robots(self, request: FetchRequest) -> HostUpdate:
        fetched = await self.pages.robots(request.url, request.tenant_id, request.options.access)
        if isinstance(fetched, FetchFailure):
            return HostUpdate(robots="" if fetched.permanent else NO_WORD)
        rules = judge_robots(fetched, self.clock.now())
        return HostUpdate(robots=rules.robots, crawl_delay=rules.crawl_delay, pause=rules.pause)


def _settled(request: FetchRequest, turn: HostTurn) -> FetchRequest:
    """With the host's settings where the request has none of its own, and the end of its turn."""
    return replace(request, latest=turn.latest, options=options_at(request.options, turn.settings, request.tenant_id))


def _refusal(robots: str | None, url: str) -> FetchFailure | None:
    """Why robots.txt keeps this page from being fetched; None when it does not."""
    if robots == NO_WORD:
        return UNHEARD
    return None if allows(robots, url) else DISALLOWED


def _target(url: str, location: str) -> PageMoved | FetchFailure:
    try:
        return PageMoved(redirect_url(urljoin(url, location)))
    except BadUrl as wrong:
        return never("bad_redirect", f"The page redirects to a URL that {wrong}.")
    except ValueError:
        return NOWHERE


def _page(url: str, reply: OutgoingResponse) -> Page:
    first = reply.timing.get("first_byte_ms")
    return Page(
        url=url,
        status=reply.status,
        headers={name.lower(): value for name, value in reply.headers.items()},
        body=reply.body,
        truncated=reply.truncated,
        elapsed=reply.elapsed,
        first_byte=None if first is None else timedelta(milliseconds=first),
        cookies=tuple(reply.set_cookies) or None,
    )


def _location(page: Page) -> str | None:
    """The target of a redirect; None when the response is none."""
    return header(page.headers, "location") or None if page.status in _REDIRECTS else None
