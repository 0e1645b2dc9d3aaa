"""Opens TCP connections to addresses that the SSRF guard has checked: for SMTP and for the egress proxy."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass, field, replace
from datetime import timedelta

from foliot.core.egress import EgressRefused
from foliot.core.errors import Invalid
from foliot.net.addresses import Address
from foliot.net.allow import EgressRules
from foliot.net.failures import Unreachable
from foliot.net.guard import EgressGuard, Resolve
from foliot.net.pinned_address import ProxyRoute
from foliot.net.resolver import Lookups
from foliot.net.upstream import open_tunnel
from foliot.net.url import UrlTarget

CONNECT = timedelta(seconds=10)
_QUIET = timedelta(milliseconds=250)
"""Minimum time before a target is reported unreachable, as for HTTP requests: refusals must not map a network."""
_ADDRESSES_TRIED = 4


@dataclass(kw_only=True, eq=False)
class TcpEgress:
    """Connects to checked addresses only; the caller speaks its protocol over the socket."""

    guard: EgressGuard
    connect: timedelta = CONNECT
    """Timeout of the name lookup and the connection together."""
    resolve: Resolve | None = None
    """Replaces the system's resolver."""
    _lookups: Lookups | None = field(default=None, init=False, repr=False)

    def check(self, host: str, port: int) -> UrlTarget:
        """`Invalid` when no connection to this host and port could ever be allowed; looks up no names."""
        return _admit(self.guard, host, port)

    async def open(
        self, host: str, port: int, tenant_id: str, *, rules: EgressRules | None = None, upstream: str | None = None
    ) -> socket.socket:
        """A connected socket; `EgressRefused` or `Unreachable` as for HTTP requests. `rules` replace the guard's.

        `upstream` is the URL of a proxy that the connection leads through, to the checked address of the target.
        """
        guard = self.guard if rules is None else replace(self.guard, rules=rules)
        try:
            target = _admit(guard, host, port)
        except Invalid as refusal:
            raise EgressRefused(f"The target {refusal.message}.") from None
        limits = await guard.limits_of(tenant_id, target)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self.connect.total_seconds()):
                resolve = self.resolve or self._look_up
                addresses = await guard.addresses(target, tenant_id, limits, resolve)
                if upstream is not None:
                    route = await self.guard.route(upstream, tenant_id, resolve)
                    return await _through(route, addresses[0], port)
                return await _first(addresses[:_ADDRESSES_TRIED], port, self.connect.total_seconds())
        except (TimeoutError, OSError, Unreachable):
            if not guard.rules.loopback:
                await asyncio.sleep(began + min(_QUIET, self.connect).total_seconds() - loop.time())
            raise Unreachable from None

    async def _look_up(self, host: str, tenant_id: str) -> list[str]:
        if self._lookups is None:
            self._lookups = Lookups()
        return list(await self._lookups.addresses(host, tenant_id))

    def close(self) -> None:
        """Ends the threads of the resolver; open sockets belong to their callers."""
        if self._lookups is not None:
            self._lookups.close()
        self._lookups = None


def _admit(guard: EgressGuard, host: str, port: int) -> UrlTarget:
    return guard.admit(f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/")


async def _first(addresses: list[Address], port: int, seconds: float) -> socket.socket:
    """The first address that accepts a connection; each but the last gets half of the remaining time."""
    for address in addresses[:-1]:
        seconds /= 2
        try:
            async with asyncio.timeout(seconds):
                return await _connected(address, port)
        except (TimeoutError, OSError):
            continue
    return await _connected(addresses[-1], port)


async def _through(route: ProxyRoute, address: Address, port: int) -> socket.socket:
    sock = await _connected(route.address, route.proxy.target.port)
    try:
        await open_tunnel(sock, route.proxy, address, port)
    except BaseException:
        sock.close()
        raise
    return sock


async def _connected(address: Address, port: int) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.settimeout(0)
    try:
        await asyncio.get_running_loop().sock_connect(sock, (str(address), port))
    except BaseException:
        sock.close()
        raise
    return sock
