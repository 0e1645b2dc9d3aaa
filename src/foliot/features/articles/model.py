"""Articles, items and batches: their states, and the data between the store, the fetcher and the scraper."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from foliot.engine.model.run import DEFAULT_PRIORITY, AttemptError, Cancelled, Failed, Fence, RunState, Succeeded
from foliot.engine.model.views import AttemptEnding, ClaimedRun
from foliot.features.fetching.model import (
    DEFAULT_OPTIONS,
    NO_NEWS,
    FetchFailure,
    FetchOptions,
    HostUpdate,
    PageMoved,
    PageUnchanged,
    RobotsRules,
    host_of,
)

KIND = "articles"
QUEUE = "scraping"
"""The queue of articles, whatever the queue of their jobs."""

MOST_ARTICLES = 10_000
"""Maximum of one job."""


class ArticleStatus(StrEnum):
    """State of a page, for all jobs."""

    PENDING = "pending"
    SCRAPING = "scraping"
    SCRAPED = "scraped"
    FAILED = "failed"


class ItemState(StrEnum):
    """State of one article in one job."""

    PENDING = "pending"
    DONE = "done"
    CACHED = "cached"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleCounts:
    """Counters of a job: its items by state."""

    total: int = 0
    cached: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0

    @property
    def completed(self) -> int:
        return self.cached + self.done

    @property
    def pending(self) -> int:
        return self.total - self.completed - self.failed - self.cancelled

    def after(self, state: ItemState) -> ArticleCounts:
        """The counters after one more item has left `pending` for this state."""
        return replace(self, **{state.value: getattr(self, state.value) + 1})


def verdict(counts: ArticleCounts) -> Succeeded | Failed | Cancelled | None:
    """The outcome of a batch; None while items are pending."""
    if counts.pending:
        return None
    if counts.cancelled:
        return Cancelled("cancelled on request")
    result = {"total": counts.total, "completed": counts.completed, "cached": counts.cached, "failed": counts.failed}
    if counts.failed and not counts.completed:
        said = f"None of the {counts.total:,} articles could be read."
        return Failed(AttemptError("no_article_read", said), permanent=True, response=result)
    return Succeeded(result=result, partial=counts.failed > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedArticle:
    """One article that a job asks for."""

    url: str
    """Normalised: two spellings of one page are one article."""
    url_hash: str
    host: str
    source: str = ""
    category: str = ""
    priority: int = DEFAULT_PRIORITY

    @classmethod
    def of(cls, article: Mapping[str, Any]) -> WantedArticle:
        """From the stored configuration, whose URL is normalised."""
        url = str(article["url"])
        return cls(
            url=url,
            url_hash=hashlib.sha256(url.encode()).hexdigest(),
            host=host_of(url),
            source=article.get("source") or "",
            category=article.get("category") or "",
            priority=article.get("priority") or DEFAULT_PRIORITY,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedArticle:
    """An article that an attempt holds the lease of, with the start time that its host allows."""

    fence: Fence
    """Its `run_id` is the article's id."""
    tenant_id: str
    url: str
    host: str
    attempt: int
    start_at: datetime
    """The request must not start before this moment."""
    latest_at: datetime | None = None
    """Nor after this one: later start times are allocated to other requests."""
    etag: str | None = None
    last_modified: str | None = None
    robots: str | None = None
    """The stored robots.txt of the host; None before the first request for it."""
    moves: int = 0
    """How many redirects were followed; `url` and `host` are those of the last."""
    robots_due: bool = False
    """This claim is for robots.txt; the page is fetched by a later one."""
    slowed: bool = False
    """The host has answered 429 or 503, and its interval is longer than the default since."""
    options: FetchOptions = DEFAULT_OPTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedPage:
    """Title, text and metadata of a page, and its validators for conditional requests."""

    title: str | None = None
    content: str | None = None
    author: str | None = None
    published_at: str | None = None
    language: str | None = None
    canonical_url: str | None = None
    image: str | None = None
    rendered: bool | None = None
    """True: as a browser rendered it."""
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchEnding:
    """The end of an attempt at an article, to be stored: a page, unchanged, a problem, or handed back."""

    fence: Fence
    host: str
    at: datetime
    tenant_id: str = ""
    """The tenant whose request led to `news`; empty when it is about the host itself."""
    page: ExtractedPage | None = None
    unchanged: bool = False
    """The page has not changed (304)."""
    problem: AttemptError | None = None
    retry_at: datetime | None = None
    """When to retry; None for no retry."""
    handed_back: bool = False
    """No result: the article returns to the queue, and the attempt does not count."""
    moved_to: str | None = None
    """Target of a redirect; with `handed_back`, because the next request needs a claim for that host."""
    lost: bool = False
    """Written by the process that reclaimed an expired lease; clears the token, which fences the lost attempt."""
    news: HostUpdate = NO_NEWS


@dataclass(frozen=True, slots=True)
class EndedBatches:
    """Runs of batches that a transaction ended, as stored; to be counted after the commit."""

    runs: Sequence[tuple[ClaimedRun, AttemptEnding, RunState]] = ()
    released: int = 0
    """How many buffered runs were queued because these ended."""


@dataclass(frozen=True, slots=True)
class EndingsEffect:
    """What writing a group of endings changed."""

    accepted: frozenset[str] = frozenset()
    jobs: Sequence[str] = ()
    """Jobs whose counters changed."""
    finished: Sequence[str] = ()
    """Those of them without pending items."""
    later: Sequence[datetime] = ()
    """When articles are retried."""
    ended: EndedBatches = EndedBatches()
    """The runs of the finished jobs, which ended in the same transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """One article of one job, as the API shows it."""

    article_id: str
    position: int
    url: str
    source: str
    category: str
    priority: int
    state: ItemState
    at: datetime | None
    error: Mapping[str, Any] | None
    page: ExtractedPage
    scraped_at: datetime | None
    previous_scraped_at: datetime | None
    """When the version before the last change was last read; None when no change is known."""
    reference_count: int = 0
    """How many jobs have referred to it."""
    retry_count: int = 0
    """How often it was retried, over all jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousContent:
    """Title and text of a page before its last change."""

    title: str | None
    content: str | None
    scraped_at: datetime


@dataclass(frozen=True, slots=True)
class ChangeCursor:
    """A position in the order of `updated_at` and id."""

    at: datetime
    article_id: str = ""


@dataclass(frozen=True, slots=True)
class ChangedArticle:
    """A scraped article: its cursor, and when it was scraped."""

    mark: ChangeCursor
    scraped_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleView:
    """A scraped article, independent of the jobs that refer to it."""

    id: str
    tenant_id: str
    url: str
    host: str
    page: ExtractedPage
    scraped_at: datetime
    reference_count: int
    retry_count: int
    created_at: datetime
    updated_at: datetime


Avoid = Callable[[str, str], bool]
"""Called with a tenant and a host: whether not to claim its articles now."""


class Scraper(Protocol):
    """Fetches robots.txt and pages, and extracts articles."""

    async def robots(self, taken: ClaimedArticle) -> RobotsRules | FetchFailure:
        """Fetches robots.txt of this article's host; a host without one allows everything."""
        ...

    async def scrape(self, taken: ClaimedArticle) -> ExtractedPage | PageUnchanged | PageMoved | FetchFailure:
        """Fetches the page, if robots.txt allows it, and extracts the article."""
        ...
