"""Fetches one page through egress: one request per claim; a redirect is followed by the next claim."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urljoin

from foliot import __version__
from foliot.core.egress import Egress, EgressFailed, EgressRefused, OutgoingRequest, OutgoingResponse
from foliot.core.errors import Invalid
from foliot.engine.model.run import AttemptError
from foliot.features.articles.fetch.robots import AGENT, MOST_BYTES, allows
from foliot.features.articles.fetch.urls import BadUrl, redirect_url
from foliot.features.articles.fetch.verdict import MOST_PAGE, header, never
from foliot.features.articles.model.fetch import ClaimedArticle, FetchFailure, PageMoved

MOST_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PERMANENT = frozenset({"tls_failed"})
NOWHERE = never("bad_redirect", "The page leads to something that is no URL.")
TOO_MANY = never("too_many_redirects", f"The page was moved more than {MOST_REDIRECTS} times.")

HEADERS = {
    "User-Agent": f"{AGENT}/{__version__}",
    "Accept": "text/html,application/xhtml+xml;q=0.9,text/plain;q=0.5,*/*;q=0.1",
}


@dataclass(frozen=True, slots=True)
class PageResponse:
    """A response, and the URL that it came from after redirects."""

    url: str
    reply: OutgoingResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFetcher:
    """Sends the requests for pages and for robots.txt."""

    egress: Egress
    timeout: timedelta = timedelta(seconds=30)

    async def page(self, taken: ClaimedArticle, known: Mapping[str, str]) -> PageResponse | PageMoved | FetchFailure:
        """The page, if robots.txt allows it; `known` are the conditional headers of the stored version.

        One request: the target of a redirect has its own robots.txt and rate limit, or shares this host's limit.
        """
        if not allows(taken.robots, taken.url):
            return never("robots_disallowed", "The host's robots.txt does not allow this page to be fetched.")
        fetched = await self._ask(taken.url, taken.tenant_id, {**HEADERS, **known}, MOST_PAGE, self.timeout)
        if isinstance(fetched, FetchFailure) or (location := _location(fetched.reply)) is None:
            return fetched
        if taken.moves >= MOST_REDIRECTS:
            return TOO_MANY
        try:
            return PageMoved(redirect_url(urljoin(taken.url, location)))
        except BadUrl as wrong:
            return never("bad_redirect", f"The page leads elsewhere, and that {wrong}.")
        except ValueError:
            return NOWHERE

    async def robots(self, taken: ClaimedArticle) -> PageResponse | FetchFailure:
        """The robots.txt of this page's host; follows redirects within one time limit."""
        url, headers = urljoin(taken.url, "/robots.txt"), {**HEADERS, "Accept": "text/plain,*/*;q=0.1"}
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout.total_seconds()
        for _ in range(MOST_REDIRECTS + 1):
            left = timedelta(seconds=max(deadline - loop.time(), 0.001))
            fetched = await self._ask(url, taken.tenant_id, headers, MOST_BYTES, left)
            if isinstance(fetched, FetchFailure) or (location := _location(fetched.reply)) is None:
                return fetched
            try:
                url = urljoin(url, location)
            except ValueError:
                return NOWHERE
        return TOO_MANY

    async def _ask(
        self, url: str, tenant_id: str, headers: Mapping[str, str], most: int, patience: timedelta
    ) -> PageResponse | FetchFailure:
        request = OutgoingRequest(
            method="GET", url=url, headers=headers, timeout=patience, keep=most, most=most, tenant_id=tenant_id
        )
        try:
            return PageResponse(url, await self.egress.send(request))
        except (EgressRefused, Invalid) as refusal:
            return never("address_refused", str(refusal))
        except EgressFailed as failure:
            return FetchFailure(
                problem=AttemptError(failure.code, failure.message), permanent=failure.code in _PERMANENT
            )


def _location(reply: OutgoingResponse) -> str | None:
    """The target of a redirect; None when the response is none."""
    return header(reply.headers, "location") or None if reply.status in _REDIRECTS else None
