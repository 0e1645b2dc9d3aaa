"""Allow-lists of outgoing connections: the operator's, a tenant's own, and this machine's own addresses."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path

from foliot.core.errors import Invalid
from foliot.net.addresses import Address, Network, is_forbidden, is_loopback, is_public
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


FRESH = 30.0
"""Seconds until an added or removed address is noticed."""
_PROC = Path("/proc/net")
_LOCAL_V4 = re.compile(r"\|-- (?P<address>[0-9.]+)\n\s+/32 host LOCAL")


class Interfaces:
    """Reads them from the kernel periodically; without `/proc`, from the resolver by this machine's name."""

    def __init__(self, proc: Path = _PROC) -> None:
        self._proc = proc
        self._read_at = float("-inf")
        self._addresses: frozenset[Address] = frozenset()

    def __call__(self) -> frozenset[Address]:
        now = time.monotonic()
        if now - self._read_at > FRESH:
            self._read_at, self._addresses = now, self._read()
        return self._addresses

    def _read(self) -> frozenset[Address]:
        try:
            return frozenset({*self._v4(), *self._v6()}) or _by_name()
        except (OSError, ValueError):
            return _by_name()

    def _v4(self) -> list[Address]:
        text = (self._proc / "fib_trie").read_text(encoding="ascii")
        return [ip_address(found["address"]) for found in _LOCAL_V4.finditer(text)]

    def _v6(self) -> list[Address]:
        try:
            text = (self._proc / "if_inet6").read_text(encoding="ascii")
        except FileNotFoundError:
            return []
        return [IPv6Address(bytes.fromhex(line.split()[0])) for line in text.splitlines() if line.strip()]


def _by_name() -> frozenset[Address]:
    try:
        infos = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
    except OSError:
        return frozenset()
    return frozenset(ip_address(str(where[0]).partition("%")[0]) for *_, where in infos)


OWN = Interfaces()


DEFAULT_PORTS = frozenset({80, 443, 8080, 8443})
_ALLOW = "FOLIOT_EGRESS_ALLOW"
_PORTS = "FOLIOT_EGRESS_PORTS"
_HERE = (ip_address("127.0.0.1"), ip_address("::1"))


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressRules:
    """The operator's allow-list. A bare host or network allows addresses, not new ports; `host:port` allows both."""

    loopback: bool = False
    networks: tuple[Network, ...] = ()
    places: frozenset[AllowEntry] = frozenset()
    ports: frozenset[int] = DEFAULT_PORTS
    here: Callable[[], frozenset[Address]] = field(default=OWN, compare=False)
    """The addresses of this machine: refused, unless the operator names them."""

    @classmethod
    def read(cls, *, loopback: bool, allow: str | Sequence[str], ports: str | Collection[int]) -> EgressRules:
        networks: list[Network] = []
        places: set[AllowEntry] = set()
        for entry in entries_of(allow):
            match read_place(entry, _ALLOW):
                case AllowEntry(below=True):
                    # The owner of a name below would otherwise be able to reach any internal address.
                    raise Invalid(_ALLOW, "must name each host; * is for the lists of tenants", got=entry)
                case AllowEntry() as place:
                    places.add(place)
                case network:
                    networks.append(network)
        given = entries_of(ports) if isinstance(ports, str) else ports
        return cls(
            loopback=loopback,
            networks=tuple(networks),
            places=frozenset(places),
            ports=frozenset(read_port(port, _PORTS) for port in given),
        )

    def for_page(self, host: str, port: int) -> EgressRules:
        """Rules for a browser that shows a page of this host: in local mode too, its scripts reach no other loopback.

        Without local mode these are the same rules.
        """
        if not self.loopback:
            return self
        literal = literal_of(host)
        here = host == "localhost" or host.endswith(".localhost") or (literal is not None and is_loopback(literal))
        places = self.places | {AllowEntry(host, port)} if here else self.places
        return replace(self, loopback=False, ports=self.ports | {port}, places=places)

    def allows_port(self, host: str, port: int) -> bool:
        """Port 0 is never allowed; local mode allows all others."""
        return port > 0 and (self.loopback or port in self.ports or AllowEntry(host, port) in self.places)

    def allows_name(self, host: str, port: int) -> bool:
        """Refuses only names that mean this machine whatever the resolver answers."""
        if self.loopback or not (host == "localhost" or host.endswith(".localhost")):
            return True
        return self._named(host, port) or any(here in network for network in self.networks for here in _HERE)

    def allows_address(self, host: str, port: int, address: Address) -> bool:
        """Whether `host`, which resolved to `address`, may be called."""
        if is_forbidden(address):
            return False
        if self.places and (self._named(host, port) or self._named(str(address), port)):
            return True
        if any(address in network for network in self.networks):
            return True
        if is_public(address):
            return address not in self.here()
        return self.loopback and is_loopback(address)

    def tells(self, host: str, port: int, address: Address) -> bool:
        """Whether tenants may know why a connection to this allowed address failed: it is public, or named.

        Not in a network that is allowed as a whole: a tenant could map it, port by port.
        """
        return self.loopback or is_public(address) or self._named(host, port) or self._named(str(address), port)

    def _named(self, host: str, port: int) -> bool:
        return AllowEntry(host) in self.places or AllowEntry(host, port) in self.places


FIELD = "egress_allow"
MOST_ENTRIES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantTargets:
    """Targets of a tenant among what the operator's `EgressRules` allow; without entries, all of them."""

    networks: tuple[Network, ...] = ()
    places: tuple[AllowEntry, ...] = ()

    @classmethod
    def read(cls, entries: Sequence[str]) -> TenantTargets:
        """`Invalid` when an entry is neither a network, a host, `*.host` nor one of these hosts with `:port`."""
        if not entries:
            return _ALL
        if isinstance(entries, str) or not all(isinstance(entry, str) for entry in entries):
            raise Invalid(FIELD, "must be a list of texts")
        if len(entries) > MOST_ENTRIES:
            raise Invalid(FIELD, f"must have at most {MOST_ENTRIES} entries", got=len(entries))
        return _read(tuple(entries))

    def exclude(self, host: str, port: int, literal: Address | None) -> bool:
        """The check without a lookup: whether no answer of a resolver could put this target on the list."""
        if not self.networks and not self.places:
            return False
        if literal is not None:
            return not self.include(host, port, literal)
        return not self._named(host, port) and not self._names_addresses(port)

    def include(self, host: str, port: int, address: Address) -> bool:
        """Whether `host`, which resolved to `address`, is on the list."""
        if not self.networks and not self.places:
            return True
        return (
            self._named(host, port)
            or self._named(str(address), port)
            or any(address in network for network in self.networks)
        )

    def _named(self, host: str, port: int) -> bool:
        return any(place.is_at(host, port) for place in self.places)

    def _names_addresses(self, port: int) -> bool:
        return bool(self.networks) or any(place.is_address and place.port == port for place in self.places)


_ALL = TenantTargets()


@lru_cache(maxsize=256)
def _read(entries: tuple[str, ...]) -> TenantTargets:
    read = [read_place(entry, FIELD) for entry in entries_of(entries)]
    return TenantTargets(
        networks=tuple(each for each in read if not isinstance(each, AllowEntry)),
        places=tuple(each for each in read if isinstance(each, AllowEntry)),
    )
