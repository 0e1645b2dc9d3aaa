"""Parses URLs strictly: anything ambiguous is refused, so that no two parsers can disagree about the host."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address

from yarl import URL

from foliot.core.errors import Invalid
from foliot.net.addresses import Address

LONGEST_URL = 8192
_PORT_OF = {"http": 80, "https": 443}
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\x9f\\\u2028\u2029]")
_AUTHORITY = re.compile(r"(?i)https?://([^/?#]*)")
_PORT = re.compile(r"[0-9]{0,5}")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlTarget:
    """The target of a request. `literal` is set when the host is an address."""

    url: URL
    host: str
    port: int
    literal: Address | None

    authority: str
    """The `Host` header."""
    path: str
    """Path and query, as they are sent."""


def read_url(text: object) -> UrlTarget:
    """The target of an http or https URL, or `Invalid`."""
    return _read(text) if isinstance(text, str) and len(text) <= LONGEST_URL else _read.__wrapped__(text)


@lru_cache(maxsize=2048)
def _read(text: object) -> UrlTarget:
    url = _parse(text)
    host, literal = _named(url.raw_host or "")
    usual = _PORT_OF[url.scheme]
    port = usual if url.explicit_port is None else url.explicit_port
    shown = f"[{host}]" if ":" in host else host
    return UrlTarget(
        url=url.with_fragment(None),
        host=host,
        port=port,
        literal=literal,
        authority=shown if port == usual else f"{shown}:{port}",
        path=url.raw_path_qs,
    )


@lru_cache(maxsize=1024)
def _named(text: str) -> tuple[str, Address | None]:
    host = host_of(text)
    return host, literal_of(host)


def host_of(text: str) -> str:
    """A host in canonical form: lower case, no final dot, canonical addresses."""
    host = text.lower().removesuffix(".")
    if ":" in host:
        try:
            address = IPv6Address(host)
        except ValueError:
            raise Invalid("url", "names a host that is not a plain IPv6 address", got=text[:100]) from None
        if address.scope_id is not None:
            raise Invalid("url", "must not name a network interface in its address", got=text[:100])
        return str(address)
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise Invalid("url", "must name a host such as example.com", got=text[:100])
    # Resolvers read 2130706433, 0x7f.1 and 0177.0.0.1 as addresses; only four decimal numbers are accepted here.
    if _NUMERIC.fullmatch(labels[-1]):
        try:
            IPv4Address(host)
        except ValueError:
            raise Invalid("url", "must write an IPv4 address as four decimal numbers", got=text[:100]) from None
    return host


def literal_of(host: str) -> Address | None:
    """The address that a canonical host spells out, if it is one."""
    if ":" in host:
        return IPv6Address(host)
    return IPv4Address(host) if host.rpartition(".")[2].isdigit() else None


def _parse(text: object) -> URL:
    if not isinstance(text, str) or not text:
        raise Invalid("url", "must be an http or https URL", got=text)
    if len(text) > LONGEST_URL:
        raise Invalid("url", f"must be at most {LONGEST_URL} characters", got=f"{len(text)} characters")
    if _UNSAFE.search(text):
        raise Invalid("url", "must not contain spaces, backslashes or control characters", got=text[:100])
    authority = _AUTHORITY.match(text)
    if authority is None:
        raise Invalid("url", "must start with http:// or https://", got=text[:100])
    if "@" in authority[1]:
        # Not repeated in the error: it holds a password.
        raise Invalid("url", "must not contain a user name or password; use a header")
    if not _PORT.fullmatch(authority[1].rpartition("]")[2].partition(":")[2]):
        raise Invalid("url", "must write its port as a plain number", got=text[:100])
    try:
        # ASCII is sent exactly as written, for a signed query must not change; the rest is percent-encoded.
        url = URL(text, encoded=text.isascii())
        # yarl parses an ASCII URL lazily, so this is where a port such as 99999 is noticed.
        _ = url.raw_host, url.explicit_port
    except ValueError:
        raise Invalid("url", "must be a valid http or https URL", got=text[:100]) from None
    return url
