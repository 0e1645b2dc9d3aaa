"""Settings of article fetching."""

from __future__ import annotations

from dataclasses import dataclass, field

from foliot.config import parse as reading
from foliot.config.field import about


@dataclass(frozen=True, kw_only=True, repr=False)
class ArticleSettings:
    """Settings of article fetching."""

    article_cache_ttl: float = field(
        default=86_400.0,
        metadata=about(
            "How old, in seconds, a page may be to be reused without fetching it, unless the job says otherwise.",
            "FOLIOT_ARTICLE_CACHE_TTL",
            "ARTICLE_CACHE_TTL",
            read=reading.seconds(0, 365 * 24 * 3600),
        ),
    )
    scrape_timeout: float = field(
        default=30.0,
        metadata=about(
            "How many seconds one fetch of an article may take, redirects included.",
            "FOLIOT_SCRAPE_TIMEOUT",
            "SCRAPE_TIMEOUT",
            read=reading.seconds(1, 600),
        ),
    )
    scrape_attempts: int = field(
        default=3,
        metadata=about(
            "How often an article is tried before it counts as failed.",
            "FOLIOT_MAX_RETRY_ATTEMPTS",
            "MAX_RETRY_ATTEMPTS",
            read=reading.whole(1, 100),
        ),
    )
    scrape_concurrency: int = field(
        default=32,
        metadata=about(
            "How many articles one process fetches at once.", "FOLIOT_SCRAPE_CONCURRENCY", read=reading.whole(1, 1000)
        ),
    )
    host_rate: float = field(
        default=10.0,
        metadata=about(
            "Requests a second to one host, at most, by all processes and tenants together; 0: no limit. "
            "A crawl delay in its robots.txt, and a 429 or 503, make it slower.",
            "FOLIOT_HOST_RATE",
            read=reading.seconds(0, 10_000),
        ),
    )
    host_concurrency: int = field(
        default=8,
        metadata=about(
            "Concurrent requests to one host, at most, by all processes and tenants together.",
            "FOLIOT_HOST_CONCURRENCY",
            read=reading.whole(1, 1000),
        ),
    )
