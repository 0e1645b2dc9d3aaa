"""Requests and answers about crawls and jobs, for OpenAPI and generated clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from foliot.core.declaration import declared
from foliot.engine.model.run import RunState
from foliot.features.jobs.usecases import ArticleJobStatus, JobStatus
from foliot.features.runs.schema import RunError


@declared
class JobTopic:
    """What a job is about."""

    host: str | None
    """The host of its first URL."""
    count: int
    """How many URLs a crawl starts with, or how many articles there are."""
    spider: str | None
    project: str | None
    """The Scrapy project of the spider."""
    source: str | None
    """The source of the first article."""


@declared
class JobReport:
    """The status of a job. Fields of other kinds of jobs are null."""

    job_id: str
    kind: str
    status: JobStatus | ArticleJobStatus
    state: RunState | None
    """The state of its run; null when it has none yet."""
    run_id: str | None
    """The run that is reported; of a schedule, the newest."""
    created_at: datetime | None
    updated_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    completed_at: datetime | None
    """The same."""
    spider_job_id: str | None
    """The id of the crawl in Scrapyd."""
    scrapyd_job_id: str | None
    """The same."""
    next_run: datetime | None
    total_articles: int | None
    completed: int | None
    cached: int | None
    """How many of the completed ones were fresh enough not to be fetched."""
    failed: int | None
    pending: int | None
    cancelled: int | None
    """How many were not fetched, because the job was cancelled first; with the other counts, they make up the total."""
    progress: Mapping[str, Any] | None
    about: JobTopic | None
    """Null where it is not known."""
    error: RunError | None


@declared
class JobDetail(JobReport):
    """A job with the ids of its articles, in the order of the request; null for a job of another kind."""

    article_ids: Sequence[str] | None


@declared
class JobPage:
    """A page of jobs, newest first, and how many there are."""

    jobs: list[JobReport]
    total: int


@declared
class JobResults:
    """A page of the items of a crawl."""

    job_id: str
    status: JobStatus | ArticleJobStatus
    total: int
    """How many items there are, so far."""
    not_kept: int
    """How many more there were that exceeded the storage limit."""
    items: list[Any]


@declared
class CancelledJob:
    """A job that was cancelled."""

    job_id: str
    status: Literal["CANCELLED"]
    message: str
