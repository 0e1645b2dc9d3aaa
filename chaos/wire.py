"""A wire between a process and PostgreSQL that can be held, cut, half opened, and made to eat a commit's answer.

Each process has a wire of its own. All wires live in one thread with one event loop; what is asked of them from outside
is carried into it.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

COMMIT = b"Q\x00\x00\x00\x0cCOMMIT;\x00"
"""The whole message, with its type and length, as the driver sends it."""
WROTE = re.compile(rb"C\x00\x00\x00.(?:INSERT 0|UPDATE|DELETE) [1-9]", re.DOTALL)
DONE = b"COMMIT\x00"
CHUNK = 65536


@dataclass(eq=False)
class Link:
    """One connection through a wire."""

    wire: Wire
    reader: asyncio.StreamReader
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter | None = None
    silent: bool = False
    wrote: bool = False
    eats: bool = False

    async def run(self) -> None:
        await self.wire.flowing.wait()
        try:
            answers, self.server = await asyncio.open_connection("127.0.0.1", self.wire.upstream)
        except OSError:
            self.abort()
            return
        pumps = [asyncio.create_task(self._ask(self.server)), asyncio.create_task(self._answer(answers))]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        if self.silent:
            await self.wire.mended.wait()
        self.abort()
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)

    async def _ask(self, server: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await self.reader.read(CHUNK):
                await self.wire.flowing.wait()
                if self.silent:
                    continue
                if COMMIT in data:
                    self.eats, self.wire.hungry = self.wire.hungry and self.wrote, self.wire.hungry and not self.wrote
                    self.wrote = False
                server.write(data)
                await server.drain()

    async def _answer(self, answers: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await answers.read(CHUNK):
                await self.wire.flowing.wait()
                if self.eats:
                    if DONE in data:
                        self.wire.ate()
                        return
                    continue
                self.wrote = self.wrote or WROTE.search(data) is not None
                self.client.write(data)
                await self.client.drain()

    def abort(self) -> None:
        for side in (self.client, self.server):
            if side is not None:
                side.transport.abort()

    def hush(self) -> None:
        """The server hears that the client is gone; the client hears nothing."""
        self.silent = True
        if self.server is not None:
            self.server.transport.abort()


@dataclass(eq=False)
class Wire:
    """The way of one process to the database."""

    upstream: int
    loop: asyncio.AbstractEventLoop
    ate: Callable[[], None] = lambda: None
    """Called when a commit was done and its answer eaten."""
    port: int = 0
    hungry: bool = False
    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    mended: asyncio.Event = field(default_factory=asyncio.Event)
    links: set[Link] = field(default_factory=set)
    server: asyncio.Server | None = None

    async def open(self) -> None:
        self.flowing.set()
        self.mended.set()
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(self, reader, writer)
        self.links.add(link)
        try:
            await link.run()
        finally:
            self.links.discard(link)

    def _each(self, verb: Callable[[Link], None]) -> None:
        for link in list(self.links):
            verb(link)

    # --- asked from other threads -------------------------------------------------------------------------------------

    def hold(self) -> None:
        """Nothing passes, in either direction; nobody is told."""
        self.loop.call_soon_threadsafe(self.flowing.clear)

    def release(self, *, forgotten: bool) -> None:
        """What was under way arrives now, unless the network has `forgotten` every connection meanwhile."""
        if forgotten:
            self.cut()
        self.loop.call_soon_threadsafe(self.flowing.set)

    def cut(self) -> None:
        """Every connection is reset."""
        self.loop.call_soon_threadsafe(self._each, Link.abort)

    def half_open(self) -> None:
        """Every connection is dead, and only the server knows; new ones are fine."""
        self.mended.clear()
        self.loop.call_soon_threadsafe(self._each, Link.hush)

    def mend(self) -> None:
        """The client hears of it at last."""
        self.loop.call_soon_threadsafe(self.mended.set)

    def eat(self) -> None:
        """Let the next commit of something written through, eat its answer, and cut."""
        self.hungry = True


class Exchange:
    """The thread in which all wires of a campaign live."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self._wires: list[Wire] = []

    def wire(self, upstream: int) -> Wire:
        made = Wire(upstream, self.loop)
        self._wires.append(made)
        asyncio.run_coroutine_threadsafe(made.open(), self.loop).result(10)
        return made

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()

    async def _end(self) -> None:
        for wire in self._wires:
            if wire.server is not None:
                wire.server.close()
            for link in wire.links:
                link.abort()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
