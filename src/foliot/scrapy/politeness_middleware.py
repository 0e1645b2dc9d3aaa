"""Scrapy middleware that sends every request in a turn of its host, from the budget that Foliot's own fetches share."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib import request as urls
from urllib.parse import quote, urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response, TextResponse

from foliot.scrapy.operator_settings import text_of

MOST = 100
"""Turns of one block, as the API allows."""
LONGEST_WAIT = 5.0
"""Seconds between two requests for turns, at most."""
PATIENCE = 10.0
AGAIN = 30.0
"""Seconds during which an API that could not be reached is not asked again."""
DELAY = "FOLIOT_HOST_DELAY"
"""Setting of a crawl: seconds between requests to its hosts when it started, used while the API cannot be reached."""
_META = "foliot_turn"
_CROWDED = frozenset({429, 503})

logger = logging.getLogger(__name__)

AskTurns = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Asks the API for turns at a host; raises `OSError` or `ValueError` when it cannot be reached. Blocks."""


@dataclass
class SpiderHost:
    """One host of the spider: turns that were allotted, and what its answers said."""

    starts: deque[tuple[float, float]] = field(default_factory=deque)
    """Start times by the loop's clock, and how late each may be used."""
    waiting: int = 0
    in_flight: int = 0
    answers: list[dict[str, Any]] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    next_at: float = 0.0
    """When the next request may start while the API cannot be reached."""
    report: asyncio.Future[None] | None = None
    """Sends answers without asking for turns."""


class PolitenessMiddleware:
    """Leases turns in blocks. Belongs near the end of `DOWNLOADER_MIDDLEWARES`: what it lets pass is sent at once.

    `DOWNLOAD_DELAY` and AutoThrottle should be off: they would send requests after their turns.
    """

    def __init__(self, ask: AskTurns | None, holder: str, delay: float) -> None:
        self.ask = ask
        self.holder = holder
        self.delay = delay
        self.hosts: dict[str, SpiderHost] = {}
        self._away_until = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PolitenessMiddleware:
        settings = crawler.settings
        url, token = text_of(settings, "FOLIOT_URL"), text_of(settings, "FOLIOT_TOKEN")
        delay = settings.getfloat(DELAY) or settings.getfloat("DOWNLOAD_DELAY")
        spider = crawler.spider
        job = getattr(spider, "_job", None) if spider is not None else None
        holder = str(job or text_of(settings, "SCRAPY_JOB") or id(crawler))[:100]
        return cls(_client(url, token) if url else None, holder, delay)

    async def process_request(self, request: Request, **_: Any) -> None:
        """Waits for the host's turn."""
        parts = urlsplit(request.url)
        if parts.scheme not in ("http", "https"):
            return
        name = parts.netloc.rpartition("@")[2].lower()
        host = self.hosts.setdefault(name, SpiderHost())
        host.waiting += 1
        try:
            async with host.lock:
                await self._turn(name, host)
        finally:
            host.waiting -= 1
        host.in_flight += 1
        request.meta[_META] = name

    async def _turn(self, name: str, host: SpiderHost) -> None:
        loop = asyncio.get_running_loop()
        while not (self.ask is None or loop.time() < self._away_until):
            while host.starts:
                at, latest = host.starts.popleft()
                if (early := at - loop.time()) > 0:
                    await asyncio.sleep(early)
                if loop.time() <= latest:
                    host.next_at = loop.time() + self.delay
                    return
            await self._lease(name, host)
        host.next_at = max(host.next_at, loop.time())
        await asyncio.sleep(host.next_at - loop.time())
        host.next_at += self.delay

    async def _lease(self, name: str, host: SpiderHost) -> None:
        loop = asyncio.get_running_loop()
        answers, host.answers = host.answers[:MOST], host.answers[MOST:]
        wanted = min(max(host.waiting, 1), MOST)
        asked = {"holder": self.holder, "wanted": wanted, "in_flight": host.in_flight, "answers": answers}
        asked_at = loop.time()
        try:
            assert self.ask is not None  # noqa: S101 -- the caller has checked
            block = await loop.run_in_executor(None, self.ask, name, asked)
            late = block["late"]
            made_at = asked_at + block["took"]
            for start in block["starts"]:
                # Not too early if the answer was on the way for no time, not too late if for all of it.
                at = loop.time() + start
                host.starts.append((at, made_at + start + (PATIENCE if late is None else late)))
            if not host.starts:
                await asyncio.sleep(min(float(block["retry_in"]), LONGEST_WAIT))
        except (OSError, ValueError, KeyError, TypeError) as error:
            host.answers[:0] = answers
            self._away_until = loop.time() + AGAIN
            logger.warning("No turns from Foliot (%s): continuing with %g s between requests", error, self.delay)

    async def _report(self, name: str, host: SpiderHost) -> None:
        """Tells the API what answers said; where it cannot be reached, the next request for turns does."""
        answers, host.answers = host.answers[:MOST], host.answers[MOST:]
        said = {"holder": self.holder, "wanted": 0, "in_flight": host.in_flight, "answers": answers}
        try:
            assert self.ask is not None  # noqa: S101 -- the caller has checked
            await asyncio.get_running_loop().run_in_executor(None, self.ask, name, said)
        except (OSError, ValueError):
            host.answers[:0] = answers

    def process_response(self, request: Request, response: Response, **_: Any) -> Response:
        """Ends the turn, and notes what the answer says about the host."""
        name = request.meta.get(_META, "")
        if (host := self._ended(request)) is not None:
            path = urlsplit(request.url).path
            if path == "/robots.txt" and isinstance(response, TextResponse):
                host.answers.append({"status": response.status, "path": path, "robots": response.text[:400_000]})
            elif response.status in _CROWDED or path == "/robots.txt":
                after = response.headers.get("Retry-After")
                said = after.decode("latin-1")[:100] if after else None
                robots = {"robots": ""} if path == "/robots.txt" else {}
                answer = {"status": response.status, "path": path[:200], "retry_after": said, **robots}
                host.answers.append(answer)
                # Turns of before the answer are void, and other requests to the host must hear of it at once.
                host.starts.clear()
                if self.ask is not None:
                    host.report = asyncio.ensure_future(self._report(name, host))
        return response

    def process_exception(self, request: Request, exception: Exception, **_: Any) -> None:
        """Ends the turn of a request without an answer."""
        self._ended(request)

    def _ended(self, request: Request) -> SpiderHost | None:
        name = request.meta.pop(_META, None)
        host = self.hosts.get(name) if name else None
        if host is not None:
            host.in_flight -= 1
        return host


def _client(url: str, token: str) -> AskTurns:
    """Posts to Foliot's API; the operator's own address, so not through the egress guard."""

    def ask(host: str, asked: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        address = f"{url.rstrip('/')}/api/hosts/{quote(host, safe=':[]')}/turns"
        if not address.startswith(("http://", "https://")):
            raise ValueError("FOLIOT_URL must begin with http:// or https://")
        message = urls.Request(address, json.dumps(asked).encode(), headers, method="POST")  # noqa: S310 -- checked
        with _OPENER.open(message, timeout=PATIENCE) as answer:
            block: dict[str, Any] = json.loads(answer.read(1 << 20))
        return block

    return ask


_OPENER = urls.build_opener(urls.ProxyHandler({}))
"""Without the proxies of the environment."""
