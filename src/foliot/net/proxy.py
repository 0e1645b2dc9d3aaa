"""An HTTP proxy for programs that cannot use our client (browsers, Apprise): every target passes the SSRF guard.

It speaks CONNECT and plain HTTP. A program gets an address with a password of its own; the password names the tenant,
bounds what the program may open and transfer, and ends with the program. Without a valid password nothing is forwarded.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hmac
import secrets
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog

from foliot.core.egress import EgressFailed, EgressRefused
from foliot.net.allow import EgressRules
from foliot.net.client_hello import NoClientHello, read_client_hello
from foliot.net.proxy_messages import (
    ANSWER_HEAD_BYTES,
    ProxyRefused,
    RequestHead,
    answer_head,
    plain_request,
    read_request,
    tunnel_target,
)
from foliot.net.tcp import TcpEgress

log = structlog.get_logger("foliot.net")

LOOPBACK = "127.0.0.1"
HEAD_SECONDS = 10.0
IDLE_SECONDS = 60.0
LIFETIME = 600.0
"""Seconds after which a connection is closed, whatever it does."""
CONNECTIONS = 64
"""Open connections of one program."""
CONNECTIONS_IN_ALL = 1024
"""Open connections of all programs, and of those that have not given a password yet."""
TRANSFER = 256 * 1024 * 1024
"""Bytes in both directions that one program may transfer."""
_CHUNK = 64 * 1024


@dataclass(slots=True, eq=False, kw_only=True)
class ProxyClient:
    """One program that may use the proxy: its tenant, and what it has used of its bounds."""

    tenant_id: str
    password: str
    transfer: int
    """Bytes that are left."""
    secure_tunnels: bool
    """Whether tunnels carry TLS only, and no WebSockets."""
    rules: EgressRules | None
    """Narrower rules than the proxy's own."""
    upstream: str | None = field(default=None, repr=False)
    """URL of another proxy that its connections lead through."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    """Its open connections."""
    refusals: int = 0
    """Connections that were not opened, because their target is not allowed."""

    def count(self, size: int) -> None:
        """Count transferred bytes; ends the connection that exceeds the bound."""
        self.transfer -= size
        if self.transfer < 0:
            log.warning("a program transferred more than its limit", action="proxy_limit", tenant_id=self.tenant_id)
            raise ConnectionAbortedError


@dataclass(frozen=True, slots=True)
class ProxyGrant:
    """What a program needs to use the proxy."""

    host: str
    port: int
    username: str
    password: str = field(repr=False)
    client: ProxyClient = field(repr=False)

    @property
    def server(self) -> str:
        """The URL without the password, for programs that take it apart."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def url(self) -> str:
        return self.server.replace("http://", f"http://{self.username}:{self.password}@", 1)


