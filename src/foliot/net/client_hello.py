"""Reads the first message of a TLS connection: whether it is one, and which protocols the client offers (ALPN)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

_HANDSHAKE, _CLIENT_HELLO = 22, 1
_RECORD_HEAD = 5
_LARGEST = 16 * 1024
_ALPN = 16


class NoClientHello(Exception):
    """The client does not begin with a TLS handshake."""


@dataclass(frozen=True, slots=True)
class ClientHello:
    """The record as it came, and the protocols that it offers; empty when it names none."""

    raw: bytes
    protocols: tuple[bytes, ...]

    @property
    def is_websocket(self) -> bool:
        """Browsers offer HTTP/1.1 alone where they are about to open a WebSocket, and h2 as well for pages."""
        return self.protocols == (b"http/1.1",)


async def read_client_hello(reader: asyncio.StreamReader) -> ClientHello:
    """The first record of a connection; `NoClientHello` when it is something else."""
    try:
        head = await reader.readexactly(_RECORD_HEAD)
        size = int.from_bytes(head[3:5])
        if head[0] != _HANDSHAKE or head[1] != 3 or not 4 <= size <= _LARGEST:
            raise NoClientHello
        body = await reader.readexactly(size)
    except asyncio.IncompleteReadError:
        raise NoClientHello from None
    if body[0] != _CLIENT_HELLO:
        raise NoClientHello
    return ClientHello(head + body, _protocols(body))


def _protocols(body: bytes) -> tuple[bytes, ...]:
    # Type and length of the message (4), version (2), random (32), then three vectors and the extensions.
    cursor = 4 + 2 + 32
    for width in (1, 2, 1):
        cursor += width + int.from_bytes(body[cursor : cursor + width])
    extensions = _vector(body[cursor:], 2)
    while len(extensions) >= 4:
        kind, content = int.from_bytes(extensions[:2]), _vector(extensions[2:], 2)
        if kind == _ALPN:
            return tuple(_each(_vector(content, 2)))
        extensions = extensions[4 + len(content) :]
    return ()


def _vector(data: bytes, width: int) -> bytes:
    return data[width : width + int.from_bytes(data[:width])]


def _each(names: bytes) -> Iterator[bytes]:
    while names:
        name = _vector(names, 1)
        yield name
        names = names[1 + len(name) :]
