"""A Twisted resolver that refuses names with forbidden addresses; the checked address is the one connected to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Any

from twisted.internet.interfaces import IHostnameResolver, IResolutionReceiver
from zope.interface import implementer

from foliot.net.addresses import Address

Allowed = Callable[[str, int, Address], bool]
"""Whether a host, which resolved to this address, may be called at this port."""


@implementer(IHostnameResolver)
class CheckedResolver:
    """Delegates to another resolver, and passes its answer on when every address is allowed; one bad one is enough.

    A refused name looks like an unknown one, so that a crawl's log is no map of a network. The objects that Twisted
    passes here follow its interfaces, which type checkers cannot read.
    """

    def __init__(self, resolver: Any, allowed: Allowed) -> None:
        self.resolver = resolver
        self.allowed = allowed

    def resolveHostName(  # noqa: N802 -- Twisted's word
        self,
        resolutionReceiver: Any,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        *others: Any,
        **named: Any,
    ) -> Any:
        checked = _CheckedAddresses(resolutionReceiver, hostName, portNumber, self.allowed)
        return self.resolver.resolveHostName(checked, hostName, portNumber, *others, **named)


@implementer(IResolutionReceiver)
class _CheckedAddresses:
    """Buffers the addresses until all have arrived."""

    def __init__(self, receiver: Any, host: str, port: int, allowed: Allowed) -> None:
        self.receiver = receiver
        self.host = host
        self.port = port
        self.allowed = allowed
        self.addresses: list[Any] = []

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802
        self.receiver.resolutionBegan(resolution)

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        self.addresses.append(address)

    def resolutionComplete(self) -> None:  # noqa: N802
        if all_allowed(self.allowed, self.host, self.port, [str(one.host) for one in self.addresses]):
            for address in self.addresses:
                self.receiver.addressResolved(address)
        self.receiver.resolutionComplete()


def all_allowed(allowed: Allowed, host: str, port: int, addresses: Sequence[str]) -> bool:
    """A value that is no address is not allowed either."""
    try:
        return all(allowed(host, port, ip_address(address)) for address in addresses)
    except ValueError:
        return False
