"""States of articles and items, counters of a batch, and rate limits of hosts.

    job (a run of kind articles) ──< item >── article ──▶ its host, whose rate limit all jobs share

An article is a page, fetched once for all jobs that want it at the same time. It is queued while an item waits for it:
pending ──▶ scraping ──▶ scraped | failed, and back to pending for a retry. An item is one article of one job:
pending ──▶ done | cached | failed | cancelled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from foliot.engine.model.run import AttemptError, Cancelled, Failed, Succeeded

KIND = "articles"
QUEUE = "scraping"
"""The queue of articles, whatever the queue of their jobs."""

MOST_ARTICLES = 10_000
"""Maximum of one job."""


NO_WORD = "# no word"
"""Stored in place of a robots.txt that was unavailable: no page is fetched, and it is requested again soon."""
NO_WORD_KEPT = timedelta(minutes=2)


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


@dataclass(frozen=True, slots=True)
class Politeness:
    """Default rate limit of a host: interval and concurrency."""

    interval: timedelta = timedelta()
    """Between the starts of two requests; zero: no limit."""
    together: int = 8
    """Maximum concurrent requests to a host."""
    lead: timedelta = timedelta()
    """How long after the claim the first request starts, where a host has an interval."""


SLICE = timedelta(milliseconds=250)
"""How far ahead one claim allocates start times, so that hosts with short intervals do not cost a claim per page."""

SLOWEST = timedelta(minutes=1)


def allowance(manners: Politeness, interval: timedelta, in_flight: int) -> int:
    """How many requests to a host one claim may allocate now."""
    room = max(manners.together - in_flight, 0)
    return room if not interval else min(room, max(1, SLICE // interval))


def leeway(interval: timedelta) -> timedelta | None:
    """How late a request may start before it comes too close to the next one; None without an interval."""
    return max(interval / 5, timedelta(milliseconds=50)) if interval else None


def slower(interval: timedelta) -> timedelta:
    """The interval after a 429 or 503: doubled."""
    return min(max(interval * 2, timedelta(milliseconds=500)), SLOWEST)


def quicker(interval: timedelta, least: timedelta) -> timedelta:
    """The interval after a good answer: a tenth shorter, down to `least`."""
    return max(least, interval * 0.9)
