"""Fetches one page through egress: URL normalised, robots.txt obeyed, one request per claim, the response judged."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from protego import Protego
from w3lib.url import canonicalize_url, safe_url_string

from foliot import __version__
from foliot.core.egress import Egress, EgressFailed, EgressRefused, OutgoingRequest, OutgoingResponse
from foliot.core.errors import Invalid
from foliot.engine.model.run import AttemptError
from foliot.features.articles.model import NO_WORD, ClaimedArticle, FetchFailure, PageMoved, PageUnchanged, RobotsRules

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


def judge_robots(reply: OutgoingResponse, now: datetime) -> RobotsRules:
    """2xx: the rules of the body; 4xx: everything is allowed; otherwise the host is paused for a while."""
    if 200 <= reply.status < 300:
        text = reply.body[:MOST_BYTES].decode("utf-8", "replace").replace("\x00", "")
        text = "".join(text.splitlines(keepends=True)[:MOST_LINES])
        return RobotsRules(text, crawl_delay(text))
    if reply.status == 429 or reply.status >= 500:
        return RobotsRules(NO_WORD, pause=patience(reply.headers, now))
    return RobotsRules("")


MOST_URL = 8192
_DEFAULT_PORTS = {"http": 80, "https": 443}
_TRACKING = re.compile(
    r"(?:^|&)(?:utm_[a-z_]+|gclid|dclid|gbraid|wbraid|fbclid|msclkid|yclid|mc_cid|mc_eid|igshid|_ga|_gl)=[^&]*",
    re.IGNORECASE,
)
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_PLAIN = re.compile(
    rf"https?://{_LABEL}(?:\.{_LABEL}){{0,8}}(?::(?:[1-9][0-9]{{0,3}}|[1-5][0-9]{{4}}))?/[A-Za-z0-9/._~-]*"
)
"""Matches URLs that are normalised already, as nearly all are."""
_MOST_PLAIN = 2000
_USUAL_PORTS = ("80", "443")


class BadUrl(ValueError):
    """Not the URL of a page; the message says what would be."""


def one_spelling(text: object) -> str:
    """The normalised URL; `BadUrl` when it cannot name a page."""
    if isinstance(text, str) and _is_plain(text):
        return text
    parts = _read(text, canonicalize_url)
    return urlunsplit(parts._replace(query=_TRACKING.sub("", parts.query).lstrip("&")))


def _is_plain(text: str) -> bool:
    if len(text) > _MOST_PLAIN or "/." in text or _PLAIN.fullmatch(text) is None:
        return False
    # The default port is left out.
    return text.split("/", 3)[2].rpartition(":")[2] not in _USUAL_PORTS


def redirect_url(text: object) -> str:
    """The target of a redirect, with all its parameters: the host may depend on them."""
    return urlunsplit(_read(text, safe_url_string))


def _read(text: object, quoted: Callable[[str], str]) -> SplitResult:
    if not isinstance(text, str) or not text.strip():
        raise BadUrl("must be the URL of a page, as in https://example.com/news/1")
    stripped = text.strip()
    if len(stripped) > MOST_URL:
        raise BadUrl(f"must be at most {MOST_URL} characters")
    try:
        parts = urlsplit(quoted(stripped))
        host, port = parts.hostname, parts.port
    except (ValueError, UnicodeError):
        raise BadUrl("must be a URL that can be read, as in https://example.com/news/1") from None
    if parts.scheme not in _DEFAULT_PORTS or not host:
        raise BadUrl("must begin with http:// or https:// and name a host")
    if parts.username is not None or parts.password is not None:
        raise BadUrl("must not hold a user or a password")
    name = f"[{host}]" if ":" in host else host.rstrip(".")
    netloc = name if port in (None, _DEFAULT_PORTS[parts.scheme]) else f"{name}:{port}"
    return SplitResult(parts.scheme, netloc, parts.path or "/", parts.query, "")


READABLE = ("text/html", "application/xhtml+xml", "text/plain", "")
MOST_PAGE = 20 * 1024 * 1024
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
_GONE = {404: "There is no such page.", 410: "The page was taken away."}
_CLOSED = {
    401: "The page asks for a sign-in.",
    402: "The page asks for money.",
    403: "The host does not let us see the page.",
    451: "The page is withheld for legal reasons.",
}


def judge(reply: OutgoingResponse, now: datetime) -> FetchFailure | PageUnchanged | None:
    """Why there is nothing to extract; None when there is."""
    if reply.status == 304:
        return PageUnchanged()
    return _missed(reply, now) if reply.status != 200 else _unreadable(reply)


def _unreadable(reply: OutgoingResponse) -> FetchFailure | None:
    if reply.truncated and len(reply.body) >= MOST_PAGE:
        return never("too_large", f"The page is larger than {MOST_PAGE // 2**20} MiB.")
    if reply.truncated:
        return never("damaged", "The page arrived damaged, or packed in a way that cannot be undone.")
    content_type = header(reply.headers, "content-type").lower()
    kind = content_type.partition(";")[0].strip()
    if kind not in READABLE:
        return never("not_html", f"The page is no HTML but {kind[:100]}.")
    if not reply.body.strip():
        return never("empty_page", "The page is empty.")
    start = reply.body[:1024]
    if start.count(0) * 500 > len(start) and not _wide(start, content_type):
        return never("not_html", "The page is no text.")
    return None


def _wide(start: bytes, content_type: str) -> bool:
    """Whether zero bytes are part of the text: it is declared as UTF-16 or UTF-32."""
    return start.startswith(_MARKS) or any(name in content_type for name in ("utf-16", "utf-32"))


def _missed(reply: OutgoingResponse, now: datetime) -> FetchFailure:
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


MOST_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PERMANENT = frozenset({"tls_failed"})
NOWHERE = never("bad_redirect", "The page leads to something that is no URL.")
TOO_MANY = never("too_many_redirects", f"The page was moved more than {MOST_REDIRECTS} times.")

HEADERS = {
    "User-Agent": f"{AGENT}/{__version__}",
    "Accept": "text/html,application/xhtml+xml;q=0.9,text/plain;q=0.5,*/*;q=0.1",
}


@dataclass(frozen=True, slots=True)
class PageResponse:
    """A response, and the URL that it came from after redirects."""

    url: str
    reply: OutgoingResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFetcher:
    """Sends the requests for pages and for robots.txt."""

    egress: Egress
    timeout: timedelta = timedelta(seconds=30)

    async def page(self, taken: ClaimedArticle, known: Mapping[str, str]) -> PageResponse | PageMoved | FetchFailure:
        """The page, if robots.txt allows it; `known` are the conditional headers of the stored version.

        One request: the target of a redirect has its own robots.txt and rate limit, or shares this host's limit.
        """
        if not allows(taken.robots, taken.url):
            return never("robots_disallowed", "The host's robots.txt does not allow this page to be fetched.")
        fetched = await self._ask(taken.url, taken.tenant_id, {**HEADERS, **known}, MOST_PAGE, self.timeout)
        if isinstance(fetched, FetchFailure) or (location := _location(fetched.reply)) is None:
            return fetched
        if taken.moves >= MOST_REDIRECTS:
            return TOO_MANY
        try:
            return PageMoved(redirect_url(urljoin(taken.url, location)))
        except BadUrl as wrong:
            return never("bad_redirect", f"The page leads elsewhere, and that {wrong}.")
        except ValueError:
            return NOWHERE

    async def robots(self, taken: ClaimedArticle) -> PageResponse | FetchFailure:
        """The robots.txt of this page's host; follows redirects within one time limit."""
        url, headers = urljoin(taken.url, "/robots.txt"), {**HEADERS, "Accept": "text/plain,*/*;q=0.1"}
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout.total_seconds()
        for _ in range(MOST_REDIRECTS + 1):
            left = timedelta(seconds=max(deadline - loop.time(), 0.001))
            fetched = await self._ask(url, taken.tenant_id, headers, MOST_BYTES, left)
            if isinstance(fetched, FetchFailure) or (location := _location(fetched.reply)) is None:
                return fetched
            try:
                url = urljoin(url, location)
            except ValueError:
                return NOWHERE
        return TOO_MANY

    async def _ask(
        self, url: str, tenant_id: str, headers: Mapping[str, str], most: int, patience: timedelta
    ) -> PageResponse | FetchFailure:
        request = OutgoingRequest(
            method="GET", url=url, headers=headers, timeout=patience, keep=most, most=most, tenant_id=tenant_id
        )
        try:
            return PageResponse(url, await self.egress.send(request))
        except (EgressRefused, Invalid) as refusal:
            return never("address_refused", str(refusal))
        except EgressFailed as failure:
            return FetchFailure(
                problem=AttemptError(failure.code, failure.message), permanent=failure.code in _PERMANENT
            )


def _location(reply: OutgoingResponse) -> str | None:
    """The target of a redirect; None when the response is none."""
    return header(reply.headers, "location") or None if reply.status in _REDIRECTS else None
