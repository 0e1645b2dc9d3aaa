"""FeedFetcher and SitemapFetcher: one item per entry of a feed, or per page of a sitemap."""

from __future__ import annotations

import calendar
import io
import zlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urljoin

from pydantic import Field

from foliot.core.document import rfc3339
from foliot.features.pipelines.chain.context import StepContext
from foliot.features.pipelines.model import Item, Unreadable
from foliot.features.pipelines.steps.fetchers import FetchTransform
from foliot.features.pipelines.steps.filters import BUDGET, ahead, sources, within

MOST_ENTRIES = 10_000
"""Maximum entries of one feed."""
MOST_TEXT = 200_000
ACCEPT = "application/atom+xml,application/rss+xml,application/xml;q=0.9,*/*;q=0.1"


class FeedFetcher(FetchTransform):
    """Fetches RSS and Atom feeds, and makes an item of every entry, in the order of the feed.

    An item has `url`, `title`, `id`, `summary`, `content`, `author`, `published_at`, `updated_at`, `tags`, `feed_url`
    and `feed_title`; missing values are null.
    """

    limit: Annotated[int, Field(ge=1, le=MOST_ENTRIES)] = MOST_ENTRIES
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
                ctx.fail(item, f"this is not a feed: {read['error']}", permanent=True)
                return []
            ctx.log(f"{fetched.url}: {len(read['entries'])} entries")
            if read["over"]:
                ctx.log(f"{fetched.url}: the feed is too large; its remaining entries are left out", "warning")
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
        return {"error": str(wrong)[:200] if wrong is not None else "it has no RSS or Atom entries", "entries": []}
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


LARGEST = 30 * 1024 * 1024
"""Maximum bytes of a sitemap, compressed and uncompressed; the protocol allows 50 MiB, which is hardly ever used."""
MOST_PAGES = 50_000
"""Maximum URLs of one sitemap, by the protocol."""
DEEPEST = 3
MOST_SITEMAPS = 1000
PART = 5000
"""Maximum URLs in one answer of the separate process."""
LONGEST = 2048
_GZIP = b"\x1f\x8b"
_WORDS = ("lastmod", "changefreq", "priority")


class SitemapFetcher(FetchTransform):
    """Fetches sitemaps, also those that an index of sitemaps names, and makes an item of every page.

    An item has `url`, `lastmod`, `changefreq`, `priority` and `sitemap`. Plain text and gzip are understood.
    """

    limit: Annotated[int, Field(ge=1, le=10_000_000)] = 1_000_000
    """How many pages are taken in all."""

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        given = 0
        async with aclosing(self._all(items, ctx)) as pages:
            async for page in pages:
                yield page
                given += 1
                if given >= self.limit:
                    ctx.log(f"stopped at its limit of {self.limit:,} pages", "warning")
                    return

    async def _all(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncGenerator[Item]:
        """Fetches one sitemap after the other, and yields their pages."""
        seen: set[str] = set()
        async with aclosing(sources(self.urls, items, self.url_field)) as asked:
            async for item in asked:
                waiting = deque([(item, 0)])
                while waiting:
                    one, depth = waiting.popleft()
                    async with aclosing(self._read(one, ctx)) as parts:
                        async for part in parts:
                            for page in part["pages"]:
                                yield page
                            if depth < DEEPEST:
                                new = [url for url in dict.fromkeys(part["sitemaps"]) if url not in seen]
                                new = new[: MOST_SITEMAPS - len(seen)]
                                seen.update(new)
                                waiting.extend(({self.url_field: url}, depth + 1) for url in new)

    async def _read(self, item: Item, ctx: StepContext) -> AsyncGenerator[dict[str, Any]]:
        """The entries of one sitemap, parsed in parts."""
        fetched = await self.get(item, ctx, "application/xml,text/xml;q=0.9,text/plain;q=0.5,*/*;q=0.1", LARGEST)
        at: int | None = 0 if fetched is not None else None
        while fetched is not None and at is not None:
            try:
                found = await ctx.apart(read_sitemap, fetched.body, url=fetched.url, start=at)
            except Unreadable as wrong:
                ctx.fail(item, f"the sitemap cannot be read: {wrong}", permanent=True)
                return
            if found["error"] is not None:
                ctx.fail(item, f"this is not a sitemap: {found['error']}", permanent=True)
                return
            yield found
            at = found["next"]


def read_sitemap(body: bytes, url: str, start: int = 0) -> dict[str, Any]:
    """The pages and sitemaps that a sitemap lists, from `start` on, as JSON. Runs in a separate process."""
    plain = _unpacked(body)
    if plain is None:
        return _wrong(f"it has more than {LARGEST // 1024 // 1024} MiB, or is not gzip")
    is_xml = plain.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")
    found = _document(plain) if is_xml else _lines(plain)
    if isinstance(found, str):
        return _wrong(found)
    kind, entries = found
    part = entries[start : start + PART]
    after = start + PART if start + PART < len(entries) else None
    pages = [_page(words, url) for words in part] if kind == "urlset" else []
    sitemaps = [] if kind == "urlset" else [place for words in part if (place := _joined(url, words["loc"]))]
    return {"error": None, "pages": pages, "sitemaps": sitemaps, "next": after}


def _unpacked(body: bytes) -> bytes | None:
    if not body.startswith(_GZIP):
        return body
    try:
        plain = zlib.decompressobj(wbits=31).decompress(body, LARGEST + 1)
    except zlib.error:
        return None
    return plain if len(plain) <= LARGEST else None


Entries = tuple[str, list[dict[str, str]]]
"""The name of the root element, and the values of each entry."""


def _lines(plain: bytes) -> Entries | str:
    found = [line.strip() for line in plain.decode("utf-8", "replace").replace("\x00", "").splitlines()[:MOST_PAGES]]
    pages = [{"loc": line} for line in found if line.startswith(("http://", "https://")) and len(line) <= LONGEST]
    return ("urlset", pages) if pages else "it is neither XML nor a list of URLs"


def _document(plain: bytes) -> Entries | str:
    from lxml import etree

    # No external entity is fetched, and none is expanded (XXE).
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False, recover=True)
    try:
        root = etree.fromstring(plain, parser)
    except (etree.LxmlError, ValueError) as wrong:
        return str(wrong)[:200]
    kind = "" if root is None else _local(root)
    if kind not in ("urlset", "sitemapindex"):
        return "its root is neither urlset nor sitemapindex"
    words = [{_local(child): (child.text or "").strip()[: LONGEST + 1] for child in each} for each in root[:MOST_PAGES]]
    return kind, [one for one in words if 0 < len(one.get("loc", "")) <= LONGEST]


def _page(words: dict[str, str], sitemap: str) -> dict[str, Any]:
    said = {word: words.get(word) or None for word in _WORDS}
    return {"url": _joined(sitemap, words["loc"]) or words["loc"], **said, "sitemap": sitemap}


def _joined(base: str, place: str) -> str | None:
    try:
        return urljoin(base, place)
    except ValueError:
        return None


def _local(element: Any) -> str:
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def _wrong(why: str) -> dict[str, Any]:
    return {"error": why, "pages": [], "sitemaps": [], "next": None}
