"""Requests for crawls: parsing, the fingerprint that equal requests share, and the jobs they get."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import orjson
from annotated_types import MaxLen

from foliot.core.declaration import OR_NULL, Described, Parsed, as_given, declared, read
from foliot.core.document import rfc3339
from foliot.core.errors import Invalid, InvalidMany
from foliot.core.queue_name import Priority
from foliot.engine.model.run import DEFAULT_PRIORITY, RunState
from foliot.features.articles.model import ArticleCounts

CRAWL = "crawl"
"""Kind of the action."""
CRAWL_QUEUE = "scraping"
MAX_USER = 200

_DURATION = re.compile(r"(?:(\d{1,6})d)?\s*(?:(\d{1,6})h)?\s*(?:(\d{1,6})m)?\s*(?:(\d{1,9})s)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSpec:
    """A parsed request, before the action has validated its configuration."""

    user_id: str | None
    """The user it is for; None for the caller."""
    config: Mapping[str, Any]
    trigger: Mapping[str, Any] | None
    """The trigger as in a schedule; None for now."""
    priority: int
    ignore_cache: bool


@declared(example={"spider": "seo", "start_urls": ["https://example.com"], "depth": 2, "params": {"lang": "en"}})
class NewCrawl:
    """A crawl: now, once at a given time, or repeatedly."""

    user_id: Annotated[str | None, MaxLen(MAX_USER)] = None
    """User the crawl is for; by default the caller."""
    spider: Annotated[str, Parsed(as_given)]
    start_urls: Annotated[list[str] | None, Parsed(as_given)] = None
    """Where the spider begins; by default its own start URLs."""
    depth: Annotated[int | None, Parsed(as_given)] = None
    schedule_at: datetime | None = None
    """Crawl once at this time; an offset is required."""
    interval: Annotated[
        str | int | dict[str, int] | None, Described({"examples": ["0 9 * * *", "4h"]}), Parsed(as_given)
    ] = None
    """Crawl repeatedly: a cron expression, a number of seconds, or an object such as `{"hours": 4}`."""
    timezone: Annotated[str | None, Parsed(as_given)] = None
    """The zone of `interval`."""
    ignore_cache: Annotated[bool, OR_NULL] = False
    """Start a new crawl even if an equal request was made recently; also passed to the spider."""
    params: Annotated[dict[str, Any] | None, Parsed(as_given)] = None
    """Arguments of the spider."""
    priority: Priority = DEFAULT_PRIORITY
    project: Annotated[str | None, Parsed(as_given)] = None
    min_items: Annotated[int | None, Parsed(as_given)] = None
    max_errors: Annotated[int | None, Parsed(as_given)] = None


_CONFIG = ("spider", "start_urls", "depth", "params", "project", "min_items", "max_errors")
"""Fields that the action reads."""


def read_crawl(raw: object, *, ignore_cache: bool = False) -> CrawlSpec:
    """Parses the body; `ignore_cache` comes from the query."""
    if not isinstance(raw, Mapping):
        raise Invalid("body", "must be an object with spider and start_urls", got=raw)
    asked = read(NewCrawl, raw)
    return CrawlSpec(
        user_id=(asked.user_id or "").strip() or None,
        config={name: value for name in _CONFIG if (value := getattr(asked, name)) is not None},
        trigger=_trigger(asked),
        priority=asked.priority,
        ignore_cache=ignore_cache or asked.ignore_cache,
    )


def _trigger(asked: NewCrawl) -> dict[str, Any] | None:
    """`interval` is a cron expression; a duration ("4h"), a number of seconds or an object such as {"hours": 4} too."""
    at, interval = asked.schedule_at, asked.interval
    if at is not None and interval is not None:
        raise Invalid("interval", "cannot be combined with 'schedule_at': give one of the two")
    zone = {"timezone": asked.timezone}
    if at is not None:
        return {"type": "oneoff", "run_at": rfc3339(at), **zone}
    if interval is None:
        if zone["timezone"] is not None:
            raise Invalid("timezone", "belongs to 'interval', which is not given", got=zone["timezone"])
        return None
    if isinstance(interval, str) and (seconds := _duration(interval)) is not None:
        return {"type": "interval", "interval_seconds": seconds, **zone}
    if isinstance(interval, str):
        return {"type": "cron", "cron_expr": interval, **zone}
    if isinstance(interval, Mapping):
        return {"type": "interval", "interval": interval, **zone}
    return {"type": "interval", "interval_seconds": interval, **zone}


def _duration(text: str) -> int | None:
    """Seconds of "4h", "1h30m" or "2d"; None of anything else, which is read as a cron expression."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None or not any(found.groups()):
        return None
    return sum(int(part or 0) * unit for part, unit in zip(found.groups(), (86_400, 3600, 60, 1), strict=True))


_SAID = {"cron_expr": "interval", "interval_seconds": "interval", "run_at": "schedule_at"}


def in_own_words(error: Invalid) -> Invalid:
    """Maps an error about the schedule that a request became to the fields of the request."""
    errors = error.errors if isinstance(error, InvalidMany) else [error]
    return InvalidMany(Invalid(_own(one.field), one.message, got=one.got) for one in errors)


def _own(field: str) -> str:
    field = field.removeprefix("action.")
    return _SAID.get(field, field)


def fingerprint(user_id: str, config: Mapping[str, Any], trigger: Mapping[str, Any] | None) -> str:
    """Hash of a request; the order and repetition of URLs do not matter."""
    told = {**config, "start_urls": sorted({str(url) for url in config.get("start_urls", ())})}
    return hashlib.sha256(orjson.dumps([user_id, told, trigger], option=orjson.OPT_SORT_KEYS)).hexdigest()


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


@dataclass(frozen=True, slots=True)
class JobSubject:
    """What a job is about: the host of its first URL, how many URLs a crawl starts with, its spider or source."""

    host: str | None
    count: int | None = None
    spider: str | None = None
    source: str | None = None
    project: str | None = None


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
