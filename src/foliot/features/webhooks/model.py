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
    found = _URL.match(url) if isinstance(url, str) else None
    host = found["place"].rpartition("@")[2].lower() if found else ""
    if found is None or not host:
        return None
    named = re.search(r":\d+$", host)
    return host if named else f"{host}:{443 if found['scheme'].lower() == 'https' else 80}"


def address(url: object) -> str | None:
    """A URL without what may be secret or varies from call to call: user, password, query, fragment."""
    found = _URL.match(url) if isinstance(url, str) else None
    if found is None:
        return None
    host = found["place"].rpartition("@")[2]
    return f"{found['scheme']}://{host}".lower()[:LONGEST] + (found["path"] or "/")[:LONGEST] if host else None
