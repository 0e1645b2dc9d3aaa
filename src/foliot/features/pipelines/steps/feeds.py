"""FeedFetcher: fetches RSS and Atom feeds, one item per entry."""

from __future__ import annotations

import calendar
import io
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urljoin

from pydantic import Field

from foliot.core.document import rfc3339
from foliot.features.pipelines.chain.context import StepContext
from foliot.features.pipelines.model.definition import Item
from foliot.features.pipelines.model.ports import Unreadable
from foliot.features.pipelines.steps.fetchers import FetchTransform
from foliot.features.pipelines.steps.item_fields import BUDGET, ahead, sources, within

MOST = 10_000
"""Maximum entries of one feed."""
MOST_TEXT = 200_000
ACCEPT = "application/atom+xml,application/rss+xml,application/xml;q=0.9,*/*;q=0.1"


class FeedFetcher(FetchTransform):
    """Fetches RSS and Atom feeds, and makes an item of every entry, in the order of the feed.

    An item has `url`, `title`, `id`, `summary`, `content`, `author`, `published_at`, `updated_at`, `tags`, `feed_url`
    and `feed_title`; missing values are null.
    """

    limit: Annotated[int, Field(ge=1, le=MOST)] = MOST
    """How many entries of each feed are taken, from its top."""

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        async def work(item: Item) -> list[Item]:
            fetched = await self.get(item, ctx, ACCEPT)
            if fetched is None:
                return []
            kind = fetched.headers.get("content-type", "")
            try:
                read = await ctx.apart(read_feed, fetched.body, content_type=kind, url=fetched.url, limit=self.limit)
            except Unreadable as wrong:
                ctx.fail(item, f"the feed cannot be read: {wrong}", permanent=True)
                return []
            if read["error"] is not None:
                ctx.fail(item, f"this is no feed: {read['error']}", permanent=True)
                return []
            ctx.log(f"{fetched.url}: {len(read['entries'])} entries")
            if read["over"]:
                ctx.log(f"{fetched.url}: the feed is too large; the rest of its entries is left out", "warning")
            return list(read["entries"])

        async with aclosing(ahead(sources(self.urls, items, self.url_field), work, self.concurrency)) as feeds:
            async for entries in feeds:
                for entry in entries:
                    yield entry


def read_feed(body: bytes, content_type: str, url: str, limit: int) -> dict[str, Any]:
    """Parses a feed; returns its entries as JSON. Runs in a separate process."""
    import feedparser

    # As a stream: feedparser would open a string that looks like a path or a URL.
    read: Any = feedparser.parse(
        io.BytesIO(body), response_headers={"content-type": content_type, "content-location": url}
    )
    if not read.get("version") and not read.entries:
        wrong = read.get("bozo_exception")
        return {"error": str(wrong)[:200] if wrong is not None else "it has no entries of RSS or Atom", "entries": []}
    title = _text(read.feed.get("title"))
    kept, over = within((_entry(one, url, title) for one in read.entries[:limit]), BUDGET)
    return {"error": None, "entries": kept, "over": over}


def _entry(one: Any, feed: str, title: str | None) -> dict[str, Any]:
    content = one.get("content") or []
    return {
        "url": _link(one, feed),
        "title": _text(one.get("title")),
        "id": _text(one.get("id")) or _link(one, feed),
        "summary": _text(one.get("summary")),
        "content": _text(content[0].get("value")) if content else None,
        "author": _text(one.get("author")),
        "published_at": _moment(one.get("published_parsed")),
        # By `dict.get`: feedparser's own lookup would fall back to the date of publication.
        "updated_at": _moment(dict.get(one, "updated_parsed")),
        "tags": [term for tag in one.get("tags") or [] if (term := _text(tag.get("term")))],
        "feed_url": feed,
        "feed_title": title,
    }


def _link(one: Any, feed: str) -> str | None:
    link = one.get("link")
    try:
        return _text(urljoin(feed, link)) if link else None
    except ValueError:
        return None


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return value.replace("\x00", "").encode("utf-8", "replace").decode()[:MOST_TEXT].strip() or None


def _moment(parsed: Any) -> str | None:
    """A date of the feed in UTC, ISO 8601."""
    try:
        return None if parsed is None else rfc3339(datetime.fromtimestamp(calendar.timegm(parsed), UTC))
    except (ValueError, OverflowError, OSError, TypeError):
        return None
