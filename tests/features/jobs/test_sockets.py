"""WebSockets of jobs, over real connections: resumed exactly, closed when they stall, closed to other tenants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import orjson
import pytest
from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from foliot.app.http import create_app
from foliot.core.access import LOCAL, Caller, Role
from foliot.features.articles.model import ExtractedPage, FetchEnding
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.articles.usecases import Articles
from foliot.features.fetching.model import HostUpdate
from foliot.features.fetching.politeness import Politeness
from foliot.features.jobs.rest import socket as sockets
from foliot.servers.http.app import server_of
from foliot.wakeups.feed import run_topic
from tests.asgi import Client
from tests.callers import Names
from tests.world import World, open_world

FREE = Politeness(together=1000)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """The app on a port of its own; says how sockets begin."""
    server = server_of(app, port=0, lifespan="off")
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"ws://127.0.0.1:{port}"
    finally:
        app.state.streams.stopping.set()
        server.should_exit = True
        await task


async def submit(world: World, count: int) -> str:
    articles = [{"url": f"https://news.test/{at}"} for at in range(count)]
    return (await world.cases[Articles].submit(LOCAL, {"articles": articles})).run.id


async def gather(world: World, limit: int) -> int:
    """Finish so many articles, one transaction each; answers how many there were."""
    now, done = world.clock.now(), 0
    while done < limit:
        moved: list[str] = []
        async with world.store.begin() as tx:
            taken = await SqlArticles(tx).take(now, 1, "worker", timedelta(seconds=30), "tok", FREE)
            for one in taken:
                page = None if one.robots_due else ExtractedPage(title="T", content="text")
                news = HostUpdate(robots="") if one.robots_due else HostUpdate()
                ending = FetchEnding(
                    fence=one.fence, host=one.host, at=now, page=page, handed_back=one.robots_due, news=news
                )
                told = await SqlArticles(tx).finish([ending], now, FREE)
                moved += told.jobs
                done += not one.robots_due
        if not taken:
            break
        world.feed.wake(*map(run_topic, moved))
    return done


async def hear(socket: ClientConnection, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(20):
        return [orjson.loads(await socket.recv()) for _ in range(count)]


async def rest_of(socket: ClientConnection) -> list[dict[str, Any]]:
    async with asyncio.timeout(20):
        return [orjson.loads(message) async for message in socket]


async def test_a_job_is_told_from_where_it_stands_to_its_end(world: World) -> None:
    job_id = await submit(world, 5)
    async with serving(create_app(world.cases)) as base, connect(f"{base}/ws/jobs/{job_id}") as socket:
        (first,) = await hear(socket, 1)
        await gather(world, 5)
        news = await hear(socket, 5)
        last = await rest_of(socket)

    assert first == {
        "type": "job_update",
        "job_id": job_id,
        "article_id": None,
        "status": "IN_PROGRESS",
        "completed": 0,
        "failed": 0,
        "total": 5,
        "seq": 3,
    }
    assert [(one["completed"], one["status"], one["total"]) for one in news] == [
        (at, "IN_PROGRESS", 5) for at in range(1, 6)
    ]
    assert all(one["article_id"].startswith("art_") for one in news)
    assert (last[-1]["status"], last[-1]["completed"]) == ("COMPLETED", 5)


async def test_a_reader_that_drops_and_comes_back_misses_nothing(world: World) -> None:
    job_id = await submit(world, 30)
    after, heard = 0, []
    async with serving(create_app(world.cases)) as base:
        for _ in range(5):
            async with connect(f"{base}/ws/jobs/{job_id}?after={after}") as socket:
                await hear(socket, 1)
                await gather(world, 4)
                for message in await hear(socket, 3):
                    heard.append(message)
                    after = message["seq"]
        await gather(world, 100)
        async with connect(f"{base}/ws/jobs/{job_id}?after={after}") as socket:
            heard += [one for one in (await rest_of(socket))[1:] if one["article_id"]]

    assert [one["completed"] for one in heard] == list(range(1, 31))
    assert len({one["article_id"] for one in heard}) == 30


async def test_whoever_comes_late_hears_the_end_last(world: World) -> None:
    job_id = await submit(world, 3)
    await gather(world, 3)
    async with serving(create_app(world.cases)) as base, connect(f"{base}/ws/jobs/{job_id}?after=1") as socket:
        heard = await rest_of(socket)

    assert [one["status"] for one in heard] == ["IN_PROGRESS"] * 4 + ["COMPLETED"]


async def test_whoever_sends_bytes_and_leaves_is_not_followed_any_more(world: World) -> None:
    app = create_app(world.cases)
    async with serving(app) as base:
        async with connect(f"{base}/ws") as socket:
            await socket.send(b"bytes")
            await (await socket.ping())
            assert app.state.streams.open
        async with asyncio.timeout(20):
            while app.state.streams.open:
                await asyncio.sleep(0.05)


async def test_the_whole_tenants_jobs_begin_with_those_that_are_active(world: World) -> None:
    one = await submit(world, 2)
    async with serving(create_app(world.cases)) as base, connect(f"{base}/ws") as socket:
        (first,) = await hear(socket, 1)
        await gather(world, 2)
        news = await hear(socket, 2)
        (last,) = await hear(socket, 1)
        other = await submit(world, 1)
        world.feed.wake("runs")
        (fresh,) = await hear(socket, 1)

    assert (first["job_id"], [message["completed"] for message in news]) == (one, [1, 2])
    assert (last["job_id"], last["status"]) == (one, "COMPLETED")
    assert fresh["job_id"] == other


async def test_a_job_that_comes_and_goes_between_two_looks_is_told_too(world: World) -> None:
    await submit(world, 1)
    await gather(world, 1)
    async with serving(create_app(world.cases)) as base, connect(f"{base}/ws") as socket:
        await asyncio.sleep(0.2)
        # All of it is fresh: there is nothing to wait for.
        quick = await submit(world, 1)
        world.feed.wake("runs")
        news = await hear(socket, 2)
        other = await submit(world, 2)
        world.feed.wake("runs")
        (fresh,) = await hear(socket, 1)

    assert {message["job_id"] for message in news} == {quick}
    assert news[-1]["status"] == "COMPLETED"
    assert fresh["job_id"] == other


async def test_a_reader_that_stalls_is_closed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "STALL", 0.2)
    job_id = await submit(world, 1)
    async with serving(create_app(world.cases)) as base, connect(f"{base}/ws/jobs/{job_id}", max_queue=1) as socket:
        await hear(socket, 1)

        async def never(self: Any, message: Any) -> None:
            await asyncio.sleep(3600)

        monkeypatch.setattr(WebSocket, "send_text", never)
        await gather(world, 1)
        with pytest.raises(ConnectionClosed) as closed:
            await hear(socket, 1)

    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (
        sockets.TOO_SLOW,
        "you read too slowly; reconnect with ?after=",
    )


async def test_an_unknown_job_is_told_so(world: World) -> None:
    async with serving(create_app(world.cases)) as base:
        for name in ("run_" + "0" * 32, "nonsense"):
            async with connect(f"{base}/ws/jobs/{name}") as socket:
                with pytest.raises(ConnectionClosed) as closed:
                    await socket.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == sockets.GONE


@pytest.mark.parametrize("origin", ["https://evil.test", "null"])
async def test_a_page_of_another_site_is_refused_in_local_mode(world: World, origin: str) -> None:
    async with serving(create_app(world.cases)) as base:
        with pytest.raises(InvalidStatus):
            await connect(f"{base}/ws", additional_headers={"Origin": origin})


async def test_secured_nobody_enters_without_a_token_or_a_ticket(world: World) -> None:
    viewers = {name: Caller(tenant, "ada", Role.VIEWER) for name, tenant in (("ours", "acme"), ("theirs", "other"))}
    app = create_app(world.cases, identity=Names(viewers))
    ours, theirs = "Bearer ours", "Bearer theirs"
    job_id = await submit(world, 1)
    async with serving(app) as base:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": ours, "Origin": "https://evil.test"}):
            with pytest.raises(InvalidStatus):
                await connect(f"{base}/ws", additional_headers=headers)
        with pytest.raises(InvalidStatus):
            await connect(f"{base}/ws?ticket=wrong")
        ticket = (await Client(app).post("/api/stream-tickets", None, authorization=ours)).json["ticket"]
        async with connect(f"{base}/ws?ticket={ticket}") as socket:
            await socket.ping()
        with pytest.raises(InvalidStatus):
            await connect(f"{base}/ws?ticket={ticket}")
        async with connect(f"{base}/ws/jobs/{job_id}", additional_headers={"Authorization": theirs}) as socket:
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == sockets.GONE


async def test_secured_the_dashboards_cookie_opens_a_socket_from_our_own_pages_alone(world: World) -> None:
    app = create_app(world.cases, identity=Names({"ours": Caller("acme", "ada", Role.VIEWER)}))
    made = await Client(app).post("/api/session", {"token": "ours"})
    cookie = made.headers["set-cookie"].split(";")[0]
    async with serving(app) as base:
        own = {"Cookie": cookie, "Origin": base.replace("ws:", "http:")}
        async with connect(f"{base}/ws", additional_headers=own) as socket:
            await socket.ping()
        for headers in (
            {**own, "Origin": "https://evil.test"},
            {"Cookie": cookie},
            {**own, "Cookie": f"{cookie}x"},
            {**own, "Cookie": f"{cookie}; foliot_session=ours"},
        ):
            with pytest.raises(InvalidStatus):
                await connect(f"{base}/ws", additional_headers=headers)
