"""Renders pages: takes a browser in turn, gives it leave for the egress proxy, and judges what comes back."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from foliot.cluster import page_reader
from foliot.cluster.page_reader import CallResult, ProcessDied
from foliot.cluster.process_pool import ProcessPool
from foliot.core.errors import Invalid
from foliot.core.mask import TEMPLATE
from foliot.engine.model.run import AttemptError
from foliot.features.fetching.access import SecretUnusable, StepSecrets, filled, revealed
from foliot.features.fetching.browser_actions import BrowserActions, as_document
from foliot.features.fetching.model import FetchFailure, FetchRequest, Page
from foliot.features.fetching.render.screenshots import Screenshots
from foliot.features.tasks.run.call import Probation
from foliot.net.guard import EgressGuard
from foliot.net.proxy import EgressProxy, ProxyGrant
from foliot.net.slots import FairSlots
from foliot.net.url import UrlTarget

START = timedelta(seconds=30)
"""For the browser to start, beside the time for the page."""
QUEUE = timedelta(minutes=2)
"""How long a page waits for a browser before it is tried again later."""
PAUSE = timedelta(minutes=1)
"""How long a host waits whose page killed its browser, for the tenant that asked."""
TRANSFER = 128 * 1024 * 1024
"""Bytes that one page may load and send."""
HEADERS = (
    "The host of this page has extra headers, which a browser would also send to the hosts that it redirects to: fetch "
    "the page with render: never, or take the headers of the host away."
)
_PERMANENT = frozenset({"not_html", "too_large", "selector_missing", "step_failed", "tls_failed", "too_many_redirects"})
_HEADERS_LEFT_OUT = frozenset({"content-encoding", "content-length", "connection", "transfer-encoding", "set-cookie"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserLaunch:
    """Which browser is used, and when it is replaced."""

    program: str = ""
    url: str = field(default="", repr=False)
    sandbox: bool = True
    pages: int = 100
    memory: int = 512 * 1024 * 1024
    """Bytes at which it is replaced after a page."""

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("program", "url", "sandbox", "pages", "memory")}


@dataclass(slots=True)
class RenderCounts:
    """What the browsers of this process have done since it started."""

    pages: Counter[str] = field(default_factory=Counter)
    """By outcome: `rendered`, or the code of the failure."""
    seconds: float = 0.0
    refused: int = 0
    """Requests of pages that the egress proxy refused."""


@dataclass(kw_only=True, eq=False)
class BrowserRenderer:
    """Implements `Renderer` by a pool of browsers; safe for concurrent calls, tenants in turn."""

    pool: ProcessPool
    proxy: EgressProxy
    guard: EgressGuard
    launch: BrowserLaunch
    many: int
    """Browsers at once, each with one page."""
    timeout: timedelta = timedelta(seconds=45)
    secrets: StepSecrets | None = None
    shots: Screenshots = field(default_factory=Screenshots)
    counts: RenderCounts = field(default_factory=RenderCounts)
    probation: Probation = field(default_factory=Probation)
    _turns: FairSlots = field(init=False, repr=False)
    _alone: FairSlots = field(init=False, repr=False, default_factory=lambda: FairSlots(1))

    def __post_init__(self) -> None:
        self._turns = FairSlots(self.many)

    async def render(self, request: FetchRequest) -> Page | FetchFailure:
        """The page with `rendered` set; `FetchFailure` when the browser got none."""
        try:
            target = self.guard.admit(request.url)
        except Invalid as refusal:
            return _failed("address_refused", f"The URL {refusal.message}.", permanent=True)
        if request.options.access.headers:
            # A browser repeats them at every redirect, to whatever host that leads.
            return _failed("headers_not_rendered", HEADERS, permanent=True)
        actions = await self._actions(request)
        if isinstance(actions, FetchFailure):
            return actions
        began = asyncio.get_running_loop().time()
        answer = await self._in_turn(request, target, actions)
        self.counts.seconds += asyncio.get_running_loop().time() - began
        self.counts.pages["rendered" if isinstance(answer, Page) else answer.problem.code] += 1
        return answer

    def report(self) -> Mapping[str, int]:
        """Counters for the metrics."""
        rendered = self.counts.pages["rendered"]
        return {
            "pages_rendered": rendered,
            "pages_not_rendered": self.counts.pages.total() - rendered,
            "page_requests_refused": self.counts.refused,
        }

    async def close(self) -> None:
        """Kill all browsers, and end the proxy."""
        await self.pool.close()
        await self.proxy.close()
        self.proxy.tcp.close()

    async def _in_turn(
        self, request: FetchRequest, target: UrlTarget, actions: Mapping[str, Any]
    ) -> Page | FetchFailure:
        tenant = request.tenant_id
        # A tenant whose pages lately killed a browser gets one at a time.
        turns, line = (self._alone, tenant) if self.probation.holds(tenant) else (self._turns, "")
        try:
            async with asyncio.timeout(QUEUE.total_seconds()):
                await turns.enter(line, tenant)
        except TimeoutError:
            return _failed("no_browser_free", f"No browser was free within {QUEUE.total_seconds():g} s.")
        try:
            if turns is self._alone:
                async with self._turns.turn("", tenant):
                    return await self._asked(request, target, actions)
            return await self._asked(request, target, actions)
        finally:
            turns.leave(line)

    async def _asked(self, request: FetchRequest, target: UrlTarget, actions: Mapping[str, Any]) -> Page | FetchFailure:
        await self.proxy.start()
        rules = self.guard.rules.for_page(target.host, target.port)
        async with self.proxy.grant(
            request.tenant_id, transfer=TRANSFER, secure_tunnels=True, rules=rules, upstream=request.proxy
        ) as grant:
            try:
                result = await self.pool.call(
                    self._call(request, actions, grant), page_reader.SILENCE, self.timeout + START
                )
            except TimeoutError:
                self.probation.begin(request.tenant_id)
                words = f"The browser could not finish the page within {self.timeout.total_seconds():g} s."
                return _failed("render_timeout", words, pause=PAUSE)
            except ProcessDied as death:
                self.probation.begin(request.tenant_id)
                return _failed("render_crashed", f"The page crashed its browser: {death}."[:300], pause=PAUSE)
            finally:
                self.counts.refused += grant.client.refusals
        answer = self._judge(request, result)
        if isinstance(answer, FetchFailure) and result.error is None and result.body:
            return await self.shots.kept(answer, request, result.body)
        return answer

    def _call(self, request: FetchRequest, actions: Mapping[str, Any], grant: ProxyGrant) -> page_reader.PoolCall:
        page = {
            "url": request.url,
            "seconds": self.timeout.total_seconds(),
            "headers": dict(request.headers),
            "screenshot": self.shots.wanted(request),
            **actions,
        }
        if request.session is not None:
            page |= {"state": {"cookies": list(request.session.cookies), "origins": []}, "keep_state": True}
        proxy = {"server": grant.server, "username": grant.username, "password": grant.password}
        parameters = {"browser": self.launch.as_dict(), "page": page, "proxy": proxy}
        return page_reader.asked("foliot.features.fetching.render.page", "render", parameters, b"")

    def _judge(self, request: FetchRequest, result: CallResult) -> Page | FetchFailure:
        if result.error is not None:
            return _failed("browser_failed", f"The browser failed: {result.error}"[:300])
        answer = result.result
        if "failed" in answer:
            code = answer["failed"]["code"]
            return _failed(code, answer["failed"]["message"][:300], permanent=code in _PERMANENT)
        html, body, _ = answer["sizes"]
        rendered = result.body[:html]
        return Page(
            url=answer["url"],
            status=answer["status"],
            headers={
                name.lower(): str(value)
                for name, value in answer["headers"].items()
                if name.lower() not in _HEADERS_LEFT_OUT
            },
            body=result.body[html : html + body] or rendered,
            rendered=rendered,
            cookies=(answer.get("state") or {}).get("cookies"),
        )

    async def _actions(self, request: FetchRequest) -> Mapping[str, Any] | FetchFailure:
        """The actions with the values of their secrets."""
        actions = request.options.browser or BrowserActions()
        document = dict(as_document(actions))
        names = actions.secrets()
        if not names:
            return document
        try:
            values = await revealed(self.secrets, request.tenant_id, names, request.url)
        except SecretUnusable as why:
            return _failed(why.code, str(why), permanent=True)
        document["steps"] = [_filled(step, values) for step in document["steps"]]
        return document


def _filled(step: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    value = str(step.get("value", ""))
    if not TEMPLATE.search(value):
        return dict(step)
    return {**step, "value": filled(value, values), "secret": True}


def _failed(code: str, message: str, *, permanent: bool = False, pause: timedelta | None = None) -> FetchFailure:
    return FetchFailure(problem=AttemptError(code, message), permanent=permanent, pause=pause)
