"""The HTTP API behind a real server on a real socket: what an in-process client cannot show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import pytest
import uvicorn
from fastapi import FastAPI

from foliot.app.http import create_app
from foliot.core.access import LOCAL
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.servers.http.app import server_of
from foliot.servers.http.connections import ConnectionLimits
from tests.world import World, open_world


@dataclass
class Served:
    """An app, its address, and the world behind it."""

    app: FastAPI
    url: str
    world: World
    server: uvicorn.Server


@asynccontextmanager
async def served(bounds: ConnectionLimits | None = None) -> AsyncIterator[Served]:
    async with open_world() as world:
        app = create_app(world.cases)
        server = server_of(app, bounds=bounds, port=0, lifespan="off")
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            yield Served(app, f"http://127.0.0.1:{port}", world, server)
        finally:
            app.state.streams.stopping.set()
            server.should_exit = True
            await asyncio.wait_for(task, 10)


@pytest.fixture
async def house() -> AsyncIterator[Served]:
    async with served() as made:
        yield made


async def queued_run(house: Served) -> str:
    schedule = await house.world.schedule()
    return (await house.world.cases[Schedules].run_now(LOCAL, schedule.id)).id


async def test_a_reader_that_hangs_up_is_noticed(house: Served) -> None:
    run_id = await queued_run(house)
    async with aiohttp.ClientSession() as session:
        answer = await session.get(f"{house.url}/api/runs/{run_id}/events", headers={"Accept": "text/event-stream"})
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert (await answer.content.readline()) == b"id: 1\n"
        assert house.app.state.streams.open == 1
        answer.close()

    async with asyncio.timeout(10):
        while house.app.state.streams.open:
            await asyncio.sleep(0.02)


async def test_a_server_with_an_open_stream_stops_at_once(house: Served) -> None:
    run_id = await queued_run(house)
    async with aiohttp.ClientSession() as session:
        answer = await session.get(f"{house.url}/api/runs/{run_id}/events", headers={"Accept": "text/event-stream"})
        await answer.content.readline()
        house.app.state.streams.stopping.set()
        house.server.should_exit = True

        async with asyncio.timeout(3):
            rest = await answer.content.read()

    assert b"the server is stopping" in rest


async def test_an_endless_body_is_cut_off(house: Served) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 64 * 1024 * 1024:
            sent += 65_536
            yield b" " * 65_536

    async with aiohttp.ClientSession() as session:
        try:
            async with session.post(f"{house.url}/api/schedules", data=endless()) as answer:
                assert answer.status == 413
        except aiohttp.ClientConnectionError:
            pass  # the server hung up while we were still talking: cut off all the same

    assert sent < 32 * 1024 * 1024


async def test_a_foreign_host_is_refused_on_the_wire(house: Served) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{house.url}/health", headers={"Host": "evil.example"}) as answer:
            assert answer.status == 403
        async with session.get(f"{house.url}/health") as answer:
            assert answer.status == 200
