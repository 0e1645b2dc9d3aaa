"""Maps failures of a request to a few uniform classes, and names their causes.

Code and message are uniform: they never repeat an address or a message of the operating system. What could be used to
map a network reads the same: an unknown name, a name with an internal address, a closed port, a filtered one. Cause and
detail say what happened; `hidden` replaces them where the tenant may not know (`client.py` decides that).
"""

from __future__ import annotations

import errno
import math
import os
import ssl
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from foliot.core.egress import EgressFailed

if TYPE_CHECKING:
    from foliot.net.addresses import Address
    from foliot.net.pinned_address import Pin

UNREACHABLE = "The target could not be reached."
TIMEOUT = "The target did not answer in time."
TLS = "No secure connection to the target could be made."
BAD = "The target's answer was not valid HTTP."
HIDDEN = "The details are hidden from tenants, because they could map an internal network; the operator's log has them."

_CONNECT_WORDS = {
    errno.ECONNREFUSED: "connection refused",
    errno.EHOSTUNREACH: "no route to host",
    errno.ENETUNREACH: "network is unreachable",
    errno.ECONNRESET: "connection reset",
}


class Unreachable(EgressFailed):
    """No connection, or one that the target closed without an answer."""

    def __init__(self, cause: str | None = None, detail: str | None = None) -> None:
        super().__init__("target_unreachable", UNREACHABLE, cause=cause, detail=detail)


class NotConnected(Exception):
    """This address accepted no connection; another one may."""

    def __init__(self, failure: Unreachable) -> None:
        super().__init__()
        self.failure = failure


class TlsFailed(EgressFailed):
    """There was a connection, and no secure one could be made of it."""

    def __init__(self, error: ssl.SSLError | None = None, detail: str | None = None) -> None:
        super().__init__("tls_failed", TLS, detail=detail)
        self.error = error


def hidden(failure: EgressFailed) -> EgressFailed:
    """The same failure as a tenant may see it who must not learn about the network."""
    if isinstance(failure, TlsFailed):
        return TlsFailed(detail=f"{TLS} {HIDDEN}")
    return Unreachable(detail=f"{UNREACHABLE} {HIDDEN}") if isinstance(failure, Unreachable) else failure


def not_connected(error: OSError, address: Address, port: int, seconds: float, *, secure: bool) -> NotConnected:
    """`secure`: there was a connection, and the TLS handshake was under way."""
    place = f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"
    late = isinstance(error, TimeoutError)
    after = f"within {span(seconds)}" if late else f"after {milliseconds(seconds)}"
    if secure:
        how = "handshake not complete" if late else "connection closed during the handshake"
        return NotConnected(Unreachable("tls_failed", f"TLS: {how}, {place}, {after}"))
    if late:
        return NotConnected(Unreachable("connect_timeout", f"connect: no answer from {place} {after}"))
    number = error.errno or 0
    how = _CONNECT_WORDS.get(number) or os.strerror(number).lower()
    cause = "connect_refused" if number == errno.ECONNREFUSED else "connect_failed"
    return NotConnected(Unreachable(cause, f"connect: {how}, {place}, {after}"))


def late(pin: Pin, host: str, seconds: float) -> EgressFailed:
    """Only a server that accepted a connection can time out; a filtered port must look like a closed one."""
    limit = span(seconds)
    if pin.first_byte:
        detail = f"answer not complete within {limit}"
        return EgressFailed("target_timeout", TIMEOUT, cause="body_timeout", detail=detail)
    if pin.connected:
        return EgressFailed("target_timeout", TIMEOUT, cause="first_byte_timeout", detail=f"no answer within {limit}")
    if pin.accepted:
        return Unreachable("tls_failed", f"TLS: handshake with {host}:{pin.port} not complete within {limit}")
    if pin.resolved or pin.dialled:
        return Unreachable("connect_timeout", f"connect: no answer from {host}:{pin.port} within {limit}")
    if pin.admitted:
        return Unreachable("dns_failed", f"DNS: no answer for {host} within {limit}")
    return Unreachable("no_turn", f"no free connection to {host} within {limit}: too many requests to it at once")


def uniform(error: aiohttp.ClientError | HttpProcessingError) -> EgressFailed:
    if isinstance(error, aiohttp.ClientConnectionError):
        return Unreachable("connection_closed", "the target closed the connection without an answer")
    return EgressFailed("bad_response", BAD)


def span(seconds: float) -> str:
    """A time limit; rounded up to tenths, because a limit may be a little shorter than its setting."""
    return f"{math.ceil(round(seconds * 10, 3)) / 10:g} s"


def milliseconds(seconds: float) -> str:
    return f"{max(1, round(seconds * 1000))} ms"
