"""Each is named for what it does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import scrapy


class Told(scrapy.Spider):
    """Takes its arguments as they come; `until` names a file whose appearance ends a wait."""

    until = ""

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
        """As if it had fetched a page: a crawl without one never succeeds, and these are about other things."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.fetched, signal=scrapy.signals.spider_opened)
        return spider

    def fetched(self) -> None:
        self.crawler.stats.inc_value("response_received_count")

    async def waited(self, mark: str = "") -> None:
        """Until the file is there, or until somebody stops the crawl."""
        while self.until and not Path(f"{self.until}{mark}").exists() and not self.stopping:
            await asyncio.sleep(0.05)

    @property
    def stopping(self) -> bool:
        return not getattr(self.crawler.engine, "running", False)

    async def start(self) -> AsyncIterator[Any]:
        await self.waited()
        for item in self.made():
            yield item

    def made(self) -> list[Any]:
        return []


class Quiet(Told):
    """Finds nothing, and ends well."""

    name = "quiet"


class Finds(Told):
    """Brings `items` items."""

    name = "finds"
    items = "3"

    def made(self) -> list[Any]:
        return [{"number": number} for number in range(int(self.items))]


class Talks(Told):
    """Says `lines` numbered lines, `burst` at a time with a pause of `pause` seconds between; then it waits.

    With `portions` it also waits between them, for the files `until`-1, `until`-2 and so on.
    """

    name = "talks"
    lines = "1000"
    burst = "1000"
    pause = "0"
    portions = "1"
    text = "line"

    async def start(self) -> AsyncIterator[Any]:
        portion = int(self.lines) // int(self.portions)
        for number in range(1, int(self.lines) + 1):
            self.logger.info("%s %d", self.text, number)
            if number % portion == 0 and number < int(self.lines):
                await self.waited(f"-{number // portion}")
            if number % int(self.burst) == 0:
                await asyncio.sleep(float(self.pause))
        await self.waited()
        for item in self.made():
            yield item


class Raises(Told):
    """Breaks before its first page."""

    name = "raises"

    async def start(self) -> AsyncIterator[Any]:
        await self.waited()
        for item in [{"number": 0}]:
            yield item
        raise RuntimeError("the spider broke on purpose")


class Stumbles(Told):
    """Logs `errors` errors and ends well."""

    name = "stumbles"
    errors = "2"

    def made(self) -> list[Any]:
        for number in range(int(self.errors)):
            self.logger.error("stumbled %d", number)
        return [{"number": 0}]


class Dies(Told):
    """Is ended by the system in mid-crawl, without a word."""

    name = "dies"

    async def start(self) -> AsyncIterator[Any]:
        for item in [{"number": 0}]:
            yield item
        await self.waited()
        os.kill(os.getpid(), signal.SIGKILL)


class Deaf(Told):
    """Ignores a polite request to stop."""

    name = "deaf"

    async def start(self) -> AsyncIterator[Any]:
        for name in ("SIGINT", "SIGTERM"):
            with contextlib.suppress(ValueError):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
        self.logger.info("I hear nothing")
        await self.waited()
        for item in self.made():
            yield item
