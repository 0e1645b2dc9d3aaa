"""The limit of webhooks: a loop that claims, POSTs and finishes in Foliot's own tables, every step committed.

One process, 64 requests under way, 500 rows to a claim and to a group of endings. While one batch is sent, the next is
claimed and the last is finished, on a connection each. It fires nothing, decides nothing, resolves and checks no
address, writes no log line, and builds its requests from a template.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson
from queues import PostgresSame, SqliteSame

AT_ONCE = 64
BATCH = 500
HEAD = (
    "POST /hook HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\n"
    "User-Agent: loop\r\nContent-Type: application/json\r\nX-Foliot-Attempt: 1\r\n"
)
Batches = asyncio.Queue[Sequence[Any]]


class Client(asyncio.Protocol):
    """One kept connection with one request under way; it counts on short answers with a length."""

    def __init__(self) -> None:
        self.heard = b""
        self.answer: asyncio.Future[bytes] | None = None

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

    async def post(self, head: bytes, run_id: str, body: bytes) -> None:
        self.answer = asyncio.get_running_loop().create_future()
        told = b"%bIdempotency-Key: %b\r\nwebhook-id: %b\r\nContent-Length: %d\r\n\r\n%b"
        name = run_id.encode()
        self.transport.write(told % (head, name, name, len(body), body))  # type: ignore[attr-defined] -- a stream
        if not (await self.answer).startswith(b"HTTP/1.1 200"):
            raise RuntimeError("the receiver did not answer 200")


class Loop:
    """`take` and `end` as the database has them: coroutines on PostgreSQL, a thread on SQLite."""

    def __init__(self, url: str, port: int) -> None:
        self.url, self.port = url, port
        make = PostgresSame if url.startswith("postgresql") else SqliteSame
        self.claims, self.endings = make(BATCH), make(BATCH)

    async def open(self) -> None:
        await self.claims.open(self.url)
        await self.endings.open(self.url)
        connect = asyncio.get_running_loop().create_connection
        self.clients = [(await connect(Client, "127.0.0.1", self.port))[1] for _ in range(AT_ONCE)]
        self.head = HEAD.format(port=self.port).encode()

    async def close(self) -> None:
        for client in self.clients:
            client.transport.close()
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
            await asyncio.gather(*(self._drain(client, waiting) for client in self.clients))
            await sent.put(rows)
        await sent.put([])

    async def _drain(self, client: Client, waiting: deque[Any]) -> None:
        while waiting:
            row = waiting.popleft()
            await client.post(self.head, row[0], orjson.dumps(orjson.loads(row[5])))

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
