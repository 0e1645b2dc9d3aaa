"""An aiohttp connector that connects only to the address that was checked."""

from __future__ import annotations

import functools
import socket
from typing import TYPE_CHECKING, Any

from aiohttp import ClientRequest, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler

from foliot.net.pinned_address import PIN, WrongPeer
from foliot.net.response_limits import BoundedResponseHandler

if TYPE_CHECKING:
    import ssl

    from aiohttp import ClientTimeout
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import AddrInfoType, Connection
    from aiohttp.tracing import Trace

_IDLE = 4.0
"""Shorter than the five seconds after which Node and uvicorn close, so that a kept connection is seldom dead."""


class PinnedRequest(ClientRequest):
    """Adds the tenant to the pool key, beside host name, address, port and TLS."""

    @property
    def connection_key(self) -> ConnectionKey:
        pin = PIN.get()
        # There are no proxies here, so that part of the key is free.
        tenant: Any = "" if pin is None else pin.tenant_id
        return super().connection_key._replace(proxy_headers_hash=tenant)


class PinnedConnector(TCPConnector):
    """Connects only to `PIN`, and checks the peer's address before a byte of the request is sent."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        super().__init__(
            resolver=_NoNames(),
            use_dns_cache=False,
            socket_factory=_open,
            happy_eyeballs_delay=None,
            ssl=tls if tls is not None else True,
            # `Turns` limits concurrency; a second limit here would only hide it.
            limit=0,
            limit_per_host=0,
            keepalive_timeout=_IDLE,
        )
        listener: type[ResponseHandler] = BoundedResponseHandler
        self._factory = functools.partial(listener, loop=self._loop)

    async def connect(self, req: ClientRequest, traces: list[Trace], timeout: ClientTimeout) -> Connection:
        connection = await super().connect(req, traces, timeout)
        pin = PIN.get()
        transport = connection.transport
        if pin is None or transport is None or not pin.matches(transport.get_extra_info("peername")):
            connection.close()
            raise WrongPeer("the connection did not lead to the address that was checked")
        pin.connected = True
        return connection


class _NoNames(AbstractResolver):
    """Names are resolved and checked before aiohttp sees the request; one that arrives here bypassed the check."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        raise WrongPeer("a name reached the connector unchecked")

    async def close(self) -> None:
        return


def _open(info: AddrInfoType) -> socket.socket:
    family, kind, proto, _, place = info
    pin = PIN.get()
    if pin is None or not pin.matches(place):
        raise WrongPeer("the connection would not lead to the address that was checked")
    return socket.socket(family=family, type=kind, proto=proto)
