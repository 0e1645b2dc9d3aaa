"""Settings of Scrapyd: the nodes that run crawls, and how they are polled."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from foliot.config import parse as reading
from foliot.config.field import about
from foliot.config.parse import SecretValue

_RULE = (
    "must be the URL of a Scrapyd, such as http://scrapyd:6800 or https://user:password@scrapyd.internal, or several "
    "separated by commas, with / : @ # , and ? in a password percent-encoded"
)
_PROJECT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def scrapyd_urls(text: str) -> tuple[SecretValue, ...]:
    """The nodes without duplicates, in the order given."""
    urls = [_one(part) for part in reading.entries(text)]
    if not urls:
        raise ValueError(_RULE)
    places = [url.rpartition("@")[2].rpartition("://")[2].lower() for url in urls]
    if len(set(places)) < len(places):
        raise ValueError("must name each Scrapyd once")
    return tuple(SecretValue(url) for url in urls)


def _one(text: str) -> str:
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(_RULE) from None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise ValueError(_RULE)
    if not text.isprintable() or " " in text or parts.path.count("@"):
        raise ValueError(_RULE)
    return text.rstrip("/")


def project(text: str) -> str:
    if not _PROJECT.fullmatch(text):
        raise ValueError("must be the name of a Scrapy project: at most 100 letters, digits, '_', '.' and '-'")
    return text


@dataclass(frozen=True, kw_only=True, repr=False)
class ScrapydSettings:
    """Settings of Scrapyd."""

    scrapyd_urls: tuple[SecretValue, ...] = field(
        default=(),
        metadata=about(
            "The Scrapyd nodes on which crawls run, separated by commas: `http://host:6800`, with `user:password@` "
            "where they ask for it. The least loaded gets the next crawl. Default: none, and no crawl is accepted.",
            "FOLIOT_SCRAPYD_URL",
            "SCRAPYD_URL",
            read=scrapyd_urls,
            secret=True,
        ),
    )
    scrapyd_project: str = field(
        default="DiscoveryBot",
        metadata=about(
            "The Scrapy project of crawls that name none.",
            "FOLIOT_SCRAPYD_PROJECT",
            "SCRAPYD_PROJECT",
            read=project,
        ),
    )
    crawl_cache_ttl: float = field(
        default=3600.0,
        metadata=about(
            "For how many seconds an identical request for a crawl returns the existing crawl; 0: never.",
            "FOLIOT_CRAWL_CACHE_TTL",
            "CRAWL_CACHE_TTL",
            read=reading.seconds(0, 365 * 24 * 3600),
        ),
    )
    crawl_poll_seconds: float = field(
        default=2.0,
        metadata=about(
            "Seconds between two polls of a crawl; up to five times as many while it logs nothing new.",
            "FOLIOT_CRAWL_POLL_SECONDS",
            read=reading.seconds(0.05, 60),
        ),
    )
    crawl_lost_seconds: float = field(
        default=90.0,
        metadata=about(
            "A crawl counts as lost, and is tried again, when its Scrapyd has not answered for this many seconds, or "
            "no longer knows it while its log does not grow.",
            "FOLIOT_CRAWL_LOST_SECONDS",
            read=reading.seconds(1, 24 * 3600),
        ),
    )
