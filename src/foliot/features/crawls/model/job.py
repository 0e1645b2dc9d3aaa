"""What is asked of the store about crawls: who asked for the same, what came home, and the list of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.engine.model.run import RunState
from foliot.features.articles.model.article import ArticleCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCrawl:
    """A request for a crawl, on its way to become the one whose job others are given."""

    tenant_id: str
    fingerprint: str
    job_id: str
    """The id its job would have."""
    now: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class KnownJob:
    """The job that requests of this fingerprint are given."""

    job_id: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job, whosever it is, with what it was told to do."""

    id: str
    tenant_id: str
    user_id: str
    schedule_id: str | None
    kind: str
    state: RunState
    attempt: int
    scheduled_for: datetime | None
    next_at: datetime | None
    """When its schedule fires next."""
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    event_seq: int
    """Grows with whatever happens to it."""
    handle: Mapping[str, Any] | None
    error: Mapping[str, Any] | None
    config: Mapping[str, Any]
    counts: ArticleCounts | None
    article_ids: Sequence[str] = ()
