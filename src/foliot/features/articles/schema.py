"""Requests and answers of articles, as OpenAPI describes them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from foliot.core.declaration import declared


@declared
class ArticleJob:
    """A job that was accepted."""

    job_id: str
    status: Annotated[str, Field(examples=["IN_PROGRESS"])]
    total_articles: int
    new_articles: int
    cached_articles: int
    message: str


@declared
class ArticleResult:
    """A page that was read."""

    article_id: str
    url: str
    source: str
    category: str
    title: str | None
    content: str | None
    author: str | None
    published_at: str | None
    language: str | None
    canonical_url: str | None
    image: str | None
    rendered: bool
    """Whether a browser rendered the page."""
    scraped_at: datetime | None
    cached: bool
    reference_count: Annotated[int, Field(description="How many jobs have requested the page.")]
    retry_count: Annotated[int, Field(description="How often it was retried, for any job.")]
    previous_scraped_at: Annotated[
        datetime | None,
        Field(description="When the version before the last change was last fetched; null when no change is known."),
    ]


@declared
class PreviousVersion:
    """What a page said before it changed."""

    title: str | None
    content: str | None
    scraped_at: datetime


@declared
class ArticleDetail(ArticleResult):
    """A page that was read, and what it said before."""

    previous: PreviousVersion | None


@declared
class FailedArticle:
    """A page that could not be read, and why."""

    article_id: str
    url: str
    error: str
    code: str | None
    attempted_at: datetime | None
    reference_count: int
    retry_count: int


@declared
class ArticleResults:
    """What came of a job's articles so far."""

    job_id: str
    status: str
    total_articles: int
    successful: int
    failed: int
    cancelled: int
    results: list[ArticleResult]
    failed_articles: list[FailedArticle]