@dataclass(kw_only=True, eq=False)
class EgressProxy:
    """Listens on loopback, unless it is given another address, and forwards to checked addresses only."""

    tcp: TcpEgress
    idle: float = IDLE_SECONDS
    lifetime: float = LIFETIME
    head_seconds: float = HEAD_SECONDS
    host: str = LOOPBACK
    """The address it listens on, and that programs are given."""
    listen_port: int = 0
    """0: any free port."""
    most: int = CONNECTIONS_IN_ALL
    _server: asyncio.Server | None = field(default=None, init=False, repr=False)
    _clients: dict[str, ProxyClient] = field(default_factory=dict, init=False, repr=False)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False, repr=False)

    async def start(self) -> None:
        """Listen; calling it again does nothing."""
        if self._server is None:
            self._server = await asyncio.start_server(
                self._accept, self.host, self.listen_port, limit=ANSWER_HEAD_BYTES
            )

    async def close(self) -> None:
        """Stop listening, and end every connection."""
        if self._server is not None:
            self._server.close()
        await _end(self._tasks)
        self._clients.clear()
        self._server = None

    @property
    def port(self) -> int:
        """The port it listens on."""
        if self._server is None:
            raise RuntimeError("EgressProxy.start() was not called")
        return int(self._server.sockets[0].getsockname()[1])

    @asynccontextmanager
    async def client(self, tenant_id: str, *, transfer: int = TRANSFER) -> AsyncIterator[str]:
        """The proxy's URL for one program of this tenant; its connections end with the context."""
        async with self.grant(tenant_id, transfer=transfer) as grant:
            yield grant.url

    @asynccontextmanager
    async def grant(
        self,
        tenant_id: str,
        *,
        transfer: int = TRANSFER,
        secure_tunnels: bool = False,
        rules: EgressRules | None = None,
        upstream: str | None = None,
    ) -> AsyncIterator[ProxyGrant]:
        """Leave for one program of this tenant; its connections end with the context."""
        name, password = secrets.token_hex(8), secrets.token_hex(16)
        client = self._clients[name] = ProxyClient(
            tenant_id=tenant_id,
            password=password,
            transfer=transfer,
            secure_tunnels=secure_tunnels,
            rules=rules,
            upstream=upstream,
        )
        try:
            yield ProxyGrant(self.host, self.port, name, password, client)
        finally:
            self._clients.pop(name, None)
            await _end(client.tasks)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= self.most:
            writer.close()
            return
        task = asyncio.get_running_loop().create_task(self._talk(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(self.lifetime):
                async with asyncio.timeout(self.head_seconds):
                    raw = await reader.readuntil(b"\r\n\r\n")
                head = read_request(raw)
                with self._client(head) as client:
                    await self._forward(client, head, reader, writer)
        except ProxyRefused as refusal:
            await _answer(writer, refusal)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, OSError):
            # A side left, was too slow, or sent a head that is too large: there is nothing to answer.
            pass
        finally:
            await _closed(writer)

    @contextlib.contextmanager
    def _client(self, head: RequestHead) -> Iterator[ProxyClient]:
        """The program that asks, with this connection counted."""
        client, task = self._authenticate(head), asyncio.current_task()
        if task is None or len(client.tasks) >= CONNECTIONS:
            raise ProxyRefused("429 Too Many Requests", f"at most {CONNECTIONS} connections may be open at once")
        client.tasks.add(task)
        try:
            yield client
        finally:
            client.tasks.discard(task)

    def _authenticate(self, head: RequestHead) -> ProxyClient:
        scheme, _, token = head.get("proxy-authorization").partition(" ")
        name = password = ""
        if scheme.lower() == "basic":
            with contextlib.suppress(binascii.Error, UnicodeDecodeError):
                name, _, password = base64.b64decode(token, validate=True).decode().partition(":")
        client = self._clients.get(name)
        if client is None or not hmac.compare_digest(client.password.encode(), password.encode()):
            raise ProxyRefused(
                "407 Proxy Authentication Required", "the proxy requires the password it was started with"
            )
        return client

    async def _forward(
        self, client: ProxyClient, head: RequestHead, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if head.method == "CONNECT":
            host, port = tunnel_target(head)
            async with self._opened(client, host, port) as (there, out):
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                if client.secure_tunnels:
                    out.write(await self._first_record(client, host, reader))
                await _pipe_both(client, self.idle, (reader, out), (there, writer))
            return
        host, port, first = plain_request(head)
        length = head.length
        async with self._opened(client, host, port) as (there, out):
            client.count(len(first))
            out.write(first)
            sending = asyncio.create_task(_send_body(client, self.idle, reader, out, length))
            receiving = asyncio.create_task(_receive_answer(client, self.idle, there, writer))
            # When the program leaves there is no one to answer; when the answer is complete the request is over.
            await _first_of(receiving, sending)

    @asynccontextmanager
    async def _opened(
        self, client: ProxyClient, host: str, port: int
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        try:
            sock = await self.tcp.open(host, port, client.tenant_id, rules=client.rules, upstream=client.upstream)
        except EgressRefused as refusal:
            client.refusals += 1
            raise ProxyRefused("403 Forbidden", str(refusal)) from None
        except EgressFailed as failure:
            raise ProxyRefused("502 Bad Gateway", failure.message) from None
        reader, writer = await asyncio.open_connection(sock=sock, limit=ANSWER_HEAD_BYTES)
        try:
            yield reader, writer
        finally:
            await _closed(writer)

    async def _first_record(self, client: ProxyClient, host: str, reader: asyncio.StreamReader) -> bytes:
        try:
            async with asyncio.timeout(self.head_seconds):
                hello = await read_client_hello(reader)
        except NoClientHello:
            hello = None
        if hello is None or hello.is_websocket:
            client.refusals += 1
            log.info(
                "a tunnel was closed: it did not carry HTTPS",
                action="proxy_tunnel",
                tenant_id=client.tenant_id,
                host=host,
            )
            raise ConnectionAbortedError
        client.count(len(hello.raw))
        return hello.raw


async def _send_body(
    client: ProxyClient, idle: float, source: asyncio.StreamReader, sink: asyncio.StreamWriter, length: int
) -> None:
    """Forward the body of the one request; returns when the program leaves, or sends more than that."""
    while length:
        chunk = await asyncio.wait_for(source.read(min(_CHUNK, length)), idle)
        if not chunk:
            return
        length -= len(chunk)
        await _write(client, idle, sink, chunk)
    await source.read(1)


async def _receive_answer(
    client: ProxyClient, idle: float, source: asyncio.StreamReader, sink: asyncio.StreamWriter
) -> None:
    status = 0
    while status < 200:
        raw = await asyncio.wait_for(source.readuntil(b"\r\n\r\n"), idle)
        status, head = answer_head(raw)
        await _write(client, idle, sink, head)
    await _pipe(client, idle, source, sink)


async def _pipe_both(
    client: ProxyClient,
    idle: float,
    up: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    down: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    """Copy in both directions until the target has sent everything, either side fails, or nothing moves for a while."""
    receiving = asyncio.create_task(_pipe(client, idle, *down))
    await _first_of(receiving, asyncio.create_task(_then(_pipe(client, idle, *up), receiving)))


async def _then(copying: Coroutine[Any, Any, None], other: asyncio.Task[None]) -> None:
    """A side that has sent everything may still receive; one that failed ends both."""
    await copying
    await asyncio.wait([other])


async def _pipe(client: ProxyClient, idle: float, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while chunk := await asyncio.wait_for(source.read(_CHUNK), idle):
        await _write(client, idle, sink, chunk)
    if sink.can_write_eof():
        sink.write_eof()


async def _write(client: ProxyClient, idle: float, sink: asyncio.StreamWriter, chunk: bytes) -> None:
    client.count(len(chunk))
    sink.write(chunk)
    async with asyncio.timeout(idle):
        await sink.drain()


async def _first_of(*tasks: asyncio.Task[None]) -> None:
    """Wait for the first to end, and cancel the others."""
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


async def _answer(writer: asyncio.StreamWriter, refusal: ProxyRefused) -> None:
    body = f"{refusal.message}\n".encode()
    challenge = 'Proxy-Authenticate: Basic realm="foliot"\r\n' if refusal.status.startswith("407") else ""
    head = f"HTTP/1.1 {refusal.status}\r\n{challenge}Content-Type: text/plain; charset=utf-8\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    with contextlib.suppress(OSError):
        await writer.drain()


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _end(tasks: set[asyncio.Task[None]]) -> None:
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
