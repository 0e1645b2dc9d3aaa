"""What search engines see of a site."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

import scrapy
from scrapy import Request
from scrapy.http import HtmlResponse, Response

HEADINGS = ("h1", "h2", "h3")
DEPTH = 2


class SeoSpider(scrapy.Spider):
    """Walks the sites of its `start_urls`, `depth` links deep, and brings one item per page.

    Arguments it does not know become its attributes and do no harm.
    """

    name = "seo"
    # A page that is missing, or that breaks, is what this is about.
    custom_settings = {"HTTPERROR_ALLOW_ALL": True}  # noqa: RUF012 -- Scrapy's way

    def __init__(self, start_urls: str = "", depth: str = str(DEPTH), **others: str) -> None:
        super().__init__(**others)
        self.start_urls = [url.strip() for url in start_urls.split(",") if url.strip()]
        self.depth = _depth(depth)
        self.sites = {_site(url) for url in self.start_urls}

    async def start(self) -> AsyncIterator[Request]:
        """Like any other link, so that one that leads back here is known already."""
        for url in self.start_urls:
            yield Request(url, callback=self.parse)

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        # A start page may move the whole site, as from http to https or to www.
        if response.meta.get("depth", 0) == 0:
            self.sites.add(_site(response.url))
        if _site(response.url) not in self.sites:
            return
        if not isinstance(response, HtmlResponse):
            yield {"url": response.url, "status": response.status, "depth": response.meta.get("depth", 0)}
            return
        links = list(dict.fromkeys(_links(response)))
        internal = [link for link in links if _site(link) in self.sites]
        yield self.page(response, internal, external=[link for link in links if _site(link) not in self.sites])
        if response.status < 400 and response.meta.get("depth", 0) < self.depth:
            for link in internal:
                yield Request(link, callback=self.parse)

    def page(self, response: HtmlResponse, internal: list[str], external: list[str]) -> dict[str, Any]:
        return {
            "url": response.url,
            "status": response.status,
            "depth": response.meta.get("depth", 0),
            "redirected_from": response.meta.get("redirect_urls", []),
            "title": _text(response, "//head/title"),
            "description": _meta(response, "description"),
            "robots": _meta(response, "robots"),
            "canonical": _absolute(response, "//link[translate(@rel, 'CANOIL', 'canoil') = 'canonical']/@href"),
            "headings": {name: _texts(response, f"//{name}") for name in HEADINGS},
            "links": {"internal": internal, "external": external},
            "cached": "cached" in response.flags,
        }


def _depth(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"depth: must be a whole number, 0 or more, got {text!r}")
    return int(text)


def _site(url: str) -> str:
    """Host and port: what makes two pages neighbours."""
    return urlsplit(url).netloc.lower().removeprefix("www.")


def _links(response: HtmlResponse) -> Iterator[str]:
    """Where the page's links lead, without fragments; what is no web address is left out."""
    base = response.xpath("//base/@href").get()
    start = urljoin(response.url, base) if base else response.url
    for href in response.xpath("//a/@href").getall():
        try:
            url = urlsplit(urljoin(start, href.strip()))
        except ValueError:
            continue
        if url.scheme in ("http", "https") and url.netloc:
            yield url._replace(fragment="").geturl()


def _meta(response: HtmlResponse, name: str) -> str | None:
    lower = "translate(@name, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')"
    found = response.xpath(f"//meta[{lower} = $name]/@content", name=name).get()
    return " ".join(found.split()) if found else None


def _absolute(response: HtmlResponse, path: str) -> str | None:
    found = response.xpath(path).get()
    try:
        return urljoin(response.url, found.strip()) if found else None
    except ValueError:
        return None


def _text(response: HtmlResponse, path: str) -> str | None:
    return next(iter(_texts(response, path)), None)


def _texts(response: HtmlResponse, path: str) -> list[str]:
    """With what is nested inside, and white space as a reader sees it."""
    found = (" ".join(node.xpath("string()").get(default="").split()) for node in response.xpath(path))
    return [text for text in found if text]
