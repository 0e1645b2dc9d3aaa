"""The address that a request is pinned to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from foliot.net.addresses import Address
from foliot.net.upstream import UpstreamProxy

_address = lru_cache(maxsize=1024)(ip_address)


class WrongPeer(Exception):
    """A connection went, or would have gone, to another address than the one that was checked."""


@dataclass(frozen=True, slots=True)
class ProxyRoute:
    """An upstream proxy and its checked address."""

    proxy: UpstreamProxy
    address: Address


@dataclass(slots=True)
class Pin:
    """The only address that a request may connect to, and when each phase of the request ended.

    The moments are those of the event loop's clock; 0 where that phase did not end, or did not take place.
    """

    port: int
    began: float = 0.0
    address: Address | None = None
    connected: bool = False
    open: bool = False
    """Whether a tenant may know what is at its addresses."""
    route: ProxyRoute | None = None
    """The connection leads through this proxy, and its peer is the proxy."""
    admitted: float = 0.0
    resolved: float = 0.0
    dialled: float = 0.0
    """When the attempt to connect began; 0 on a kept connection."""
    accepted: float = 0.0
    secured: float = 0.0
    sent: float = 0.0
    first_byte: float = 0.0

    def timing(self, now: float) -> dict[str, float | None]:
        """Milliseconds per phase, and of the whole."""
        return {
            "dns_ms": _between(self.admitted, self.resolved) if self.resolved else None,
            "connect_ms": _between(self.dialled, self.accepted) if self.accepted else None,
            "tls_ms": _between(self.accepted, self.secured) if self.secured else None,
            "first_byte_ms": _between(self.sent, self.first_byte),
            "total_ms": round((now - self.began) * 1000, 1),
        }

    def matches(self, place: Any) -> bool:
        address, port = self.address, self.port
        if self.route is not None:
            address, port = self.route.address, self.route.proxy.target.port
        try:
            return _address(place[0]) == address and place[1] == port
        except (ValueError, TypeError, IndexError):
            return False


def _between(start: float, end: float) -> float | None:
    return round((end - start) * 1000, 1) if start and end else None
