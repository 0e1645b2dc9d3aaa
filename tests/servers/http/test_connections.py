"""Connections that send by halves, take nothing, crowd or say too much, beside a client that does as it should."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import orjson
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from foliot.servers.http.app import per_address
from foliot.servers.http.connections import ConnectionLimits
from foliot.servers.http.request import MAX_MESSAGE
from tests.servers.http.test_server import Served, served

SOON = ConnectionLimits(arrive=0.3, rate=1_000_000, take=0.3)
MEBIBYTE = 1024 * 1024


@asynccontextmanager
async def wire(house: Served) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    url = urlsplit(house.url)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def told(house: Served, sent: bytes) -> bytes:
    """All that comes back until the server hangs up."""
    async with wire(house) as (reader, writer), asyncio.timeout(10):
        writer.write(sent)
        return await reader.read()


async def well(house: Served) -> bool:
    async with aiohttp.ClientSession() as session, session.get(f"{house.url}/health") as answer:
        return answer.status == 200


def code_of(answer: bytes) -> tuple[bytes, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.split(b" ")[1], orjson.loads(body)["code"]


@pytest.mark.parametrize(
    "half",
    [
        pytest.param(b"GET /health HTTP/1.1\r\nHost: 127", id="a header"),
        pytest.param(b"POST /api/schedules HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 90\r\n\r\n{", id="a body"),
        pytest.param(
            b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /health HTTP/1.1\r\n", id="the header of the next one"
        ),
    ],
)
async def test_half_a_request_is_ended_in_time(half: bytes) -> None:
    async with served(SOON) as house:
        answer = await told(house, half)

        assert await well(house)
    last = answer[answer.rindex(b"HTTP/1.1 ") :]
    assert code_of(last) == (b"408", "timeout")


async def test_a_connection_that_says_nothing_is_closed_without_a_word() -> None:
    async with served(SOON) as house:
        assert await told(house, b"") == b""


async def test_a_slow_trickle_of_a_body_is_ended_as_well() -> None:
    async with served(SOON) as house, wire(house) as (reader, writer), asyncio.timeout(10):
        writer.write(b"POST /api/schedules HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9000\r\n\r\n")
        answered = asyncio.ensure_future(reader.read())
        while not answered.done():
            writer.write(b" ")
            await asyncio.wait([answered], timeout=0.05)

        assert code_of(await answered) == (b"408", "timeout")


async def test_a_large_body_that_keeps_coming_may_take_longer() -> None:
    body = orjson.dumps({"name": "x" * 1000})
    async with (
        served(ConnectionLimits(arrive=0.4, rate=1000)) as house,
        wire(house) as (reader, writer),
        asyncio.timeout(10),
    ):
        head = b"POST /api/schedules HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        writer.write(head % len(body))
        for at in range(0, len(body), 200):
            writer.write(body[at : at + 200])
            await asyncio.sleep(0.12)

        assert b"422" in (await reader.read()).split(b"\r\n")[0]


async def test_a_request_that_two_readers_could_read_differently_is_refused() -> None:
    both = b"POST /api/schedules HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with served() as house:
        twice = await told(house, both + b"0\r\n\r\n")
        rebound = await told(house, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1#.evil.com\r\nConnection: close\r\n\r\n")

        assert await well(house)
    assert code_of(twice) == (b"400", "bad_request")
    assert code_of(rebound) == (b"403", "foreign_host")


async def test_one_address_cannot_take_all_connections() -> None:
    async with served(ConnectionLimits(per_address=5)) as house, AsyncExitStack() as held:
        for _ in range(5):
            await held.enter_async_context(wire(house))
        async with asyncio.timeout(5):
            while len(house.server.server_state.connections) < 5:
                await asyncio.sleep(0.01)
        refused = await told(house, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await held.aclose()

        async with asyncio.timeout(5):
            while house.server.server_state.connections:
                await asyncio.sleep(0.01)
        assert await well(house)
    assert code_of(refused) == (b"429", "too_many")


def test_how_many_connections_an_address_has_is_known_without_being_chosen() -> None:
    assert per_address(None, local=True) is None
    assert 1 <= (per_address(None, local=False) or 0) <= 1000
    assert per_address(7, local=True) == 7
    assert per_address(0, local=False) is None


async def test_an_answer_nobody_takes_is_ended() -> None:
    many = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200
    async with served(SOON) as house, wire(house) as (_, writer), asyncio.timeout(20):
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(many)
        while house.server.server_state.total_requests == 0:
            await asyncio.sleep(0.01)
        while house.server.server_state.connections:
            await asyncio.sleep(0.02)

        assert await well(house)


async def test_long_messages_take_no_memory() -> None:
    """Forty sockets that each begin a message of 16 MiB: none is gathered, and the good one is answered."""
    async with served() as house, AsyncExitStack() as held:
        url = f"{house.url.replace('http', 'ws')}/api/stream"
        good = await held.enter_async_context(connect(url))
        assert orjson.loads(await good.recv())["type"] == "hello"
        bad = [await held.enter_async_context(connect(url, compression="deflate", max_queue=1)) for _ in range(40)]
        before = resident()
        async with asyncio.timeout(30):
            codes = await asyncio.gather(*map(floods, bad))
        grown = resident() - before
        await good.send('{"op": "ping"}')
        beat = orjson.loads(await good.recv())

    assert codes == [1009] * 40
    assert beat["type"] == "beat"
    assert grown < 200 * MEBIBYTE, f"{grown / MEBIBYTE:.0f} MiB"
    assert all(not one.protocol.extensions for one in bad)


async def floods(socket: ClientConnection) -> int | None:
    """Say something long, in parts; how the server closes."""

    async def parts() -> AsyncIterator[str]:
        for _ in range(255):
            yield "x" * (64 * 1024)
            await asyncio.sleep(0)

    assert await socket.recv()
    try:
        await socket.send(parts())
        await socket.recv()
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else None
    return None


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_a_message_of_the_size_that_is_allowed_is_heard() -> None:
    async with served() as house, connect(f"{house.url.replace('http', 'ws')}/api/stream") as socket:
        await socket.recv()
        await socket.send('{"op": "ping"'.ljust(MAX_MESSAGE - 1) + "}")

        assert orjson.loads(await asyncio.wait_for(socket.recv(), 5))["type"] == "beat"
