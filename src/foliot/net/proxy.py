"""An HTTP proxy on loopback for programs that cannot use our client: every target passes the SSRF guard.

It speaks CONNECT and plain HTTP. A program gets an address with a password of its own; the password names the tenant,
bounds what the program may transfer, and ends with the program. Without a valid password nothing is forwarded.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hmac
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import structlog

from foliot.core.egress import EgressFailed, EgressRefused
from foliot.core.errors import Invalid
from foliot.net.tcp import TcpEgress
from foliot.net.url import read_url

log = structlog.get_logger("foliot.net")

HEAD_BYTES = 16 * 1024
HEAD_SECONDS = 10.0
IDLE_SECONDS = 60.0
CONNECTIONS = 64
"""Open connections of one program."""
TRANSFER = 256 * 1024 * 1024
"""Bytes in both directions that one program may transfer."""
_CHUNK = 64 * 1024
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "upgrade"})


@dataclass(slots=True, eq=False)
class ProxyClient:
    """One program that may use the proxy: its tenant, and what it has used of its bounds."""

    tenant_id: str
    password: str
    transfer: int
    """Bytes that are left."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    """Its open connections."""


@dataclass(frozen=True, slots=True)
class _Head:
    """The head of a request: its line, and its headers as they came."""

    method: str
    target: str
    version: str
    headers: list[tuple[str, str]]

    def get(self, name: str) -> str:
        return next((value for each, value in self.headers if each.lower() == name), "")


class _Refused(Exception):
    """The request is answered by the proxy itself."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(kw_only=True, eq=False)
class EgressProxy:
    """Listens on loopback and forwards to checked addresses only."""

    tcp: TcpEgress
    idle: float = IDLE_SECONDS
    _server: asyncio.Server | None = field(default=None, init=False, repr=False)
    _clients: dict[str, ProxyClient] = field(default_factory=dict, init=False, repr=False)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False, repr=False)

    async def start(self) -> None:
        """Listen on a free port of loopback."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=HEAD_BYTES)

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
        name, password = secrets.token_hex(8), secrets.token_hex(16)
        client = self._clients[name] = ProxyClient(tenant_id, password, transfer)
        try:
            yield f"http://{name}:{password}@127.0.0.1:{self.port}"
        finally:
            self._clients.pop(name, None)
            await _end(client.tasks)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._talk(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                head = _read_head(await reader.readuntil(b"\r\n\r\n"))
            with self._client(head) as client:
                await self._forward(client, head, reader, writer)
        except _Refused as refusal:
            await _answer(writer, refusal)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, OSError):
            # The program left, was too slow, or sent a head that is too large: there is nothing to answer.
            pass
        finally:
            await _closed(writer)

    @contextlib.contextmanager
    def _client(self, head: _Head) -> Iterator[ProxyClient]:
        """The program that asks, with this connection counted."""
        client, task = self._authenticate(head), asyncio.current_task()
        if task is None or len(client.tasks) >= CONNECTIONS:
            raise _Refused("429 Too Many Requests", f"at most {CONNECTIONS} connections may be open at once")
        client.tasks.add(task)
        try:
            yield client
        finally:
            client.tasks.discard(task)

    def _authenticate(self, head: _Head) -> ProxyClient:
        scheme, _, token = head.get("proxy-authorization").partition(" ")
        name = password = ""
        if scheme.lower() == "basic":
            with contextlib.suppress(binascii.Error, UnicodeDecodeError):
                name, _, password = base64.b64decode(token, validate=True).decode().partition(":")
        client = self._clients.get(name)
        if client is None or not hmac.compare_digest(client.password.encode(), password.encode()):
            raise _Refused("407 Proxy Authentication Required", "the proxy needs the password it was started with")
        return client

    async def _forward(
        self, client: ProxyClient, head: _Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        host, port, first = _tunnel(head) if head.method == "CONNECT" else _plain(head)
        try:
            sock = await self.tcp.open(host, port, client.tenant_id)
        except EgressRefused as refusal:
            raise _Refused("403 Forbidden", str(refusal)) from None
        except EgressFailed as failure:
            raise _Refused("502 Bad Gateway", failure.message) from None
        there, out = await asyncio.open_connection(sock=sock)
        try:
            if first:
                out.write(first)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await _pipe_both(client, self.idle, (reader, out), (there, writer))
        finally:
            await _closed(out)


def _read_head(raw: bytes) -> _Head:
    try:
        line, *lines = raw.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        method, target, version = line.split(" ")
        headers = [(name, value.strip()) for name, _, value in (each.partition(":") for each in lines)]
    except ValueError:
        raise _Refused("400 Bad Request", "the request line must be: METHOD target HTTP/1.1") from None
    if not version.startswith("HTTP/1."):
        raise _Refused("400 Bad Request", "only HTTP/1.1 is spoken here")
    return _Head(method, target, version, headers)


def _tunnel(head: _Head) -> tuple[str, int, bytes]:
    host, _, port = head.target.rpartition(":")
    if not port.isascii() or not port.isdigit() or len(port) > 5:
        raise _Refused("400 Bad Request", "CONNECT names host:port")
    return host.removeprefix("[").removesuffix("]"), int(port), b""


def _plain(head: _Head) -> tuple[str, int, bytes]:
    """The request as the origin server expects it; one per connection, so that each passes the guard."""
    try:
        target = read_url(head.target)
    except Invalid as fault:
        raise _Refused("400 Bad Request", f"the URL {fault.message}") from None
    if target.url.scheme != "http":
        raise _Refused("400 Bad Request", "https goes through CONNECT")
    kept = [(name, value) for name, value in head.headers if name.lower() not in {*_HOP_BY_HOP, "host"}]
    lines = [
        f"{head.method} {target.url.raw_path_qs} HTTP/1.1",
        f"Host: {target.authority}",
        *(f"{name}: {value}" for name, value in kept),
        "Connection: close",
    ]
    return target.host, target.port, "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _pipe_both(
    client: ProxyClient,
    idle: float,
    up: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    down: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    """Copy in both directions until the target has said everything, either side fails, or nothing moves for a while."""
    sending = asyncio.create_task(_pipe(client, idle, *up))
    try:
        await _pipe(client, idle, *down)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _pipe(client: ProxyClient, idle: float, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while chunk := await asyncio.wait_for(source.read(_CHUNK), idle):
        client.transfer -= len(chunk)
        if client.transfer < 0:
            log.warning("a program transferred more than it may", action="proxy_limit", tenant_id=client.tenant_id)
            raise ConnectionAbortedError
        sink.write(chunk)
        async with asyncio.timeout(idle):
            await sink.drain()
    if sink.can_write_eof():
        sink.write_eof()


async def _answer(writer: asyncio.StreamWriter, refusal: _Refused) -> None:
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
