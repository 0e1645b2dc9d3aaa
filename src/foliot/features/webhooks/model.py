"""The address of a webhook's target, by which calls are grouped: scheme, host and path, without the query."""

from __future__ import annotations

import re
from functools import lru_cache

WEBHOOK = "webhook"


LONGEST = 500
"""Characters of a host, and of a path, that are shown."""


_URL = re.compile(r"(?P<scheme>https?)://(?P<place>[^/?#\s]+)(?P<path>/[^?#]*)?", re.IGNORECASE)


@lru_cache(maxsize=10_000)
def place(url: object) -> str | None:
    """Host and port of a URL: one server answers, or hangs, for all of its paths."""
    match = _URL.match(url) if isinstance(url, str) else None
    host = match["place"].rpartition("@")[2].lower() if match else ""
    if match is None or not host:
        return None
    named = re.search(r":\d+$", host)
    return host if named else f"{host}:{443 if match['scheme'].lower() == 'https' else 80}"


def address(url: object) -> str | None:
    """A URL without what may be secret or varies from call to call: user, password, query, fragment."""
    match = _URL.match(url) if isinstance(url, str) else None
    if match is None:
        return None
    host = match["place"].rpartition("@")[2]
    return f"{match['scheme']}://{host}".lower()[:LONGEST] + (match["path"] or "/")[:LONGEST] if host else None
