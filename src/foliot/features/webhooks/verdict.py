"""Maps a target's HTTP status to the outcome of the attempt."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from foliot.core.egress import OutgoingResponse
from foliot.engine.model.run import AttemptError, Failed, Succeeded

_PATIENCE = frozenset({408, 425, 429})
_LONGEST_WAIT = timedelta(days=7)
"""Far beyond what the retry policy grants; it keeps overflowing numbers out of the arithmetic."""
_COOKIES = frozenset({"set-cookie", "set-cookie2"})
_HIDDEN = "***"
_MOST_HEADERS = 64
_MOST_HEADER_BYTES = 16 * 1024


def judge(reply: OutgoingResponse, now: datetime) -> Succeeded | Failed:
    """2xx succeeds; 408, 425, 429 and 5xx are retried; everything else is permanent."""
    response = describe(reply)
    status = reply.status
    if 200 <= status < 300:
        return Succeeded(result={"status": status}, response=response)
    if 300 <= status < 400:
        problem = AttemptError("redirected", f"The target answered {phrase(status)}; redirects are not followed.")
        return Failed(problem, permanent=True, response=response)
    problem = AttemptError(f"http_{status}", f"The target answered {phrase(status)}.")
    if status in _PATIENCE or 500 <= status < 600:
        return Failed(problem, retry_after=retry_after(reply.headers, now), response=response)
    return Failed(problem, permanent=True, response=response)


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
