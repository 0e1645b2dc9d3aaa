"""The port for outgoing HTTP requests: the request, its reply, and how it can fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRequest:
    """One outgoing HTTP request."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingResponse:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool
    elapsed: timedelta
    timing: Mapping[str, float | None] = field(default_factory=dict)
    """Milliseconds per phase: `dns_ms`, `connect_ms`, `tls_ms`, `first_byte_ms`, `total_ms`; None: no such phase."""


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
