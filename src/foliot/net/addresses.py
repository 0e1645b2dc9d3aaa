"""Which addresses are on the public internet, and which must never be connected to.

`ipaddress.is_global` is not used: it admits multicast, NAT64 and 6to4, and its answers change between releases.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_SPECIAL_V4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network; Linux connects to loopback for 0.0.0.0
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier NAT, and Alibaba's metadata service
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host agent, inside an otherwise public block
        "169.254.0.0/16",  # link-local, and most metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments, and Oracle's metadata service
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_SPECIAL_V6 = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # Teredo, ORCHID, benchmarking
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",
        "3fff::/20",
    )
)
_NEVER_V4 = tuple(IPv4Network(block) for block in ("0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4"))
_NEVER_V6 = tuple(
    IPv6Network(block)
    for block in (
        "::/96",  # unspecified, and IPv4-compatible
        "::ffff:0:0/96",  # IPv4-mapped
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",
        "2001::/32",  # Teredo
        "2002::/16",  # 6to4
        "ff00::/8",
    )
)
_KNOWN = 4096
"""Size of the cache of checked addresses."""
_LOOPBACK_V4 = IPv4Network("127.0.0.0/8")
_LOOPBACK_V6 = IPv6Address("::1")


@lru_cache(maxsize=_KNOWN)
def is_public(address: Address) -> bool:
    """Plain global unicast: an ordinary host on the internet."""
    if isinstance(address, IPv4Address):
        return not any(address in block for block in _SPECIAL_V4)
    return not is_forbidden(address) and address in _GLOBAL_V6 and not any(address in block for block in _SPECIAL_V6)


def is_loopback(address: Address) -> bool:
    """Loopback, in plain notation."""
    if isinstance(address, IPv4Address):
        return address in _LOOPBACK_V4
    return address == _LOOPBACK_V6


@lru_cache(maxsize=_KNOWN)
def is_forbidden(address: Address) -> bool:
    """Never allowed by a setting: multicast, unspecified, or an IPv4 address that is hidden from the IPv4 rules."""
    if isinstance(address, IPv4Address):
        return any(address in block for block in _NEVER_V4)
    if address.scope_id is not None:
        return True
    return not is_loopback(address) and any(address in block for block in _NEVER_V6)
