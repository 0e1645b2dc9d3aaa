"""What a host allows, as its robots.txt says (RFC 9309)."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from protego import Protego

from foliot.core.egress import OutgoingResponse
from foliot.features.articles.fetch.verdict import patience
from foliot.features.articles.model.article import NO_WORD
from foliot.features.articles.model.fetch import RobotsRules

AGENT = "Foliot"
"""The name that a robots.txt addresses us by."""
MOST_BYTES = 500 * 1024
MOST_LINES = 10_000
"""Of those bytes: the rules are read on the loop, and this many take some hundredths of a second."""
LONGEST_DELAY = timedelta(minutes=5)
"""A host that asks for more patience than this is given this much."""


@lru_cache(maxsize=512)
def _rules(text: str) -> Protego:
    return Protego.parse(text)


def allows(text: str | None, url: str) -> bool:
    """Whether we may fetch this page. A robots.txt that nobody can read forbids nothing."""
    return not text or _rules(text).can_fetch(url, AGENT)


def crawl_delay(text: str) -> timedelta | None:
    """How long the host wants us to wait between two requests."""
    if not text:
        return None
    rules = _rules(text)
    delay = float(rules.crawl_delay(AGENT) or 0.0)
    rate = rules.request_rate(AGENT)
    if rate is not None and rate.requests:
        delay = max(delay, rate.seconds / rate.requests)
    longest = LONGEST_DELAY.total_seconds()
    return timedelta(seconds=min(longest, delay)) if delay > 0 else None


def judge(reply: OutgoingResponse, now: datetime) -> RobotsRules:
    """2xx says what is allowed; 4xx means that everything is; a host in trouble is left alone for a while."""
    if 200 <= reply.status < 300:
        text = reply.body[:MOST_BYTES].decode("utf-8", "replace").replace("\x00", "")
        text = "".join(text.splitlines(keepends=True)[:MOST_LINES])
        return RobotsRules(text, crawl_delay(text))
    if reply.status == 429 or reply.status >= 500:
        return RobotsRules(NO_WORD, pause=patience(reply.headers, now))
    return RobotsRules("")
