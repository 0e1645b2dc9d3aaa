"""The address that the current request is pinned to."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from foliot.net.addresses import Address

_address = lru_cache(maxsize=1024)(ip_address)


class WrongPeer(Exception):
    """A connection went, or would have gone, to another address than the one that was checked."""


@dataclass(slots=True)
class Pin:
    """The only address that the current request may connect to, and its tenant."""

    port: int
    address: Address | None = None
    tenant_id: str = ""
    most: int = 0
    """Limit on the answer's body."""
    connected: bool = False

    def matches(self, place: Any) -> bool:
        try:
            return _address(place[0]) == self.address and place[1] == self.port
        except (ValueError, TypeError, IndexError):
            return False


PIN: ContextVar[Pin | None] = ContextVar("foliot_egress_pin", default=None)
