"""The place a request is pinned to, while it is under way."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from foliot.net.addresses import Address

_address = lru_cache(maxsize=1024)(ip_address)


class Astray(Exception):
    """A connection led, or would have led, elsewhere than to the address that was checked."""


@dataclass(slots=True)
class Pin:
    """The one place the current request may connect to, and for whom."""

    port: int
    address: Address | None = None
    tenant_id: str = ""
    most: int = 0
    """How much of the answer's body is read."""
    connected: bool = False

    def matches(self, place: Any) -> bool:
        try:
            return _address(place[0]) == self.address and place[1] == self.port
        except (ValueError, TypeError, IndexError):
            return False


PIN: ContextVar[Pin | None] = ContextVar("foliot_egress_pin", default=None)
