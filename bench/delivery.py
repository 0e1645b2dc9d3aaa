"""The limit of webhooks: a loop that claims, POSTs and finishes in Foliot's own tables, every step committed.

One process, 64 requests under way, 500 rows to a claim and to a group of endings. While one batch is sent, the next is
claimed and the last is finished, on a connection each. It fires nothing, decides nothing, checks no address and writes
no log line. LOOP sends with aiohttp, as a program would that has no scheduler; RAW writes bytes from a template to kept
connections and reads no more of an answer than its length.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import aiohttp
import orjson
from queues import PostgresSame, SqliteSame

AT_ONCE = 64
BATCH = 500
HEAD = (
    "POST /hook HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\n"
    "User-Agent: loop\r\nContent-Type: application/json\r\nX-Foliot-Attempt: 1\r\n"
)
Batches = asyncio.Queue[Sequence[Any]]


class Sender(Protocol):
    """One of the requests that are under way."""

    async def post(self, run_id: str, body: bytes) -> None: ...

    async def close(self) -> None: ...


class RawSender(asyncio.Protocol):
    """One kept connection with one request under way; it counts on short answers with a length."""

    def __init__(self, head: bytes) -> None:
        self.head = head
        self.heard = b""
        self.answer: asyncio.Future[bytes] | None = None

    @classmethod
    async def open(cls, port: int) -> Sequence[RawSender]:
        connect = asyncio.get_running_loop().create_connection
        head = HEAD.format(port=port).encode()
        return [(await connect(lambda: cls(head), "127.0.0.1", port))[1] for _ in range(AT_ONCE)]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.heard += data
        head, found, body = self.heard.partition(b"\r\n\r\n")
        if found and self.answer is not None:
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            if len(body) >= length:
                self.heard = b""
                self.answer.set_result(head)

    async def post(self, run_id: str, body: bytes) -> None:
        self.answer = asyncio.get_running_loop().create_future()
        told = b"%bIdempotency-Key: %b\r\nwebhook-id: %b\r\nContent-Length: %d\r\n\r\n%b"
        name = run_id.encode()
        self.transport.write(told % (self.head, name, name, len(body), body))  # type: ignore[attr-defined] -- a stream
        if not (await self.answer).startswith(b"HTTP/1.1 200"):
            raise RuntimeError("the receiver did not answer 200")

    async def close(self) -> None:
        self.transport.close()


class AiohttpSender:
    """aiohttp's client, one session for all; it reads and keeps the whole answer."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session, self.url = session, url

    @classmethod
    async def open(cls, port: int) -> Sequence[AiohttpSender]:
        session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=AT_ONCE))
        return [cls(session, f"http://127.0.0.1:{port}/hook") for _ in range(AT_ONCE)]

    async def post(self, run_id: str, body: bytes) -> None:
        headers = {
            "User-Agent": "loop",
            "Content-Type": "application/json",
            "X-Foliot-Attempt": "1",
            "Idempotency-Key": run_id,
            "webhook-id": run_id,
        }
        async with self.session.post(self.url, data=body, headers=headers) as answer:
            await answer.read()
            answer.raise_for_status()

    async def close(self) -> None:
        if not self.session.closed:
            await self.session.close()


class Loop:
    """`take` and `end` as the database has them: coroutines on PostgreSQL, a thread on SQLite."""

    def __init__(self, url: str, port: int, sender: type[RawSender | AiohttpSender]) -> None:
        self.url, self.port, self.sender = url, port, sender
        self.senders: Sequence[Sender] = ()
        make = PostgresSame if url.startswith("postgresql") else SqliteSame
        self.claims, self.endings = make(BATCH), make(BATCH)

    async def open(self) -> None:
        await self.claims.open(self.url)
        await self.endings.open(self.url)
        self.senders = await self.sender.open(self.port)

    async def close(self) -> None:
        for sender in self.senders:
            await sender.close()
        await self.claims.close()
        await self.endings.close()

    async def run(self) -> int:
        """Deliver whatever waits; how many there were."""
        claimed, sent = Batches(1), Batches(1)
        _, _, count = await asyncio.gather(self._claim(claimed), self._send(claimed, sent), self._finish(sent))
        return count

    async def _claim(self, claimed: Batches) -> None:
        while rows := await _called(self.claims.take):
            await claimed.put(rows)
        await claimed.put([])

    async def _send(self, claimed: Batches, sent: Batches) -> None:
        while rows := await claimed.get():
            waiting = deque(rows)
            await asyncio.gather(*(self._drain(sender, waiting) for sender in self.senders))
            await sent.put(rows)
        await sent.put([])

    @staticmethod
    async def _drain(sender: Sender, waiting: deque[Any]) -> None:
        while waiting:
            row = waiting.popleft()
            await sender.post(row[0], orjson.dumps(orjson.loads(row[5])))

    async def _finish(self, sent: Batches) -> int:
        count = 0
        while rows := await sent.get():
            await _called(self.endings.end, rows)
            count += len(rows)
        return count


async def _called(step: Callable[..., Any], *arguments: Any) -> Any:
    if asyncio.iscoroutinefunction(step):
        made: Awaitable[Any] = step(*arguments)
        return await made
    return await asyncio.to_thread(step, *arguments)
