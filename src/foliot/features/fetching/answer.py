"""Judges the answer to a request for a page: is there a page, and when may it be asked for again?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import urlsplit

from foliot.core.egress import OutgoingResponse
from foliot.engine.model.run import AttemptError
from foliot.features.fetching.model import MOST_PAGE, FetchFailure, HostUpdate, Page, PageUnchanged

Answer = OutgoingResponse | Page

READABLE = ("text/html", "application/xhtml+xml", "text/plain", "")
PATIENCE = timedelta(seconds=10)
"""Pause after a 429 or 503 without `Retry-After`."""
LONGEST_PATIENCE = timedelta(hours=1)
"""Upper bound of `Retry-After` for one page."""
LONGEST_PAUSE = timedelta(seconds=60)
"""Upper bound of the pause that one response causes for all pages of a host."""
_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
"""Byte order marks of UTF-16 and UTF-32."""
_AGAIN = frozenset({408, 425, 429})
_CROWDED = frozenset({429, 503})
_GONE = {404: "The page does not exist (404 Not Found).", 410: "The page no longer exists (410 Gone)."}
_CLOSED = {
    401: "The page requires a sign-in.",
    402: "The page requires a payment (402).",
    403: "The host refuses access to the page (403 Forbidden).",
    451: "The page is withheld for legal reasons.",
}


def judge(reply: Answer, now: datetime) -> FetchFailure | PageUnchanged | None:
    """Why there is nothing to extract; None when there is."""
    if reply.status == 304:
        return PageUnchanged()
    return _missed(reply, now) if reply.status != 200 else _unreadable(reply)


SCANNED = 64 * 1024
"""Bytes of a page that are looked through; more would keep the event loop busy."""
MOST_MARKS = 4_000
LEAST_LETTERS = 150
_SILENT = (b"script", b"style", b"noscript", b"template", b"svg", b"!--")


def looks_empty(page: Page) -> bool:
    """Whether a page of HTML is a frame for scripts: next to no text beside them.

    One pass over the marks of its beginning, with no parser: the bytes are a stranger's.
    """
    kind = page.content_type.lower().partition(";")[0].strip()
    body = page.content[:SCANNED].lower()
    if kind not in {"text/html", "application/xhtml+xml", ""} or b"<script" not in body:
        return False
    place = letters = 0
    for _ in range(MOST_MARKS):
        mark = body.find(b"<", place)
        letters += len(b"".join(body[place : mark if mark >= 0 else None].split()))
        if letters >= LEAST_LETTERS:
            return False
        if mark < 0:
            return True
        silent = next((name for name in _SILENT if body.startswith(name, mark + 1)), None)
        closing = b"-->" if silent == b"!--" else b">" if silent is None else b"</" + silent
        end = body.find(closing, mark)
        if end < 0:
            return True
        place = body.find(b">", end) + 1
        if not place:
            return True
    return False


def _unreadable(reply: Answer) -> FetchFailure | None:
    if reply.truncated and len(reply.body) >= MOST_PAGE:
        return never("too_large", f"The page is larger than {MOST_PAGE // 2**20} MiB.")
    if reply.truncated:
        return never("damaged", "The page is damaged, or compressed in a way that is not supported.")
    content_type = header(reply.headers, "content-type").lower()
    kind = content_type.partition(";")[0].strip()
    if kind not in READABLE:
        return never("not_html", f"The page is not HTML but {kind[:100]}.")
    if not reply.body.strip():
        return never("empty_page", "The page is empty.")
    start = reply.body[:1024]
    if start.count(0) * 500 > len(start) and not _wide(start, content_type):
        return never("not_html", "The page is not text.")
    return None


def _wide(start: bytes, content_type: str) -> bool:
    """Whether zero bytes are part of the text: it is declared as UTF-16 or UTF-32."""
    return start.startswith(_MARKS) or any(name in content_type for name in ("utf-16", "utf-32"))


def _missed(reply: Answer, now: datetime) -> FetchFailure:
    status = reply.status
    said = {**_GONE, **_CLOSED}.get(status) or f"The host answered {_phrase(status)}."
    problem = AttemptError(f"http_{status}", said)
    if status not in _AGAIN and not 500 <= status < 600:
        return FetchFailure(problem=problem, permanent=True)
    asked = _retry_after(reply.headers, now)
    pause = patience(reply.headers, now) if status in _CROWDED else None
    return FetchFailure(problem=problem, retry_after=asked, pause=pause)


def patience(headers: Mapping[str, str], now: datetime) -> timedelta:
    """The delay of `Retry-After`, or the default."""
    return min(_retry_after(headers, now) or PATIENCE, LONGEST_PAUSE)


def host_update(page: Page, url: str, now: datetime, *, slowed: bool) -> HostUpdate:
    """What an answer says about its host."""
    if page.status in _CROWDED:
        said = f"The host answered {_phrase(page.status)} for {path_of(url)}"
        return HostUpdate(pause=patience(page.headers, now), path=path_of(url), reason=said[:200])
    return HostUpdate(well=slowed and page.status < 500)


def path_of(url: str) -> str:
    """The path of a URL without its query, as far as pauses compare it."""
    return urlsplit(url).path[:200]


def never(code: str, said: str) -> FetchFailure:
    """A permanent failure: a retry would change nothing."""
    return FetchFailure(problem=AttemptError(code, said), permanent=True)


def header(headers: Mapping[str, str], name: str) -> str:
    return next((value for key, value in headers.items() if key.lower() == name), "")


def _retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    text = header(headers, "retry-after").strip()
    if text.isascii() and text.isdigit():
        return min(timedelta(seconds=int(text[:9])), LONGEST_PATIENCE)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(timedelta(), min(moment - now, LONGEST_PATIENCE))


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
