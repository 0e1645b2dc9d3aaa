"""Articles: pages that jobs ask for, each fetched once for everybody who wants it at the same time.

    job (a run of kind articles) ──< item >── article ──▶ its host, whose patience is shared by all

An article waits in a queue while somebody wants it: pending ──▶ scraping ──▶ scraped | failed, and back to pending for
another try. An item is what one job knows of one article: pending ──▶ done | cached | failed | cancelled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from foliot.engine.model.run import AttemptError, Cancelled, Failed, Succeeded

KIND = "articles"
QUEUE = "scraping"
"""Where articles wait, whatever the queue of their jobs."""

MOST_ARTICLES = 10_000
"""Of one job."""


NO_WORD = "# no word"
"""Kept in place of a robots.txt that could not be had: nothing is fetched, and the host is asked again soon."""
NO_WORD_KEPT = timedelta(minutes=2)


class ArticleStatus(StrEnum):
    """What is known of a page."""

    PENDING = "pending"
    SCRAPING = "scraping"
    SCRAPED = "scraped"
    FAILED = "failed"


class ItemState(StrEnum):
    """What has become of one article for one job."""

    PENDING = "pending"
    DONE = "done"
    CACHED = "cached"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleCounts:
    """How far a job has come."""

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
        """The same, with one more item that is no longer pending."""
        return replace(self, **{state.value: getattr(self, state.value) + 1})


def verdict(counts: ArticleCounts) -> Succeeded | Failed | Cancelled | None:
    """How a batch ends; None while something is pending."""
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
    """How a host is treated that asks for nothing special."""

    interval: timedelta = timedelta()
    """Between the starts of two requests; zero: no limit."""
    together: int = 8
    """How many requests a host has to bear at once."""
    lead: timedelta = timedelta()
    """How far ahead the first request starts, where a host minds."""


SLICE = timedelta(milliseconds=250)
"""How far ahead starts are given out to one worker, so that quick hosts are not asked for row by row."""

SLOWEST = timedelta(minutes=1)


def allowance(manners: Politeness, interval: timedelta, in_flight: int) -> int:
    """How many requests to a host may be given out now."""
    room = max(manners.together - in_flight, 0)
    return room if not interval else min(room, max(1, SLICE // interval))


def leeway(interval: timedelta) -> timedelta | None:
    """How late a request may start before it comes too close to the next one; None where nobody minds."""
    return max(interval / 5, timedelta(milliseconds=50)) if interval else None


def slower(interval: timedelta) -> timedelta:
    """After a host has asked for patience."""
    return min(max(interval * 2, timedelta(milliseconds=500)), SLOWEST)


def quicker(interval: timedelta, least: timedelta) -> timedelta:
    """After a host has answered well: slowly back to what it was."""
    return max(least, interval * 0.9)
