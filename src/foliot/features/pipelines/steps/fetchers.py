"""HttpFetcher: fetches URLs concurrently, in order; the base of all fetching transforms."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PrivateAttr

from foliot.features.fetching.browser_actions import check_actions, read_actions
from foliot.features.fetching.model import FetchOptions, Render, Robots, check_kept, kept_for
from foliot.features.fetching.page_session import check_session
from foliot.features.pipelines.chain.context import Confidential, StepContext, Transform
from foliot.features.pipelines.chain.fetch import LARGEST, Fetched, FetchFailed
from foliot.features.pipelines.model import Item, Unreadable
from foliot.features.pipelines.steps.filters import MISSING, Name, Seconds, Urls, Workers, ahead, reach, sources
from foliot.pages.charset import text_of_body, valid_utf8


class FetchTransform(Transform):
    """Base of transforms that fetch: URLs, concurrency, delay per host."""

    urls: Urls = Field(default_factory=list)
    """Fetched first."""
    url_field: Name = "url"
    """The field with the URL in items of the step before."""
    headers: dict[str, Confidential] = Field(default_factory=dict, max_length=50)
    timeout_seconds: Seconds = 30.0
    concurrency: Workers = 4
    """Maximum concurrent requests; results keep their order."""
    delay_seconds: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """Seconds between the starts of two requests to the same host, beside the limits that hold for all callers."""
    render: Render | None = None
    """Whether a browser renders the pages: never, auto or always."""
    robots: Robots | None = None
    """`ignore` fetches pages that robots.txt disallows."""
    keep_pages: Annotated[str, AfterValidator(check_kept)] | None = None
    """How long the pages are stored as they came, such as 30d."""
    browser: Annotated[dict[str, Any], AfterValidator(check_actions)] | None = None
    """What a browser does with the pages it renders: wait_for, scroll, steps, load."""
    session: Annotated[str, AfterValidator(check_session)] | None = None
    """Name of the session whose cookies the pages are fetched with, and that keeps those that they set."""
    _turns: dict[str, float] = PrivateAttr(default_factory=dict)
    """When the next request to each host may start."""

    async def get(self, item: Item, ctx: StepContext, accept: str, most: int = LARGEST) -> Fetched | None:
        """Fetches the item's URL; None for a failed item, which is counted."""
        url = reach(item, self.url_field)
        if url is MISSING or not isinstance(url, str) or not url.strip():
            ctx.fail(item, f"has no URL in its field {self.url_field!r}", permanent=True)
            return None
        await self._turn(url)
        headers = {"Accept": accept} | {name: await ctx.reveal(value) for name, value in self.headers.items()}
        try:
            fetched = await ctx.fetch_page(
                url.strip(), headers=headers, timeout=self.timeout_seconds, most=most, options=self._options
            )
        except FetchFailed as failed:
            ctx.fail(item, str(failed), permanent=failed.permanent)
            return None
        if not fetched.ok:
            ctx.fail(item, f"the server answered {fetched.status}", permanent=not fetched.passing)
            return None
        if fetched.truncated:
            ctx.fail(item, f"the answer has more than {most // 1024 // 1024} MiB", permanent=True)
            return None
        return fetched

    @property
    def _options(self) -> FetchOptions:
        keep = kept_for(self.keep_pages)
        browser = None if self.browser is None else read_actions("browser", self.browser)
        return FetchOptions(render=self.render, robots=self.robots, keep=keep, browser=browser, session=self.session)

    async def _turn(self, url: str) -> None:
        if self.delay_seconds:
            host = url.partition("://")[2].partition("/")[0]
            now = asyncio.get_running_loop().time()
            at = max(now, self._turns.get(host, now))
            self._turns[host] = at + self.delay_seconds
            await asyncio.sleep(at - now)


class HttpFetcher(FetchTransform):
    """Fetches URLs: those of `urls`, then that of every item. The answer is in `body`, as text.

    Adds `url` (after redirects), `status`, `content_type` and `body` to the item.
    """

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        async def work(item: Item) -> Item | None:
            fetched = await self.get(item, ctx, "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5")
            if fetched is None:
                return None
            kind = fetched.headers.get("content-type", "")
            body = valid_utf8(fetched.body)
            if body is None:
                try:
                    body = (await ctx.apart(text_of_body, fetched.body, content_type=kind))["text"]
                except Unreadable as why:
                    ctx.fail(item, str(why))
                    return None
            return {**item, "url": fetched.url, "status": fetched.status, "content_type": kind, "body": body}

        async with aclosing(ahead(sources(self.urls, items, self.url_field), work, self.concurrency)) as answers:
            async for made in answers:
                if made is not None:
                    yield made
