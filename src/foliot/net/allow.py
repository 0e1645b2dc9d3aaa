"""What the operator allows beyond the public internet: `FOLIOT_EGRESS_ALLOW` and `FOLIOT_EGRESS_PORTS`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from foliot.core.errors import Invalid
from foliot.net.addresses import Address, Network, is_forbidden, is_loopback, is_public
from foliot.net.allow_entry import AllowEntry, entries_of, read_place, read_port
from foliot.net.interfaces import OWN

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

    def _named(self, host: str, port: int) -> bool:
        return AllowEntry(host) in self.places or AllowEntry(host, port) in self.places
