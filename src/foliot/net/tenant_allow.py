"""A tenant's own allow-list. It narrows what the operator allows, and never widens it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from foliot.core.errors import Invalid
from foliot.net.addresses import Address, Network
from foliot.net.allow_entry import AllowEntry, entries_of, read_place

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


@lru_cache(maxsize=256)
def _read(entries: tuple[str, ...]) -> TenantTargets:
    read = [read_place(entry, FIELD) for entry in entries_of(entries)]
    return TenantTargets(
        networks=tuple(each for each in read if not isinstance(each, AllowEntry)),
        places=tuple(each for each in read if isinstance(each, AllowEntry)),
    )
