"""Kept connections to addresses that were checked, and one HTTP/1.1 exchange on one of them.

aiohttp parses the answers; its session, connector and request objects are left out, which cost more than the exchange.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import ClientOSError, ServerDisconnectedError

from foliot.net.addresses import Address
from foliot.net.failures import TlsFailed, not_connected
from foliot.net.pinned_address import Pin, ProxyRoute, WrongPeer
from foliot.net.response import ACCEPTED, BoundedResponse, read_answer
from foliot.net.response_limits import BoundedResponseHandler
from foliot.net.upstream import UpstreamFailed, open_tunnel

if TYPE_CHECKING:
    from foliot.core.egress import OutgoingRequest
    from foliot.net.url import UrlTarget

_IDLE = 4.0
"""Shorter than the five seconds after which Node and uvicorn close, so that a kept connection is seldom dead."""
_HEADER_BYTES = 8 * 1024
_HEADERS = 128
_BUFFER = 64 * 1024
"""Buffered bytes per answer; also how much is parsed before other tasks get the loop."""
_ANSWER = {
    "skip_payload": False,
    "read_until_eof": True,
    "auto_decompress": False,
    "read_bufsize": _BUFFER,
    "max_line_size": _HEADER_BYTES,
    "max_field_size": _HEADER_BYTES,
    "max_headers": _HEADERS,
}
"""How aiohttp's parser reads an answer."""
_BODILESS_ANSWER = _ANSWER | {"skip_payload": True}
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS"})
_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})

Key = tuple[str, str, Address, int, bool, ProxyRoute | None]
"""Tenant, name, address, port, TLS and upstream route: connections are never shared across any of these."""


@dataclass(slots=True)
class PinnedConnections:
    """Connects only to the address of a `Pin`, and checks the peer's before a byte of the request is sent."""

    tls: ssl.SSLContext | None = None
    _kept: dict[Key, deque[tuple[float, BoundedResponseHandler]]] = field(default_factory=dict)
    _sweep: asyncio.TimerHandle | None = None
    _default: ssl.SSLContext | None = None

    async def exchange(
        self, target: UrlTarget, address: Address, request: OutgoingRequest, pin: Pin, patience: float
    ) -> BoundedResponse:
        """One request and its answer. On a kept connection that turns out to be dead, it is repeated if it may be."""
        pin.address, pin.connected = address, False
        key = (request.tenant_id, target.host, address, target.port, target.url.scheme == "https", pin.route)
        kept = self._take(key)
        if kept is not None:
            try:
                return await self._ask(key, kept, target, request, pin)
            except (ClientOSError, ServerDisconnectedError):
                if request.method not in _IDEMPOTENT:
                    raise
        return await self._ask(key, await self._connect(key, patience, pin), target, request, pin)

    def close(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        for line in self._kept.values():
            for _, handler in line:
                handler.close()
        self._kept.clear()

    async def _ask(
        self, key: Key, handler: BoundedResponseHandler, target: UrlTarget, request: OutgoingRequest, pin: Pin
    ) -> BoundedResponse:
        transport = handler.transport
        if transport is None or not pin.matches(transport.get_extra_info("peername")):
            handler.close()
            raise WrongPeer("the connection went to another address than the one that was checked")
        pin.connected = True
        try:
            handler.begin(request.most, _BODILESS_ANSWER if request.method == "HEAD" else _ANSWER)
            transport.write(encoded(target, request))
            pin.sent = asyncio.get_running_loop().time()
            answer, reusable = await read_answer(handler, pin, keep=request.keep, most=request.most)
        except BaseException:
            # Also when the caller gave up: no task owns what is under way any more.
            handler.abort()
            raise
        if reusable and not handler.should_close:
            self._keep(key, handler)
        else:
            handler.close()
        return answer

    async def _connect(self, key: Key, patience: float, pin: Pin) -> BoundedResponseHandler:
        loop = asyncio.get_running_loop()
        _, host, address, port, secure, _ = key
        first, door = (address, port) if pin.route is None else (pin.route.address, pin.route.proxy.target.port)
        family = socket.AF_INET if first.version == 4 else socket.AF_INET6
        sock = socket.socket(family, socket.SOCK_STREAM)
        pin.dialled, pin.accepted, pin.secured = loop.time(), 0.0, 0.0
        try:
            sock.settimeout(0)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(patience):
                await loop.sock_connect(sock, (str(first), door))
                if pin.route is not None:
                    await open_tunnel(sock, pin.route.proxy, address, port)
                pin.accepted = loop.time()
                _, handler = await loop.create_connection(
                    functools.partial(BoundedResponseHandler, loop=loop),
                    sock=sock,
                    ssl=self._context() if secure else None,
                    server_hostname=host if secure else None,
                )
        except ssl.SSLError as error:
            sock.close()
            raise TlsFailed(error) from None
        except OSError as error:
            sock.close()
            if pin.route is not None and not pin.accepted:
                raise UpstreamFailed("the proxy could not be reached, or gave no answer in time") from None
            took = patience if isinstance(error, TimeoutError) else loop.time() - pin.dialled
            raise not_connected(error, address, port, took, secure=pin.accepted > 0) from None
        except BaseException:
            sock.close()
            raise
        if secure:
            pin.secured = loop.time()
        return handler

    def _context(self) -> ssl.SSLContext:
        if self.tls is not None:
            return self.tls
        if self._default is None:
            self._default = ssl.create_default_context()
            self._default.set_alpn_protocols(["http/1.1"])
        return self._default

    def _take(self, key: Key) -> BoundedResponseHandler | None:
        """The connection that was used last, if one is still alive."""
        line = self._kept.get(key)
        now = asyncio.get_running_loop().time()
        while line:
            at, handler = line.pop()
            if not line:
                del self._kept[key]
            if now - at <= _IDLE and handler.is_connected() and not handler.should_close:
                return handler
            handler.close()
        return None

    def _keep(self, key: Key, handler: BoundedResponseHandler) -> None:
        loop = asyncio.get_running_loop()
        self._kept.setdefault(key, deque()).append((loop.time(), handler))
        if self._sweep is None:
            self._sweep = loop.call_later(_IDLE / 2, self._drop_idle)

    def _drop_idle(self) -> None:
        loop = asyncio.get_running_loop()
        before = loop.time() - _IDLE
        for key, line in list(self._kept.items()):
            while line and (line[0][0] < before or not line[0][1].is_connected()):
                line.popleft()[1].close()
            if not line:
                del self._kept[key]
        self._sweep = loop.call_later(_IDLE / 2, self._drop_idle) if self._kept else None


def encoded(target: UrlTarget, request: OutgoingRequest) -> bytes:
    """The request as it is sent. Its header names and values have passed the guard: they hold no line breaks."""
    lines = [
        f"{request.method} {target.path} HTTP/1.1",
        f"Host: {target.authority}",
        *[f"{name}: {value}" for name, value in request.headers.items()],
    ]
    if "accept" not in map(str.lower, request.headers):
        lines.append("Accept: */*")
    lines.append(f"Accept-Encoding: {ACCEPTED}")
    if request.body is not None:
        lines.append(f"Content-Length: {len(request.body)}")
    elif request.method not in _BODILESS:
        lines.append("Content-Length: 0")
    return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + (request.body or b"")
