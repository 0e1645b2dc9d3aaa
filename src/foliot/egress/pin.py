"""Connections that go to the address that was checked, and nowhere else."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Protocol

from aiohttp import TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult

from foliot.egress.addresses import Address
from foliot.ports import EgressRefused

if TYPE_CHECKING:
    import ssl

    from aiohttp import ClientRequest, ClientTimeout
    from aiohttp.connector import AddrInfoType, Connection
    from aiohttp.tracing import Trace

_AT_ONCE_PER_TARGET = 100
_IDLE = 4.0
"""Shorter than the five seconds after which Node and uvicorn hang up, so a kept connection is seldom a dead one."""
_LOOKUPS = 16


class Resolver(Protocol):
    """Every address of a name, as text; `OSError` when it has none."""

    async def __call__(self, host: str) -> Sequence[str]: ...


@dataclass(slots=True)
class Pin:
    """The one place the current request may connect to."""

    port: int
    address: Address | None = None
    connected: bool = False

    def matches(self, place: Any) -> bool:
        try:
            return ip_address(place[0]) == self.address and place[1] == self.port
        except (ValueError, TypeError, IndexError):
            return False


PIN: ContextVar[Pin | None] = ContextVar("foliot_egress_pin", default=None)


class PinnedConnector(TCPConnector):
    """Dials only what `PIN` names, and looks at who answered before a byte of the request is sent."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        super().__init__(
            resolver=_NoNames(),
            use_dns_cache=False,
            socket_factory=_open,
            happy_eyeballs_delay=None,
            ssl=tls if tls is not None else True,
            limit=0,
            limit_per_host=_AT_ONCE_PER_TARGET,
            keepalive_timeout=_IDLE,
        )

    async def connect(self, req: ClientRequest, traces: list[Trace], timeout: ClientTimeout) -> Connection:
        connection = await super().connect(req, traces, timeout)
        pin = PIN.get()
        transport = connection.transport
        if pin is None or transport is None or not pin.matches(transport.get_extra_info("peername")):
            connection.close()
            raise EgressRefused("the connection did not lead to the address that was checked")
        pin.connected = True
        return connection


class SystemResolver:
    """The machine's own resolver, in threads of its own: slow names must not hold up other work."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="foliot-dns")

    async def __call__(self, host: str) -> Sequence[str]:
        return await asyncio.get_running_loop().run_in_executor(self._threads, _look_up, host)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class _NoNames(AbstractResolver):
    """Names are resolved and checked before aiohttp sees the request; one that arrives here has evaded the check."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        raise EgressRefused("a name reached the connector unchecked")

    async def close(self) -> None:
        return


def _open(info: AddrInfoType) -> socket.socket:
    family, kind, proto, _, place = info
    pin = PIN.get()
    if pin is None or not pin.matches(place):
        raise EgressRefused("the connection would not lead to the address that was checked")
    return socket.socket(family=family, type=kind, proto=proto)


def _look_up(host: str) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in found))
