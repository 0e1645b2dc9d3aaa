"""robots.txt: what a host allows, and the delay it asks for."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from protego import Protego

from foliot.features.fetching.answer import Answer, host_update, patience
from foliot.features.fetching.model import NO_WORD, HostUpdate, Page, RobotsRules

AGENT = "Foliot"
"""Our product token in robots.txt."""
MOST_BYTES = 500 * 1024
MOST_LINES = 10_000
"""Maximum lines: they are parsed on the event loop, and this many take some hundredths of a second."""
LONGEST_DELAY = timedelta(minutes=5)
"""Upper bound of the crawl delay that is obeyed."""


@lru_cache(maxsize=512)
def _rules(text: str) -> Protego:
    return Protego.parse(text)


def allows(text: str | None, url: str) -> bool:
    """Whether robots.txt allows this URL; one that cannot be parsed forbids nothing."""
    return not text or _rules(text).can_fetch(url, AGENT)


def crawl_delay(text: str) -> timedelta | None:
    """The crawl delay that the host asks for."""
    if not text:
        return None
    rules = _rules(text)
    delay = float(rules.crawl_delay(AGENT) or 0.0)
    rate = rules.request_rate(AGENT)
    if rate is not None and rate.requests:
        delay = max(delay, rate.seconds / rate.requests)
    longest = LONGEST_DELAY.total_seconds()
    return timedelta(seconds=min(longest, delay)) if delay > 0 else None


def judge_robots(reply: Answer, now: datetime) -> RobotsRules:
    """2xx: the rules of the body; 4xx: everything is allowed; otherwise the host is paused for a while."""
    if 200 <= reply.status < 300:
        text = reply.body[:MOST_BYTES].decode("utf-8", "replace").replace("\x00", "")
        text = "".join(text.splitlines(keepends=True)[:MOST_LINES])
        return RobotsRules(text, crawl_delay(text))
    if reply.status == 429 or reply.status >= 500:
        return RobotsRules(NO_WORD, pause=patience(reply.headers, now))
    return RobotsRules("")


def spider_update(status: int, retry_after: str, path: str, robots: str | None, now: datetime) -> HostUpdate:
    """What an answer to a spider says about its host; the text of robots.txt is bounded like a fetched one."""
    headers = {"retry-after": retry_after}
    if robots is not None and path == "/robots.txt":
        page = Page(url="", status=status, headers=headers, body=robots.encode()[:MOST_BYTES])
        rules = judge_robots(page, now)
        return HostUpdate(robots=rules.robots, crawl_delay=rules.crawl_delay, pause=rules.pause)
    return host_update(
        Page(url="", status=status, headers=headers, body=b""), f"http://host{path[:200]}", now, slowed=True
    )
