"""Jobs of crawls: the deduplication of equal requests, and the view of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.engine.model.run import RunState
from foliot.features.articles.model.article import ArticleCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCrawl:
    """A request that may become the one whose job equal requests get."""

    tenant_id: str
    fingerprint: str
    job_id: str
    """The id of the job if this request creates it."""
    now: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class KnownJob:
    """The job that requests with this fingerprint get."""

    job_id: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job with its configuration."""

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
    """Number of its last event."""
    handle: Mapping[str, Any] | None
    error: Mapping[str, Any] | None
    config: Mapping[str, Any]
    counts: ArticleCounts | None
    article_ids: Sequence[str] = ()
