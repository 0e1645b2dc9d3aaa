"""The receiver of webhooks.py: a bare asyncio server that answers every request with 200 and notes when it came.

argv: port. `GET /count` answers how many requests came, `GET /late` how late each was by X-Foliot-Scheduled-For in
milliseconds, `GET /reset` forgets them.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from datetime import datetime

import uvloop

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_INSTANT = re.compile(rb"(?i)\r\nx-foliot-scheduled-for: *([^\r]+)")
ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"ok":true}'
came: list[tuple[float, bytes]] = []


class Receiver(asyncio.Protocol):
    """One connection; requests may arrive in pieces or several at once."""

    def __init__(self) -> None:
        self.rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        data = self.rest + data if self.rest else data
        while (head := data.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(data, 0, head + 2)
            end = head + 4 + (int(length[1]) if length else 0)
            if len(data) < end:
                break
            self.transport.write(  # type: ignore[attr-defined] -- always a stream
                ANSWER if data.startswith(b"POST") and not came.append((time.time(), data[:head])) else told(data)
            )
            data = data[end:]
        self.rest = data


def told(request: bytes) -> bytes:
    """What the benchmark asks."""
    found: object = len(came)
    if request.startswith(b"GET /late"):
        found = [(at - _instant(head)) * 1e3 for at, head in came]
    elif request.startswith(b"GET /reset"):
        came.clear()
    body = json.dumps(found).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body)


def _instant(head: bytes) -> float:
    found = _INSTANT.search(head)
    return datetime.fromisoformat(found[1].decode()).timestamp() if found else float("nan")


async def main(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", port, backlog=512)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
