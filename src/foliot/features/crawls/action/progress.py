"""Progress of a crawl: counts of pages, items and errors, and their rates per minute."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from foliot.core.document import rfc3339
from foliot.features.crawls.action.handle import CrawlHandle
from foliot.features.crawls.action.scrapy_log import ScrapyLogState

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
