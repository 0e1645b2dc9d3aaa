"""The handle of a parked crawl, stored with its run: node, job id, copy positions, progress and its rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any

from foliot.core.document import rfc3339
from foliot.features.crawls.action.scrapy_log import ScrapyLogState

FROM_HERE = -1
"""As `CopyPosition.known`: everything that is in the log when it is next read."""


class HandleUnreadable(Exception):
    """What is stored with the run is no handle of a crawl."""


@dataclass(slots=True)
class CopyPosition:
    """Copy position in a growing file."""

    offset: int = 0
    inside: bool = False
    """Whether `offset` is inside a line that was too long, whose rest is skipped."""
    want: int = 0
    """Minimum bytes of the next range, after one without a line end."""
    left_out: int = 0
    """Of a log, bytes skipped because it is too large; of items, how many cannot be stored."""
    count: int = 0
    """Number of copied items."""
    known: int = 0
    """Of a log, up to where an earlier attempt has copied it: parsed for progress, and not logged again."""


@dataclass(slots=True)
class StopRequest:
    """A request to stop the crawl that was sent."""

    why: str
    """`cancel` or `limit`."""
    calls: int
    at: datetime


@dataclass(slots=True, kw_only=True)
class CrawlHandle:
    """Everything that the next poll needs, on whichever node it happens."""

    node: str
    """The URL of its Scrapyd; visible to the operator only."""
    name: str = "Scrapyd"
    """The name of the node in messages to tenants."""
    project: str
    spider: str
    jobid: str
    asked_at: datetime
    """When the last start request was sent."""
    starts: int = 1
    state: str = "starting"
    """starting, pending, running, finished, or unknown when Scrapyd has forgotten it."""
    since: datetime | None = None
    """When it was first seen running."""
    trouble_since: datetime | None = None
    """Since when its node has not answered or not known it."""
    idle: int = 0
    """How many polls in a row copied nothing."""
    stopping: StopRequest | None = None
    log: CopyPosition = field(default_factory=CopyPosition)
    items: CopyPosition = field(default_factory=CopyPosition)
    reading: ScrapyLogState = field(default_factory=ScrapyLogState)
    progress: dict[str, Any] = field(default_factory=dict)
    window: dict[str, Any] = field(default_factory=dict)
    """Counters at the beginning of the minute over which rates are computed."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> CrawlHandle:
        """Parses a stored handle; `HandleUnreadable` when it is none."""
        try:
            return cls._of(raw)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise HandleUnreadable(f"{type(error).__name__}: {error}") from error

    @classmethod
    def _of(cls, raw: Mapping[str, Any]) -> CrawlHandle:
        given = {each.name: raw[each.name] for each in fields(cls) if each.name in raw}
        stopping = given.get("stopping")
        if not all(isinstance(given.get(name, ""), str) for name in ("node", "name", "project", "spider", "jobid")):
            raise TypeError("a name that is no text")
        return cls(
            **given
            | {name: _moment(given[name]) for name in ("asked_at", "since", "trouble_since") if name in given}
            | {name: CopyPosition(**given.get(name, {})) for name in ("log", "items")}
            | {
                "reading": ScrapyLogState.of(given.get("reading", {})),
                "stopping": StopRequest(stopping["why"], stopping["calls"], _moment(stopping["at"]))
                if stopping
                else None,
                "progress": dict(given.get("progress", {})),
                "window": dict(given.get("window", {})),
            }
        )

    def as_dict(self) -> dict[str, Any]:
        """As JSON, without defaults."""
        said: dict[str, Any] = {
            **{
                name: getattr(self, name)
                for name in ("node", "name", "project", "spider", "jobid", "state", "starts", "idle")
            },
            **{name: rfc3339(getattr(self, name)) for name in ("asked_at", "since", "trouble_since")},
            "log": _copied(self.log),
            "items": _copied(self.items),
            "reading": self.reading.as_dict(),
            "progress": self.progress,
            "window": self.window,
        }
        if self.stopping is not None:
            stopping = self.stopping
            said["stopping"] = {"why": stopping.why, "calls": stopping.calls, "at": rfc3339(stopping.at)}
        return {name: value for name, value in said.items() if value not in (None, {})}


def _copied(copied: CopyPosition) -> dict[str, Any]:
    others = {
        name: getattr(copied, name)
        for name in ("inside", "want", "left_out", "count", "known")
        if getattr(copied, name)
    }
    return {"offset": copied.offset, **others}


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


COUNTED = ("pages", "items", "errors")
_MINUTE = timedelta(minutes=1)


def advance(handle: CrawlHandle, now: datetime) -> bool:
    """Updates the handle's progress from what was read; whether a count has changed."""
    counts = counted(handle)
    changed = any(counts[name] != handle.progress.get(name, 0) for name in COUNTED)
    handle.progress = {**handle.progress, **counts, **_rates(handle, counts, now)}
    return changed


def counted(handle: CrawlHandle) -> dict[str, int]:
    """At the end Scrapy's own stats; before, the counts of its log lines, and the items that were copied."""
    reading = handle.reading
    if reading.ended:
        return {
            # Scrapy counts robots.txt among the responses; a site that forbids everything has served no page.
            "pages": max(_whole(reading, "response_received_count") - _whole(reading, "robotstxt/response_count"), 0),
            "items": _whole(reading, "item_scraped_count"),
            "errors": _whole(reading, "log_count/ERROR") + _whole(reading, "log_count/CRITICAL"),
        }
    return {"pages": reading.pages, "items": max(reading.items, handle.items.count), "errors": reading.errors}


def _whole(reading: ScrapyLogState, name: str) -> int:
    value = reading.stats.get(name, 0)
    return value if isinstance(value, int) else 0


def _rates(handle: CrawlHandle, counts: dict[str, int], now: datetime) -> dict[str, float]:
    """Rates of the last whole minute; in the first one, of its time so far; at the end, of the whole crawl."""
    seconds = handle.reading.stats.get("elapsed_time_seconds")
    if handle.reading.ended and isinstance(seconds, int | float):
        return _per_minute(counts, {}, max(float(seconds), 1.0))
    if not handle.window:
        handle.window = {"at": rfc3339(now), "first": True}
    passed = now - datetime.fromisoformat(handle.window["at"])
    if passed < _MINUTE:
        return _per_minute(counts, handle.window, 60.0) if handle.window.get("first") else {}
    rates = _per_minute(counts, handle.window, passed.total_seconds())
    handle.window = {"at": rfc3339(now), **counts}
    return rates


def _per_minute(counts: dict[str, int], before: dict[str, Any], seconds: float) -> dict[str, float]:
    return {
        f"{name}_per_minute": round(max(counts[name] - before.get(name, 0), 0) * 60 / seconds, 1) for name in COUNTED
    }
