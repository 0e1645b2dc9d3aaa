"""Downloader middlewares that a test puts beside ours."""

from __future__ import annotations

from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler

from foliot.scrapy import EgressMiddleware


class ThroughProxy:
    """Sends every request through the proxy of the setting `PROXY`."""

    def __init__(self, proxy: str) -> None:
        self.proxy = proxy

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ThroughProxy:
        return cls(crawler.settings["PROXY"])

    def process_request(self, request: Request) -> None:
        request.meta["proxy"] = self.proxy


class Deaf(EgressMiddleware):
    """Lets every name through, as a handler that goes its own way would."""

    def _watch_names(self) -> None:
        """Not watched."""

    async def process_request(self, request: Request, **_: Any) -> None:
        self._admitted(request)
