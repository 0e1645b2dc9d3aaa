"""Requests and answers of crawls."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, with_config
from typing_extensions import TypedDict

from foliot.servers.http.schema import CLOSED, Priority, declared


@declared(example={"spider": "seo", "start_urls": ["https://example.com"], "depth": 2, "params": {"lang": "en"}})
class NewCrawl:
    """A crawl: now, at a moment, or in a rhythm."""

    user_id: Annotated[str | None, Field(max_length=200)] = None
    """Whom the crawl is for; whoever asks, when it is not given."""
    spider: str
    start_urls: list[str] | None = None
    """Where the spider begins; without any it must know by itself."""
    depth: int | None = None
    schedule_at: datetime | None = None
    """Crawl once, then; an offset is required."""
    interval: Annotated[str | int | dict[str, int] | None, Field(examples=["0 9 * * *", "4h"])] = None
    """Crawl again and again: a cron expression, a number of seconds, or an object such as `{"hours": 4}`."""
    timezone: str | None = None
    """The zone of `interval`."""
    ignore_cache: bool | None = False
    """A new crawl even if the same was asked for a moment ago; the spider is told so too."""
    params: dict[str, Any] | None = None
    """Arguments of the spider."""
    priority: Priority | None = 5
    project: str | None = None
    min_items: int | None = None
    max_errors: int | None = None


@declared
class FreshCrawl:
    """A crawl that was not asked for before."""

    job_id: str
    scheduled: Literal[False]
    cached: Literal[False]
    logs_url: str
    status_url: str


@declared
class CachedCrawl:
    """The job that the same request was given."""

    job_id: str
    scheduled: Literal[False]
    cached: Literal[True]
    cached_at: datetime


@with_config(CLOSED)
class PlannedCrawl(TypedDict):
    """A schedule; `cached` and `cached_at` are there when the same request had made it before."""

    job_id: str
    scheduled: Literal[True]
    next_run: datetime | None
    cached: NotRequired[Literal[True]]
    cached_at: NotRequired[datetime | None]
