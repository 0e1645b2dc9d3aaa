"""Classifies log lines by their beginning, as Scrapy words it: retry, redirect and the like."""

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

# The logger's name may precede it: `[scrapy.downloadermiddlewares.retry] Retrying <GET …`.
_LINE = re.compile(
    r"(?:\[[^\]]{1,200}\] )?(?:"
    + "|".join(f"(?P<{name}>{re.escape(text)})" for name, text in _BEGINNINGS.items())
    + ")",
    re.ASCII | re.IGNORECASE,
)


def category_of(message: str) -> str | None:
    """One of `CATEGORIES`; None for most lines."""
    found = _LINE.match(message)
    return None if found is None else found.lastgroup


def beginning(category: str) -> str:
    """A text that every line of the category contains, in lower case."""
    return _BEGINNINGS[category].lower()
