"""Fetches one page through egress: redirects followed by hand, each checked anew, all within one time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urljoin, urlsplit

from foliot import __version__
from foliot.actions.articles.robots import AGENT, MOST_BYTES, allows
from foliot.actions.articles.verdict import MOST_PAGE, header, never
from foliot.domain.errors import Invalid
from foliot.domain.run import Problem
from foliot.ports import Egress, EgressFailed, EgressRefused, Outgoing, Reply
from foliot.ports.articles import Missed, Taken

MOST_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PERMANENT = frozenset({"tls_failed"})

HEADERS = {
    "User-Agent": f"{AGENT}/{__version__}",
    "Accept": "text/html,application/xhtml+xml;q=0.9,text/plain;q=0.5,*/*;q=0.1",
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer, and the URL that gave it in the end."""

    url: str
    reply: Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetcher:
    """One request, as often as it is sent elsewhere."""

    egress: Egress
    timeout: timedelta = timedelta(seconds=30)

    async def page(self, taken: Taken, known: Mapping[str, str]) -> Fetched | Missed:
        """The page, if its host allows; `known` are headers that say which version of it we have."""

        def allowed(url: str) -> bool:
            return urlsplit(url).netloc != taken.host or allows(taken.robots, url)

        return await self._follow(taken.url, taken.tenant_id, {**HEADERS, **known}, MOST_PAGE, allowed)

    async def robots(self, taken: Taken) -> Fetched | Missed:
        """The robots.txt of the host of this page."""
        place = urljoin(taken.url, "/robots.txt")
        return await self._follow(place, taken.tenant_id, {**HEADERS, "Accept": "text/plain,*/*;q=0.1"}, MOST_BYTES)

    async def _follow(
        self,
        url: str,
        tenant_id: str,
        headers: Mapping[str, str],
        most: int,
        allowed: Callable[[str], bool] = lambda _: True,
    ) -> Fetched | Missed:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout.total_seconds()
        for _ in range(MOST_REDIRECTS + 1):
            if not allowed(url):
                return never("robots_disallowed", "The host's robots.txt does not allow this page to be fetched.")
            left = timedelta(seconds=max(deadline - loop.time(), 0.001))
            request = Outgoing(
                method="GET", url=url, headers=headers, timeout=left, keep=most, most=most, tenant_id=tenant_id
            )
            try:
                reply = await self.egress.send(request)
            except (EgressRefused, Invalid) as refusal:
                return never("address_refused", str(refusal))
            except EgressFailed as failure:
                problem = Problem(failure.code, failure.message)
                return Missed(problem=problem, permanent=failure.code in _PERMANENT)
            location = header(reply.headers, "location")
            if reply.status not in _REDIRECTS or not location:
                return Fetched(url, reply)
            try:
                url = urljoin(url, location)
            except ValueError:
                return never("bad_redirect", "The page leads to something that is no URL.")
        return never("too_many_redirects", f"The page was moved more than {MOST_REDIRECTS} times.")
