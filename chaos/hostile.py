"""The servers of a hostile tenant: hang, flood, pause others and serve pages that are expensive to parse."""

from __future__ import annotations

import asyncio
import gzip
import sys
from functools import cache

HOSTS = [f"127.0.0.{number}" for number in range(1, 51)]
"""Fifty hosts on loopback, all served by one port."""

MARK = "hostile"
"""Stands in every name that the hostile tenant gives, and so in no answer to another one (G15)."""

HANGING = HOSTS[30:]
"""Of these, every path hangs: twenty of the fifty."""


@cache
def combinators() -> bytes:
    """280 KB of siblings: a selector of four general-sibling combinators visits their fourth power."""
    return b"<html><body>" + b"<b></b>" * 40_000 + b"</body></html>"


@cache
def structured_data() -> bytes:
    """3 MB of JSON-LD in one array."""
    return b'<html><script type="application/ld+json">[' + b"[]," * 1_000_000 + b"[]]</script></html>"


@cache
def compressed_bomb() -> bytes:
    """A page of a few KB that unfolds to millions of nodes."""
    return gzip.compress(b"<html><body>" + b"<p><i>" * 1_500_000, 9)


@cache
def article() -> bytes:
    words = "<p>Prices of bread rose by a tenth over the summer, and bakers expect more of the same before spring.</p>"
    return f"<html><head><title>Bread</title></head><body><article>{words * 12}</article></body></html>".encode()


class Hostile:
    """HTTP/1.1, one request per connection, and no more of it than the attacks need."""

    def __init__(self) -> None:
        self.never = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode("latin-1")
            if path.startswith("/hang") or writer.get_extra_info("sockname")[0] in HANGING:
                await self.never.wait()
            writer.write(self.answer(path))
            await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        finally:
            writer.close()

    def answer(self, path: str) -> bytes:
        if path.startswith("/pause"):
            return b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n"
        if path.startswith("/robots.txt"):
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        bodies = {"/combinators": combinators, "/structured": structured_data, "/bomb": compressed_bomb}
        name = path.split("?", maxsplit=1)[0]
        body = bodies.get(name, article)()
        packed = "Content-Encoding: gzip\r\n" if name == "/bomb" else ""
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{packed}Content-Length: {len(body)}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + body


async def main(port: int) -> None:
    server = await asyncio.start_server(Hostile().serve, HOSTS, port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
