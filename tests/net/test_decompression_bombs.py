"""Answers made to exhaust their reader. The egress runs in a process of its own, so that its memory can be measured."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.net.outside import MIB, OK

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the memory of a process is measured by Linux's /proc"
)

DEADLINE = 5.0
MOST_GROWTH = 64
"""MiB."""
LONGEST_PAUSE = 0.3
"""Seconds of computing during which nobody else has a turn."""

HEAD = b"HTTP/1.1 200 OK\r\n"
Write = Callable[[bytes], Awaitable[None]]


def zeros(mebibytes: int, wbits: int) -> bytes:
    """A stream that inflates to this many MiB of zeros; made quickly, for its middle repeats itself."""
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    start = packer.compress(bytes(16 * MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    middle = packer.compress(bytes(16 * MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + middle * (mebibytes // 16 - 1)


def packed(coding: str, content: bytes) -> bytes:
    return HEAD + f"Content-Encoding: {coding}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


@dataclass(frozen=True)
class Endless:
    """After `opening`, `more` again and again; every `pause` seconds, or as fast as it is taken."""

    opening: bytes
    more: bytes
    pause: float = 0


GZIP, DEFLATE, RAW = zeros(512, 31), zeros(512, 15), zeros(512, -15)
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LENGTH = b"HTTP/1.1 %d Whatever\r\nContent-Length: %d\r\n\r\n"
CUT = {"status": 200, "truncated": True}
LATE = {"code": "target_timeout"}
BAD = {"code": "bad_response"}

BOMBS: dict[str, tuple[bytes | Endless, list[dict[str, Any]]]] = {
    "gzip": (packed("gzip", GZIP), [CUT]),
    "deflate": (packed("deflate", DEFLATE), [CUT]),
    "raw-deflate": (packed("deflate", RAW), [CUT]),
    "gzip-in-gzip": (packed("gzip, gzip", gzip.compress(GZIP)), [CUT]),
    "deflate-in-gzip": (packed("deflate, gzip", gzip.compress(DEFLATE)), [CUT]),
    "five-layers": (packed("gzip, gzip, gzip, gzip, gzip", gzip.compress(GZIP)), [CUT]),
    "many-gzips": (packed("gzip", gzip.compress(b"x") * 50_000), [{"status": 200}]),
    "br": (packed("br", bytes(MIB)), [CUT]),
    "zstd": (packed("zstd", bytes(MIB)), [CUT]),
    "endless-body": (Endless(HEAD + b"\r\n", bytes(65536)), [CUT]),
    "endless-gzip": (Endless(HEAD + b"Content-Encoding: gzip\r\n\r\n" + GZIP[:65536], bytes(65536)), [CUT]),
    "a-byte-a-second": (Endless(HEAD + b"\r\n", b"x", 1), [LATE]),
    "slow-headers": (Endless(HEAD, b"X", 0.1), [LATE]),
    "silence": (Endless(b"", b"", 0.1), [LATE]),
    "a-million-headers": (Endless(HEAD, b"".join(b"X-%d: 1\r\n" % n for n in range(10_000))), [BAD]),
    "headers-to-the-brim": (
        HEAD + b"".join(b"X-%d: %s\r\n" % (n, b"x" * 8000) for n in range(127)) + b"Content-Length: 0\r\n\r\n",
        [{"status": 200}],
    ),
    "one-header": (Endless(HEAD + b"X: ", b"x" * 65536), [BAD]),
    "one-name": (Endless(HEAD, b"x" * 65536), [BAD]),
    "status-line": (Endless(b"HTTP/1.1 200 ", b"x" * 65536), [BAD]),
    "continue": (Endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000), [BAD]),
    "early-hints": (Endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * 1000), [BAD]),
    "chunk-extension": (Endless(CHUNKED + b"1;", b"x" * 65536), [BAD]),
    "chunk-size": (Endless(CHUNKED, b"0" * 65536), [BAD]),
    "tiny-chunks": (Endless(CHUNKED, b"1\r\nx\r\n" * 10_000), [BAD, LATE]),
    "trailers": (Endless(CHUNKED + b"0\r\n", b"X: 1\r\n" * 10_000), [BAD]),
    "one-trailer": (Endless(CHUNKED + b"0\r\nX: ", b"x" * 65536), [BAD]),
    "answers-nobody-asked-for": (Endless(OK, OK * 1000), [{"status": 200}]),
    "a-length-without-a-body": (Endless(b"", LENGTH % (103, 10**9) * 1000), [BAD]),
    "answers-without-the-body-they-promise": (Endless(b"", LENGTH % (304, 10**9) * 1000), [{"status": 304}]),
    "a-length-of-zeros": (HEAD + b"Content-Length: " + b"0" * 7000 + b"2\r\n\r\nok", [{"status": 200}]),
}


@asynccontextmanager
async def bombing() -> AsyncIterator[str]:
    """Serves each bomb under its name; everything else is answered well."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                name = head.split(b" ", 2)[1].decode().strip("/")
                bomb = BOMBS[name][0] if name in BOMBS else OK
                if isinstance(bomb, Endless):
                    await pour(bomb, writer)
                else:
                    writer.write(bomb)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def pour(bomb: Endless, writer: asyncio.StreamWriter) -> None:
    writer.write(bomb.opening)
    while not writer.is_closing():
        writer.write(bomb.more)
        await writer.drain()
        await asyncio.sleep(bomb.pause)
    raise ConnectionError


async def bombed(*names: str) -> dict[str, Any]:
    async with bombing() as url:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.net.bombed", f"{url}/", str(DEADLINE), *(f"{url}/{name}" for name in names)),
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()
    assert process.returncode == 0
    report: dict[str, Any] = json.loads(out)
    return report


def check(report: dict[str, Any], names: tuple[str, ...]) -> None:
    for name, told in zip(names, report["told"], strict=True):
        assert any(expected.items() <= told.items() for expected in BOMBS[name][1]), (name, told)
        assert told.get("kept", 0) <= 64 * 1024, (name, told)
        assert told["seconds"] < DEADLINE + 3, (name, told)
    assert report["grown"] < MOST_GROWTH, report
    assert report["pause"] < LONGEST_PAUSE, report
    assert report["again"]["status"] == 200, "afterwards, work goes on"


def test_the_bombs_are_small_and_unpack_to_half_a_gibibyte() -> None:
    assert len(GZIP) < 0.6 * MIB
    unpacker, size = zlib.decompressobj(31), 0
    rest = GZIP
    while rest:
        size += len(unpacker.decompress(rest, MIB))
        rest = unpacker.unconsumed_tail
    assert size == 512 * MIB


@pytest.mark.parametrize("name", ["gzip", "headers-to-the-brim", "continue", "tiny-chunks", "answers-nobody-asked-for"])
async def test_twenty_of_a_kind_at_once_are_survived(name: str) -> None:
    check(await bombed(*[name] * 20), (name,) * 20)


async def test_every_bomb_ends_cleanly_at_its_bound_or_deadline() -> None:
    check(await bombed(*BOMBS), tuple(BOMBS))
