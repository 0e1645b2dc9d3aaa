"""What kind of thing a log line tells of, by how it begins: as Scrapy words it, or anybody who words it alike."""

from __future__ import annotations

import re

_BEGINNINGS = {
    "crawled": "Crawled (",
    "scraped": "Scraped from ",
    "retry": "Retrying ",
    "giveup": "Gave up retrying ",
    "redirect": "Redirecting ",
    "robots": "Forbidden by robots.txt",
    "duplicate": "Filtered duplicate request",
    "offsite": "Filtered offsite request",
    "ignored": "Ignoring response ",
    "dropped": "Dropped: ",
}
CATEGORIES = tuple(_BEGINNINGS)

# Whoever wrote it may stand before it: `[scrapy.downloadermiddlewares.retry] Retrying <GET …`.
_LINE = re.compile(
    r"(?:\[[^\]]{1,200}\] )?(?:"
    + "|".join(f"(?P<{name}>{re.escape(text)})" for name, text in _BEGINNINGS.items())
    + ")",
    re.ASCII | re.IGNORECASE,
)


def category_of(message: str) -> str | None:
    """One of `CATEGORIES`; None for a line like most others."""
    found = _LINE.match(message)
    return None if found is None else found.lastgroup


def beginning(category: str) -> str:
    """What every line of it says, in small letters."""
    return _BEGINNINGS[category].lower()
