"""Requests and answers of crawls, as OpenAPI describes them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NotRequired

from pydantic import with_config
from typing_extensions import TypedDict

from foliot.core.declaration import declared
from foliot.servers.http.schema import CLOSED


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
