"""What the operator allows beyond the public internet: `FOLIOT_EGRESS_ALLOW` and `FOLIOT_EGRESS_PORTS`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from foliot.domain.errors import Invalid
from foliot.egress.addresses import Address, Network, is_forbidden, is_loopback, is_public
from foliot.egress.target import host_of

DEFAULT_PORTS = frozenset({80, 443, 8080, 8443})
_ALLOW = "FOLIOT_EGRESS_ALLOW"
_PORTS = "FOLIOT_EGRESS_PORTS"
_HERE = (ip_address("127.0.0.1"), ip_address("::1"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Who may be called. A bare host or network opens its addresses, not new ports; `host:port` opens both."""

    loopback: bool = False
    networks: tuple[Network, ...] = ()
    hosts: frozenset[str] = frozenset()
    places: frozenset[tuple[str, int]] = frozenset()
    ports: frozenset[int] = DEFAULT_PORTS

    @classmethod
    def read(cls, *, loopback: bool, allow: str | Sequence[str], ports: str | Collection[int]) -> Rules:
        networks: list[Network] = []
        hosts: set[str] = set()
        places: set[tuple[str, int]] = set()
        for entry in _entries(allow):
            match _allowed(entry):
                case str() as host:
                    hosts.add(host)
                case (str() as host, int() as port):
                    places.add((host, port))
                case network:
                    networks.append(network)
        return cls(
            loopback=loopback,
            networks=tuple(networks),
            hosts=frozenset(hosts),
            places=frozenset(places),
            ports=frozenset(_port(_PORTS, port) for port in (_entries(ports) if isinstance(ports, str) else ports)),
        )

    def allows_port(self, host: str, port: int) -> bool:
        """Port 0 is never a place to go; local mode allows all others."""
        return port > 0 and (self.loopback or port in self.ports or (host, port) in self.places)

    def allows_name(self, host: str, port: int) -> bool:
        """Says no only to names that mean this machine whatever the resolver thinks."""
        if self.loopback or not (host == "localhost" or host.endswith(".localhost")):
            return True
        return self._named(host, port) or any(here in network for network in self.networks for here in _HERE)

    def allows_address(self, host: str, port: int, address: Address) -> bool:
        """Whether `host`, which stands for `address`, may be called there."""
        if is_forbidden(address):
            return False
        if self._named(host, port) or self._named(str(address), port):
            return True
        if any(address in network for network in self.networks):
            return True
        return is_public(address) or (self.loopback and is_loopback(address))

    def _named(self, host: str, port: int) -> bool:
        return host in self.hosts or (host, port) in self.places


def _entries(text: str | Sequence[str]) -> Iterable[str]:
    parts = text.split(",") if isinstance(text, str) else text
    return [part.strip() for part in parts if part.strip()]


def _allowed(entry: str) -> Network | str | tuple[str, int]:
    """A network, a host, or a host with its port."""
    try:
        return ip_network(entry)
    except ValueError:
        if "/" in entry:
            raise Invalid(_ALLOW, "is not a network such as 10.0.0.0/8 (host bits must be zero)", got=entry) from None
    host, colon, port = entry.rpartition(":")
    name = _host(host if colon else entry, entry)
    return (name, _port(_ALLOW, port)) if colon else name


def _host(text: str, entry: str) -> str:
    try:
        host = host_of(text.removeprefix("[").removesuffix("]"))
    except Invalid:
        raise Invalid(
            _ALLOW, "must list networks (10.0.0.0/8), hosts (hooks.internal) or host:port", got=entry
        ) from None
    # One spelling per address, so that an entry and an answer of the resolver compare as text.
    return str(ip_address(host)) if ":" in host else host


def _port(setting: str, text: str | int) -> int:
    try:
        port = int(text)
    except ValueError:
        port = 0
    if not 1 <= port <= 65535:
        raise Invalid(setting, "must name ports from 1 to 65535", got=text)
    return port
