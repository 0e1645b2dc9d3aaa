"""Asks an ASGI app in this process, without a socket, so that a stopped clock stays stopped."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import orjson
from starlette.types import ASGIApp, Message


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def text(self) -> str:
        return legible(self.body)


def legible(body: bytes) -> str:
    """A body as text; that of a compressed archive is unpacked."""
    return (gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body).decode()


@dataclass(frozen=True, slots=True)
class Client:
    """Speaks to the app as a client on this machine would."""

    app: ASGIApp
    host: str = "127.0.0.1:8000"
    quiet: bool = False
    """A server sends what the app answered even when the app raises afterwards; a test usually wants to know."""

    async def get(self, url: str, **headers: str) -> Answer:
        return await self.send("GET", url, None, **headers)

    async def post(self, url: str, body: object = None, **headers: str) -> Answer:
        return await self.send("POST", url, body, **headers)

    async def put(self, url: str, body: object = None, **headers: str) -> Answer:
        return await self.send("PUT", url, body, **headers)

    async def patch(self, url: str, body: object = None, **headers: str) -> Answer:
        return await self.send("PATCH", url, body, **headers)

    async def delete(self, url: str, **headers: str) -> Answer:
        return await self.send("DELETE", url, None, **headers)

    async def send(self, method: str, url: str, body: object = None, **headers: str) -> Answer:
        """`body`: bytes as they are, a list of bytes as chunks, anything else as JSON. `If_Match` names a header."""
        sent: list[Message] = []

        async def keep(message: Message) -> None:
            sent.append(message)

        chunks = _chunks(body)
        try:
            await self.app(self._scope(method, url, chunks, headers), _receiver(chunks), keep)
        except Exception:
            if not self.quiet:
                raise
        start = next(message for message in sent if message["type"] == "http.response.start")
        text = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
        return Answer(start["status"], _decoded(start["headers"]), text)

    @asynccontextmanager
    async def stream(self, url: str, body: object = None, **headers: str) -> AsyncIterator[Stream]:
        """An open response, to a POST when there is a body; leaving the block is hanging up."""
        chunks = _chunks(body)
        stream = Stream(chunks)
        scope = self._scope("POST" if chunks else "GET", url, chunks, {"accept": "text/event-stream", **headers})
        task = asyncio.ensure_future(self.app(scope, stream.receive, stream.send))
        try:
            yield stream
        finally:
            stream.gone.set()
            await asyncio.wait_for(task, 5)

    def _scope(self, method: str, url: str, chunks: list[bytes], headers: dict[str, str]) -> dict[str, Any]:
        parts = urlsplit(url)
        named = {name.replace("_", "-").lower(): value for name, value in headers.items()}
        named = {"host": self.host, **named}
        if len(chunks) == 1:
            named.setdefault("content-length", str(len(chunks[0])))
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": parts.path,
            "raw_path": quote(parts.path).encode(),
            "query_string": parts.query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in named.items()],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8000),
            "root_path": "",
        }


class Stream:
    """Frames as they come."""

    def __init__(self, chunks: Iterable[bytes] = ()) -> None:
        self.chunks = [*chunks]
        self.gone = asyncio.Event()
        self.started: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self.parts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._rest = b""

    async def receive(self) -> Message:
        if self.chunks:
            part = self.chunks.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(self.chunks)}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started.set_result(message)
            return
        if message.get("body"):
            await self.parts.put(message["body"])
        if not message.get("more_body"):
            await self.parts.put(None)

    async def frames(self, count: int = 1_000_000) -> list[str]:
        """So many frames, or all until the end."""
        found: list[str] = []
        while len(found) < count:
            while b"\n\n" in self._rest and len(found) < count:
                frame, _, self._rest = self._rest.partition(b"\n\n")
                found.append(frame.decode())
            if len(found) == count:
                break
            part = await asyncio.wait_for(self.parts.get(), 5)
            if part is None:
                break
            self._rest += part
        return found


def _chunks(body: object) -> list[bytes]:
    if body is None:
        return []
    if isinstance(body, bytes):
        return [body]
    if isinstance(body, list) and body and all(isinstance(part, bytes) for part in body):
        return body
    return [orjson.dumps(body)]


def _receiver(chunks: list[bytes]) -> Any:
    waiting = iter([*chunks, None])

    async def receive() -> Message:
        part = next(waiting, ...)
        if part is ...:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": part or b"", "more_body": part is not None}

    return receive


def _decoded(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode().lower(): value.decode("latin-1") for name, value in headers}
