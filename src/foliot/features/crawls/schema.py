"""Requests and answers of crawls, as OpenAPI describes them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, with_config
from typing_extensions import TypedDict

from foliot.servers.http.schema import CLOSED, Priority, declared


@declared(example={"spider": "seo", "start_urls": ["https://example.com"], "depth": 2, "params": {"lang": "en"}})
class NewCrawl:
    """A crawl: now, once at a given time, or repeatedly."""

    user_id: Annotated[str | None, Field(max_length=200)] = None
    """User the crawl is for; by default the caller."""
    spider: str
    start_urls: list[str] | None = None
    """Where the spider begins; by default its own start URLs."""
    depth: int | None = None
    schedule_at: datetime | None = None
    """Crawl once at this time; an offset is required."""
    interval: Annotated[str | int | dict[str, int] | None, Field(examples=["0 9 * * *", "4h"])] = None
    """Crawl repeatedly: a cron expression, a number of seconds, or an object such as `{"hours": 4}`."""
    timezone: str | None = None
    """The zone of `interval`."""
    ignore_cache: bool | None = False
    """Start a new crawl even if an equal request was made recently; also passed to the spider."""
    params: dict[str, Any] | None = None
    """Arguments of the spider."""
    priority: Priority | None = 5
    project: str | None = None
    min_items: int | None = None
    max_errors: int | None = None


@declared
class FreshCrawl:
    """A new crawl."""

    job_id: str
    scheduled: Literal[False]
    cached: Literal[False]
    logs_url: str
    status_url: str


@declared
class CachedCrawl:
    """The job of an equal earlier request."""

    job_id: str
    scheduled: Literal[False]
    cached: Literal[True]
    cached_at: datetime


@with_config(CLOSED)
class PlannedCrawl(TypedDict):
    """A schedule; `cached` and `cached_at` are present when an equal earlier request created it."""

    job_id: str
    scheduled: Literal[True]
    next_run: datetime | None
    cached: NotRequired[Literal[True]]
    cached_at: NotRequired[datetime | None]
