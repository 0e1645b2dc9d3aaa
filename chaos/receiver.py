"""The target of a campaign: a process of its own that writes down every call before it answers."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import sys
import time

SLOWEST = 0.25
"""Answers take up to this long, so that faults meet calls in flight."""

SLOWER = 1.5
"""Some take this long, so that instants meet open runs, and freezes meet attempts."""

LONG = (1.5, 3.0)
"""Some take so many leases: they end well only if their lease is renewed, and only once."""

REFUSED = 0.02
"""This share of first attempts is told to try again later."""


class Receiver:
    """HTTP/1.1 with keep-alive, and no more of it than a webhook needs."""

    def __init__(self, path: str, seed: int, slow: float, long: float, lease: float) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.chance = random.Random(seed)
        self.slow, self.long, self.lease = slow, long, lease
        self.numbers = itertools.count(1)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
                await reader.readexactly(int(headers.get("content-length", 0)))
                failing = head[0].split(" ")[1].endswith("/fail")
                number, status = next(self.numbers), 500 if failing else self.status(headers)
                self.note(number, headers, status)
                await asyncio.sleep(self.seconds())
                self.write({"call": number, "answered": time.time()})
                text = "OK" if status == 200 else "Service Unavailable"
                writer.write(f"HTTP/1.1 {status} {text}\r\nContent-Length: 2\r\n\r\nok".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def seconds(self) -> float:
        """How long the answer takes."""
        chosen = self.chance.random()
        if chosen < self.long:
            return self.lease * self.chance.uniform(*LONG)
        return SLOWER if chosen < self.long + self.slow else self.chance.random() * SLOWEST

    def status(self, headers: dict[str, str]) -> int:
        first = headers.get("x-foliot-attempt") == "1"
        return 503 if first and self.chance.random() < REFUSED else 200

    def note(self, number: int, headers: dict[str, str], status: int) -> None:
        """On the disk before anybody is answered: whatever dies, this has happened."""
        self.write(
            {
                "call": number,
                "webhook_id": headers.get("webhook-id", ""),
                "attempt": int(headers.get("x-foliot-attempt", 0)),
                "timestamp": headers.get("webhook-timestamp", ""),
                "at": headers.get("x-foliot-scheduled-for", ""),
                "seen": time.time(),
                "status": status,
            }
        )
        os.fsync(self.fd)

    def write(self, line: dict[str, object]) -> None:
        os.write(self.fd, (json.dumps(line) + "\n").encode())


async def main(port: int, receiver: Receiver) -> None:
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    port, path, seed, *shares = sys.argv[1:]
    asyncio.run(main(int(port), Receiver(path, int(seed), *map(float, shares))))
