"""Servers and a resolver with configured answers, for the tests of the egress."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from foliot.core.egress import EgressFailed, OutgoingRequest
from foliot.net.client import HttpEgress

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
MIB = 1024 * 1024

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """Answers every request with what it was told to, and remembers what it saw."""

    address: str = "127.0.0.1"
    port: int = 0
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)


@asynccontextmanager
async def serving(
    answer: bytes | Answer = OK, *, address: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    seen = Server(address)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                seen.requests.append(head)
                if callable(answer):
                    await answer(reader, writer)
                    break
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, address, port, ssl=tls)
    seen.port = server.sockets[0].getsockname()[1]
    try:
        yield seen
    finally:
        server.close()


@dataclass
class Names:
    """A resolver that gives its answers in turn, the last one for ever."""

    answers: list[Sequence[str]]
    asked: int = 0

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


def names(*answers: Sequence[str]) -> Names:
    return Names(list(answers))


def get(url: str, **options: Any) -> OutgoingRequest:
    return OutgoingRequest(method="GET", url=url, **{"timeout": timedelta(seconds=5), **options})


def body(content: bytes, *headers: str) -> bytes:
    lines = "".join(f"{line}\r\n" for line in (*headers, f"Content-Length: {len(content)}"))
    return f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode() + content


async def code_of(egress: HttpEgress, request: OutgoingRequest) -> str:
    with pytest.raises(EgressFailed) as caught:
        await egress.send(request)
    assert caught.value.__cause__ is None
    assert not any(word in caught.value.message for word in ("Errno", "127.0.0", "refused", "ssl", "Connect call"))
    return caught.value.code


async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Says nothing until the other side goes."""
    await reader.read()
