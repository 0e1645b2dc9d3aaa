"""Maps a target's HTTP status to the outcome of the attempt."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin, urlsplit

from foliot.core.egress import OutgoingResponse
from foliot.engine.model.run import AttemptError, Failed, Succeeded

_PATIENCE = frozenset({408, 425, 429})
_LONGEST_WAIT = timedelta(days=7)
"""Far beyond what the retry policy grants; it keeps overflowing numbers out of the arithmetic."""
_HOST = re.compile(r"[\w.:-]+")
_MOST_HOST = 253
_COOKIES = frozenset({"set-cookie", "set-cookie2"})
_HIDDEN = "***"
_MOST_HEADERS = 64
_MOST_HEADER_BYTES = 16 * 1024


def judge(reply: OutgoingResponse, url: str, now: datetime) -> Succeeded | Failed:
    """2xx succeeds; 408, 425, 429 and 5xx are retried; everything else is permanent."""
    response = describe(reply)
    status = reply.status
    if 200 <= status < 300:
        return Succeeded(result={"status": status}, response=response)
    if 300 <= status < 400:
        said = f"The target answered {phrase(status)}{_towards(reply.headers, url)}; redirects are not followed."
        return Failed(AttemptError("redirected", said, "redirect"), permanent=True, response=response)
    code = f"http_{status}"
    if status in _PATIENCE or 500 <= status < 600:
        wait = retry_after(reply.headers, now)
        said = "" if wait is None else f", retry after {math.ceil(wait.total_seconds())} s"
        problem = AttemptError(code, f"The target answered {phrase(status)}{said}.", code)
        return Failed(problem, retry_after=wait, response=response)
    problem = AttemptError(code, f"The target answered {phrase(status)}.", code)
    return Failed(problem, permanent=True, response=response)


def _towards(headers: Mapping[str, str], url: str) -> str:
    """The host that a redirect leads to. Not the address: it may hold a token."""
    location = next((value for name, value in headers.items() if name.lower() == "location"), "")
    try:
        host = urlsplit(urljoin(url, location)).hostname if location else None
    except ValueError:
        return ""
    return f" to {host[:_MOST_HOST]}" if host and _HOST.fullmatch(host) else ""


def describe(reply: OutgoingResponse) -> dict[str, Any]:
    """What is stored of an answer on the attempt."""
    return {
        "status": reply.status,
        "headers": _bounded(reply.headers),
        "body": _text(reply.body),
        "truncated": reply.truncated,
        "duration_ms": round(reply.elapsed.total_seconds() * 1000),
    }


def retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """The delay of the target's `Retry-After`: seconds, or an HTTP date."""
    text = next((value.strip() for name, value in headers.items() if name.lower() == "retry-after"), "")
    if text.isascii() and text.isdigit():
        return timedelta(seconds=min(int(text[:12]), _LONGEST_WAIT.total_seconds()))
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(timedelta(0), min(moment - now, _LONGEST_WAIT))


@lru_cache(maxsize=1000)
def phrase(status: int) -> str:
    """The status with its standard reason phrase; never the target's own text."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _text(raw: bytes) -> str:
    # PostgreSQL text cannot hold U+0000.
    return raw.decode("utf-8", "replace").replace("\x00", "")


def _bounded(headers: Mapping[str, str]) -> dict[str, str]:
    kept: dict[str, str] = {}
    left = _MOST_HEADER_BYTES
    for name, value in list(headers.items())[:_MOST_HEADERS]:
        # A cookie grants access to the target, and viewers may read this.
        clean = _HIDDEN if name.lower() in _COOKIES else value.replace("\x00", "")
        left -= len(name) + len(clean.encode("utf-8", "replace"))
        if left < 0:
            break
        kept[name] = clean
    return kept
