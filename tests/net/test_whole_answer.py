"""Plain answers are read as aiohttp's parser reads them; everything else is left to it."""

from __future__ import annotations

import asyncio

import pytest

from foliot.net import response_limits
from foliot.net.client import HttpEgress
from foliot.net.whole_answer import read_whole
from tests.net.outside import get, serving

OK = b"HTTP/1.1 200 OK\r\n"
PLAIN = [
    OK + b"Content-Length: 2\r\n\r\nok",
    OK + b"Content-Length: 0\r\n\r\n",
    OK + b"content-LENGTH:2\r\nX-Empty:\r\nX-Padded:   a b   \r\n\r\nok",
    OK + b"X-Colon: a:b\r\nContent-Length: 3\r\n\r\n\r\n\r",
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nContent-Type: text/plain\r\n\r\ngone",
    b"HTTP/1.1 503 \r\nRetry-After: 3\r\nContent-Length: 1\r\n\r\n!",
    b"HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
]
LEFT = {
    "in pieces": OK + b"Content-Length: 3\r\n\r\nok",
    "the head in pieces": OK + b"Content-Length: 2\r\n",
    "more than one": (OK + b"Content-Length: 2\r\n\r\nok") * 2,
    "no length": OK + b"\r\nok",
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nok",
    "a length with a sign": OK + b"Content-Length: +2\r\n\r\nok",
    "a length in other digits": OK + "Content-Length: ٢\r\n\r\nok".encode(),
    "a list of lengths": OK + b"Content-Length: 2, 2\r\n\r\nok",
    "chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "chunks and a length": OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok",
    "compressed": OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok",
    "the last": OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nok",
    "a folded header": OK + b"X-A: 1\r\n 2\r\nContent-Length: 2\r\n\r\nok",
    "a space before the colon": OK + b"Content-Length : 2\r\n\r\nok",
    "a header without a colon": OK + b"X\r\nContent-Length: 2\r\n\r\nok",
    "a header without a name": OK + b": 1\r\nContent-Length: 2\r\n\r\nok",
    "lines without returns": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    "a bare line feed": OK + b"X: a\nContent-Length: 9\r\nContent-Length: 2\r\n\r\nok",
    "a control character": OK + b"X: a\x00b\r\nContent-Length: 2\r\n\r\nok",
    "a tab": OK + b"X: a\tb\r\nContent-Length: 2\r\n\r\nok",
    "other letters": OK + "X: é\r\nContent-Length: 2\r\n\r\nok".encode(),
    "repeated headers": OK + b"Set-Cookie: a\r\nset-cookie: b\r\nContent-Length: 2\r\n\r\nok",
    "an interim answer": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nok",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nContent-Length: 0\r\n\r\n",
    "an old version": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "a body that may not be": b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok",
    "too many headers": OK + b"".join(b"X-%d: 1\r\n" % at for at in range(128)) + b"Content-Length: 2\r\n\r\nok",
    "a long head": OK + b"X: " + b"a" * 8192 + b"\r\nContent-Length: 2\r\n\r\nok",
}


@pytest.mark.parametrize("raw", LEFT.values(), ids=LEFT)
def test_what_is_unusual_is_left_to_the_parser(raw: bytes) -> None:
    assert read_whole(raw) is None


@pytest.mark.parametrize("raw", PLAIN)
async def test_a_plain_answer_means_what_it_means_to_the_parser(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_whole(raw) is not None
    answers = []
    for reader in (read_whole, lambda _: None):
        monkeypatch.setattr(response_limits, "read_whole", reader)
        async with serving(raw) as target, HttpEgress(loopback=True) as egress:
            for _ in range(2):
                reply = await egress.send(get(f"http://127.0.0.1:{target.port}/"))
                answers.append((reply.status, reply.headers, reply.body, reply.truncated))
            assert target.connections == 1
    assert answers[0] == answers[1] == answers[2] == answers[3]


async def test_a_plain_answer_is_bounded_like_any_other() -> None:
    async with serving(OK + b"Content-Length: 100\r\n\r\n" + b"x" * 100) as target, HttpEgress(loopback=True) as egress:
        url = f"http://127.0.0.1:{target.port}/"
        kept = await egress.send(get(url, keep=10))
        most = await egress.send(get(url, keep=10, most=50))
    assert (kept.body, kept.truncated) == (b"x" * 10, True)
    assert (most.body, most.truncated) == (b"x" * 10, True)


async def test_what_comes_after_a_plain_answer_is_not_the_next_ones() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK + b"Content-Length: 2\r\n\r\nok")
        await writer.drain()
        await asyncio.sleep(0.02)
        writer.write(OK + b"Content-Length: 5\r\n\r\nwrong")
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"Content-Length: 5\r\n\r\nwrong")

    async with serving(answer) as target, HttpEgress(loopback=True) as egress:
        url = f"http://127.0.0.1:{target.port}/"
        assert (await egress.send(get(url))).body == b"ok"
        await asyncio.sleep(0.1)
        assert (await egress.send(get(url))).body == b"ok"
    assert target.connections == 2
