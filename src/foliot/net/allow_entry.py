"""Parses entries of an allow-list: a network, a host, all hosts below one, or one of these with a port."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from foliot.core.errors import Invalid
from foliot.net.addresses import Network
from foliot.net.url import host_of, literal_of

_BELOW = "*."


@dataclass(frozen=True, slots=True)
class AllowEntry:
    """A host, or all hosts `below` it; on every port when `port` is None."""

    host: str
    port: int | None = None
    below: bool = False

    def is_at(self, host: str, port: int) -> bool:
        if self.port not in (None, port):
            return False
        return host.endswith(f".{self.host}") if self.below else host == self.host

    @property
    def is_address(self) -> bool:
        return literal_of(self.host) is not None


def entries_of(text: str | Sequence[str]) -> Iterable[str]:
    """The entries of a list, given as text with commas or as a sequence."""
    parts = text.split(",") if isinstance(text, str) else text
    return [part.strip() for part in parts if part.strip()]


def read_place(entry: str, field: str) -> Network | AllowEntry:
    """A bare address is the network that holds only itself. `Invalid` names `field`."""
    if "%" in entry:
        raise Invalid(field, "must not name a network interface", got=entry)
    try:
        return ip_network(entry)
    except ValueError:
        if "/" in entry:
            raise Invalid(field, "is not a network such as 10.0.0.0/8 (host bits must be zero)", got=entry) from None
    text, colon, port = entry.rpartition(":")
    if not colon:
        text = entry
    below = text.startswith(_BELOW)
    host = _host(text.removeprefix(_BELOW), entry, field)
    if below and literal_of(host) is not None:
        raise Invalid(field, "must not put * before an address", got=entry)
    return AllowEntry(host, read_port(port, field) if colon else None, below)


def read_port(text: str | int, field: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = 0
    if not 1 <= port <= 65535:
        raise Invalid(field, "must name ports from 1 to 65535", got=text)
    return port


def _host(text: str, entry: str, field: str) -> str:
    try:
        host = host_of(text.removeprefix("[").removesuffix("]"))
    except Invalid:
        raise Invalid(
            field, "must list networks (10.0.0.0/8), hosts (hooks.internal) or host:port", got=entry
        ) from None
    # One spelling per address, so that entries and answers of the resolver can be compared as text.
    return str(ip_address(host)) if ":" in host else host
