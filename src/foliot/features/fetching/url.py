"""One spelling of the URL of a page: two spellings of one page are one page."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import SplitResult, urlsplit, urlunsplit

from w3lib.url import canonicalize_url, safe_url_string

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
        raise BadUrl("must be the URL of a page, such as https://example.com/news/1")
    stripped = text.strip()
    if len(stripped) > MOST_URL:
        raise BadUrl(f"must be at most {MOST_URL} characters")
    try:
        parts = urlsplit(quoted(stripped))
        host, port = parts.hostname, parts.port
    except (ValueError, UnicodeError):
        raise BadUrl("must be a valid URL, such as https://example.com/news/1") from None
    if parts.scheme not in _DEFAULT_PORTS or not host:
        raise BadUrl("must begin with http:// or https:// and name a host")
    if parts.username is not None or parts.password is not None:
        raise BadUrl("must not contain a user or a password")
    name = f"[{host}]" if ":" in host else host.rstrip(".")
    netloc = name if port in (None, _DEFAULT_PORTS[parts.scheme]) else f"{name}:{port}"
    return SplitResult(parts.scheme, netloc, parts.path or "/", parts.query, "")
