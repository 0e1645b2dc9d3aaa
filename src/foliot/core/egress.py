"""The port for outgoing HTTP requests: the request, its reply, and how it can fail.

The address book: names and addresses of services that the operator allows. Schedules use names, never addresses.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from foliot.core.access import OPERATORS_OWN, TenantAllowList


@dataclass(slots=True, kw_only=True)
class OutgoingRequest:
    """One outgoing HTTP request. Not frozen: a frozen one takes three times as long to make."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout: timedelta = timedelta(seconds=30)
    keep: int = 64 * 1024
    """How much of the body is kept."""
    most: int = 10 * 1024 * 1024
    """How much is read, after decompression, before the rest is refused."""
    tenant_id: str = ""
    proxy: str | None = field(default=None, repr=False)
    """URL of an upstream proxy: http or socks5. The guard decides on the target and on the proxy."""


@dataclass(slots=True, kw_only=True)
class OutgoingResponse:
    """What came back; not frozen, as a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool
    elapsed: timedelta
    timing: Mapping[str, float | None] = field(default_factory=dict)
    """Milliseconds per phase: `dns_ms`, `connect_ms`, `tls_ms`, `first_byte_ms`, `total_ms`; None: no such phase."""
    set_cookies: Sequence[str] = ()
    """Each `Set-Cookie` header: in `headers` they are one."""


class Egress(Protocol):
    """The HTTP client that all outgoing requests use."""

    def check(self, url: str) -> None:
        """`Invalid` when no request to this URL could ever be allowed; looks up no names."""
        ...

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        """Raises `EgressRefused` when the request shows that it may not leave, `EgressFailed` when no answer came."""
        ...


class EgressRefused(Exception):
    """The request may not leave, as its text alone shows: its scheme, its port, a literal address, a header."""


class EgressFailed(Exception):
    """The request left, or tried to, and no complete answer came back. `code` is one of a few uniform classes."""

    def __init__(self, code: str, message: str, *, cause: str | None = None, detail: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.cause = cause or code
        """The phase that failed and how, as a word: `connect_refused`, `dns_failed`."""
        self.detail = detail or message
        """The cause in one line, as far as the tenant of the request may know it."""
        self.timing: Mapping[str, float | None] = {}


LONGEST_NAME = 100
NAME = r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*"
_NAME = re.compile(NAME)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Scheme(StrEnum):
    """The protocol of a service."""

    GRPC = "grpc"
    GRPCS = "grpcs"
    HTTP = "http"
    HTTPS = "https"

    @property
    def secure(self) -> bool:
        return self in (Scheme.GRPCS, Scheme.HTTPS)

    @property
    def speaks_grpc(self) -> bool:
        return self in (Scheme.GRPC, Scheme.GRPCS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAddress:
    """One entry of the address book."""

    name: str
    scheme: Scheme
    host: str
    port: int
    path: str = ""
    """Only of http and https; begins with a slash, or is empty."""
    tenants: TenantAllowList = OPERATORS_OWN
    """The tenants that may call it: the operator's own, unless the entry says otherwise."""
    methods: frozenset[str] | None = None
    """The methods that may be called, as `Method` or `package.Service/Method`; None is all of them."""

    @property
    def place(self) -> str:
        """`host:port`, with an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.place}{self.path}"

    def allows(self, path: str) -> bool:
        """Whether this method, as `/package.Service/Method`, may be called."""
        service, _, method = path.strip("/").rpartition("/")
        return self.methods is None or any(_means(word, service, method) for word in self.methods)


@dataclass(frozen=True, slots=True)
class AddressBook:
    """The services that the operator configured, by normalised name."""

    entries: Mapping[str, ServiceAddress] = field(default_factory=dict)

    def address_of(self, name: str) -> ServiceAddress | None:
        """`ScraperService`, `scraper_service` and `scraper-service` are one name."""
        spelled = service_name(name)
        return None if spelled is None else self.entries.get(spelled)

    def seen_by(self, tenant_id: str) -> AddressBook:
        """The entries that this tenant may call."""
        return AddressBook({name: entry for name, entry in self.entries.items() if tenant_id in entry.tenants})

    def nearest(self, name: str) -> str | None:
        """Names similar to this one, for a suggestion."""
        found = difflib.get_close_matches(service_name(name) or name[:LONGEST_NAME], self.entries, n=1)
        return found[0] if found else None


def _means(word: str, service: str, method: str) -> bool:
    of, _, name = word.rpartition("/")
    return name == method and (not of or service == of or service.endswith(f".{of}"))


def service_name(text: str) -> str | None:
    """The normalised name of a service, such as `scraper-service`; None when it can be no name."""
    if len(text) > LONGEST_NAME or _NAME.fullmatch(text) is None:
        return None
    words = _HUMP.sub("-", text) if not text.isupper() else text
    return words.replace("_", "-").lower()
