"""A host with configured answers per path that keeps connections open, and records requests."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Stream = Callable[[asyncio.StreamWriter], Awaitable[None]]
Answer = bytes | Stream
"""Bytes as they are, or somebody who writes them; after that the connection is closed."""

NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


@dataclass
class Newsstand:
    """What it offers, and what was asked of it."""

    paths: dict[str, Answer] = field(default_factory=dict)
    address: str = "127.0.0.1"
    port: int = 0
    scheme: str = "http"
    connections: int = 0
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    """Path and headers of each request."""

    def url(self, path: str) -> str:
        return f"{self.scheme}://{self.address}:{self.port}{path}"

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode("latin-1").split("\r\n")
                path = first.split(" ")[1]
                named = (line.partition(": ") for line in lines if line)
                self.asked.append((path, {name.lower(): value for name, _, value in named}))
                answer = self.paths.get(path, NOT_FOUND)
                if not isinstance(answer, bytes):
                    await answer(writer)
                    break
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            """Whoever asked is gone."""
        finally:
            writer.close()


@asynccontextmanager
async def newsstand(address: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Newsstand]:
    made = Newsstand(address=address, scheme="http" if tls is None else "https")
    server = await asyncio.start_server(made.talk, address, 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


def answer(body: str | bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    """An answer of HTTP; HTML unless its headers say otherwise."""
    content = body.encode() if isinstance(body, str) else body
    if not any(line.lower().startswith("content-type") for line in headers):
        headers = ("Content-Type: text/html; charset=utf-8", *headers)
    lines = "".join(f"{line}\r\n" for line in (*headers, f"Content-Length: {len(content)}"))
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + content


def moved(where: str) -> bytes:
    return answer(b"", f"Location: {where}", status="302 Found")


def story(title: str = "A story", text: str = "") -> str:
    paragraphs = "".join(
        f"<p>Paragraph {number} of {title} tells at some length what happened that morning, and why it matters.</p>"
        for number in range(8)
    )
    return (
        f'<html lang="en"><head><title>{title}</title></head><body><nav><a href="/">Home</a></nav>'
        f"<article><h1>{title}</h1>{paragraphs}<p>{text}</p></article></body></html>"
    )
