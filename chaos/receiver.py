"""The target of a campaign: a process of its own that writes down every call before it answers."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time

SLOWEST = 0.25
"""Answers take up to this long, so that kills and freezes meet calls in flight."""

REFUSED = 0.02
"""This share of first attempts is told to try again later."""


class Receiver:
    """HTTP/1.1 with keep-alive, and no more of it than a webhook needs."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
                await reader.readexactly(int(headers.get("content-length", 0)))
                status = self.note(headers)
                await asyncio.sleep(random.random() * SLOWEST)
                text = "OK" if status == 200 else "Service Unavailable"
                writer.write(f"HTTP/1.1 {status} {text}\r\nContent-Length: 2\r\n\r\nok".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def note(self, headers: dict[str, str]) -> int:
        attempt = int(headers.get("x-foliot-attempt", 0))
        status = 503 if attempt == 1 and random.random() < REFUSED else 200
        call = {
            "webhook_id": headers.get("webhook-id", ""),
            "at": headers.get("x-foliot-scheduled-for", ""),
            "attempt": attempt,
            "seen": time.time(),
            "status": status,
        }
        os.write(self.fd, (json.dumps(call) + "\n").encode())
        return status


async def main(port: int, path: str) -> None:
    server = await asyncio.start_server(Receiver(path).serve, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
