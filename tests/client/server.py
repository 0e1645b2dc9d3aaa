"""A real server on loopback for the client, and a way to it that breaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI

from foliot.servers.http.app import server_of


@dataclass(slots=True)
class Served:
    """The address of a server, and the requests that it received."""

    url: str
    asked: list[tuple[str, str]] = field(default_factory=list)


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[Served]:
    """The app behind a socket of its own."""
    served = Served("")

    async def recorded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            served.asked.append((scope["method"], scope["path"]))
        await app(scope, receive, send)

    server = server_of(recorded, port=0, lifespan="off")
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    served.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield served
    finally:
        app.state.streams.stopping.set()
        server.should_exit = True
        await asyncio.wait_for(task, 10)


@asynccontextmanager
async def breaking(url: str, allowances: list[int]) -> AsyncIterator[str]:
    """A way to a server whose connections are cut after so many bytes of the answer; later ones stay whole."""
    host, _, port = url.removeprefix("http://").partition(":")
    left = iter(allowances)

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, allowance: int | None) -> None:
        with suppress(OSError):
            while piece := await reader.read(4096):
                writer.write(piece if allowance is None else piece[:allowance])
                await writer.drain()
                if allowance is not None:
                    allowance -= len(piece)
                    if allowance <= 0:
                        writer.transport.abort()
                        return
        writer.close()

    async def through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream = await asyncio.open_connection(host, int(port))
        try:
            await asyncio.gather(pump(reader, upstream, None), pump(upstream_reader, writer, next(left, None)))
        finally:
            upstream.close()

    server = await asyncio.start_server(through, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
