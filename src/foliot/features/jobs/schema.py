"""The shapes of requests and answers about crawls and jobs, for OpenAPI and for whoever generates a client."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from foliot.engine.model.run import RunState
from foliot.features.jobs.usecases import ArticleJobStatus, JobStatus
from foliot.servers.http.bodies import Model, Priority
from foliot.servers.http.models import Failure


class CrawlRequest(Model):
    """A crawl: now, at a moment, or in a rhythm."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"spider": "seo", "start_urls": ["https://example.com"], "depth": 2, "params": {"lang": "en"}}
        }
    )

    user_id: str | None = Field(None, max_length=200)
    """Whom the crawl is for; whoever asks, when it is not given."""
    spider: str
    start_urls: list[str] | None = None
    """Where the spider begins; without any it must know by itself."""
    depth: int | None = None
    schedule_at: datetime | None = None
    """Crawl once, then; an offset is required."""
    interval: str | int | dict[str, int] | None = Field(None, examples=["0 9 * * *", "4h"])
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


class FreshCrawl(Model):
    """A crawl that was not asked for before."""

    job_id: str
    scheduled: Literal[False]
    cached: Literal[False]
    logs_url: str
    status_url: str


class CachedCrawl(Model):
    """The job that the same request was given."""

    job_id: str
    scheduled: Literal[False]
    cached: Literal[True]
    cached_at: datetime


class PlannedCrawl(Model):
    """A schedule; `cached` and `cached_at` are there when the same request had made it before."""

    job_id: str
    scheduled: Literal[True]
    next_run: datetime | None
    cached: Literal[True] = True
    cached_at: datetime | None = None


class Job(Model):
    """Where a job stands. What belongs to jobs of another kind is null."""

    job_id: str
    kind: str
    status: JobStatus | ArticleJobStatus
    state: RunState | None
    """The state of its run; null when it has none yet."""
    run_id: str | None
    """The run that is spoken of; of a schedule, the newest."""
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    completed_at: datetime | None
    """The same."""
    spider_job_id: str | None
    """What Scrapyd calls the crawl."""
    scrapyd_job_id: str | None
    """The same."""
    next_run: datetime | None
    total_articles: int | None
    completed: int | None
    cached: int | None
    """How many of those that are completed were fresh enough not to be fetched."""
    failed: int | None
    pending: int | None
    cancelled: int | None
    """How many were not fetched, for the job was cancelled first; with the other counts, they make up the total."""
    progress: dict[str, Any] | None
    error: Failure | None


class WholeJob(Job):
    """A job with the ids of its articles, in the order they were asked for; null of a job of another kind."""

    article_ids: list[str] | None


class Jobs(Model):
    """A page of jobs, newest first, and how many there are."""

    jobs: list[Job]
    total: int


class Results(Model):
    """A page of what a crawl has brought home."""

    job_id: str
    status: JobStatus | ArticleJobStatus
    total: int
    """How many items there are, so far."""
    not_kept: int
    """How many more there were for which there was no room."""
    items: list[Any]


class CancelledJob(Model):
    """A job that goes no further."""

    job_id: str
    status: Literal["CANCELLED"]
    message: str


REQUESTS: tuple[type[BaseModel], ...] = (CrawlRequest,)
"""Models that no route declares to FastAPI, because the domain reads the body."""
