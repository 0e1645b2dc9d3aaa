"""Derives the outcome of a crawl from its log: Scrapyd only reports that it has ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foliot.engine.model.run import AttemptError, Failed, Succeeded
from foliot.features.crawls.action.handle import CrawlHandle, counted

WELL = frozenset({"finished", "closespider_itemcount", "closespider_pagecount"})
"""Close reasons of a successful crawl."""
STOPPED = frozenset({"shutdown"})
"""Close reason after a signal to its process."""
_IN_WORDS = {
    "start_error": "it failed before its first page",
    "cancelled": "it stopped itself",
    "memusage_exceeded": "it used more memory than allowed (MEMUSAGE_LIMIT_MB)",
    "closespider_timeout": "it took longer than allowed (CLOSESPIDER_TIMEOUT)",
    "closespider_timeout_no_item": "it found no item for too long (CLOSESPIDER_TIMEOUT_NO_ITEM)",
    "closespider_errorcount": "it had more errors than allowed (CLOSESPIDER_ERRORCOUNT)",
    "closespider_pagecount_no_item": "it found no item on too many pages (CLOSESPIDER_PAGECOUNT_NO_ITEM)",
}

LOG_MISSING = (
    "Scrapyd has no log of the crawl, so how it ended is unknown: its process died before it could write one "
    "(see Scrapyd's own log), or Scrapyd deleted it (jobs_to_keep must be above the number of crawls of one spider)."
)


def judge(
    handle: CrawlHandle, conditions: Mapping[str, Any], *, forgotten: bool = False, missing: bool = False
) -> Succeeded | Failed:
    """The outcome of a crawl whose log was read to its end.

    A crawl that ran and failed is not retried: it would fail the same way. One that Scrapyd lost by a restart
    (`forgotten`) is. `missing`: there is no log, or no longer.
    """
    if not handle.reading.ended:
        problem: AttemptError | None = _unfinished(handle, forgotten=forgotten, missing=missing)
    else:
        problem = _problem(handle, conditions, forgotten=forgotten)
    if problem is None:
        # Items without a page do not come from the web: they are kept, but the crawl is no full success.
        return Succeeded(result=summary(handle), partial=not counted(handle)["pages"])
    return Failed(problem, permanent=problem.code != "crawl_lost", response=summary(handle))


def summary(handle: CrawlHandle) -> dict[str, Any]:
    """The result of the run."""
    return {
        "spider": handle.spider,
        "project": handle.project,
        "node": handle.name,
        "jobid": handle.jobid,
        "finish_reason": handle.reading.stats.get("finish_reason") if handle.reading.ended else None,
        **counted(handle),
        "stats": dict(handle.reading.stats) if handle.reading.ended else {},
    }


def _problem(handle: CrawlHandle, conditions: Mapping[str, Any], *, forgotten: bool) -> AttemptError | None:
    reason = str(handle.reading.stats["finish_reason"])
    if reason in STOPPED and forgotten:
        return AttemptError("crawl_lost", "The crawl was stopped together with its Scrapyd.")
    return _closed_badly(handle, reason) or _raised(handle, conditions) or _conditions(handle, conditions)


def _unfinished(handle: CrawlHandle, *, forgotten: bool, missing: bool) -> AttemptError:
    """The error of a crawl whose log does not say how it ended."""
    reading = handle.reading
    if not reading.opened and reading.trouble:
        return AttemptError("spider_broken", f"The spider could not start: {reading.trouble}")
    if forgotten:
        return AttemptError("crawl_lost", "Scrapyd no longer knows the crawl, and its log ends before the crawl did.")
    if missing:
        return AttemptError("log_missing", LOG_MISSING)
    return AttemptError(
        "crawl_killed",
        "The crawl was killed: its log ends without closing stats, as when the operating system ends a process for "
        f"want of memory.{_last_trouble(handle)}",
    )


def _closed_badly(handle: CrawlHandle, reason: str) -> AttemptError | None:
    if reason in WELL:
        return None
    if reason in STOPPED:
        return AttemptError(
            "crawl_stopped", "The crawl was stopped at Scrapyd, and not by Foliot, before it had finished."
        )
    words = _IN_WORDS.get(reason)
    said = f": {words}" if words else ""
    return AttemptError("spider_closed", f"The spider closed with the reason {reason}{said}.{_last_trouble(handle)}")


def _raised(handle: CrawlHandle, conditions: Mapping[str, Any]) -> AttemptError | None:
    """An uncaught exception of the spider is a failure, unless the configuration allows a number of errors."""
    stats = handle.reading.stats
    names = [name.partition("/")[2] for name in stats if name.startswith("spider_exceptions/") and name[18:] != "count"]
    if not names or "max_errors" in conditions:
        return None
    times = sum(
        int(stats[f"spider_exceptions/{name}"]) for name in names if _is_count(stats[f"spider_exceptions/{name}"])
    )
    said = f"{times} times, the first" if times > 1 else "once"
    first = handle.reading.trouble or names[0]
    return AttemptError("spider_raised", f"The spider raised {', '.join(sorted(names))} {said}: {first}")


def _conditions(handle: CrawlHandle, conditions: Mapping[str, Any]) -> AttemptError | None:
    counts = counted(handle)
    if not counts["pages"] and not counts["items"]:
        return AttemptError("nothing_fetched", f"The crawl fetched no page.{_forbidden(handle)}{_last_trouble(handle)}")
    least, most = conditions.get("min_items"), conditions.get("max_errors")
    if most is not None and counts["errors"] > most:
        said = f"The crawl logged {_many(counts['errors'], 'error')}, more than max_errors {most}."
        return AttemptError("too_many_errors", f"{said}{_last_trouble(handle)}")
    if least is not None and counts["items"] < least:
        said = f"The crawl found {_many(counts['items'], 'item')}, fewer than min_items {least}."
        return AttemptError("too_few_items", f"{said}{_last_trouble(handle)}")
    return None


def _forbidden(handle: CrawlHandle) -> str:
    count = handle.reading.stats.get("robotstxt/forbidden", 0)
    return f" robots.txt forbids {_many(count, 'request')} of it." if _is_count(count) and count else ""


def _last_trouble(handle: CrawlHandle) -> str:
    return f" Its first error: {handle.reading.trouble}" if handle.reading.trouble else ""


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
