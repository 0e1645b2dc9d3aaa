"""The WebSocket of a tab: delivers what it subscribed to, once, in order, at a bounded rate; then frees everything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import orjson
import pytest
from fastapi import FastAPI
from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from foliot.app.http import create_app
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Unavailable
from foliot.engine.model.run import EventLine, EventType, RunState
from foliot.engine.model.views import ClaimedRun, PageRequest
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.runs import SqlRuns
from foliot.features.jobs.rest import socket as sockets
from foliot.features.live.rest import socket as stream
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.servers.http import sse
from foliot.wakeups.feed import RUNS_TOPIC, run_topic
from tests.asgi import Client
from tests.callers import Names
from tests.features.jobs.test_sockets import serving, submit
from tests.givens import statements
from tests.world import HOURLY, World, open_world

NOBODYS = "run_" + "0" * 32


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "GAP", 0.02)


@asynccontextmanager
async def tab(app: FastAPI, **headers: str) -> AsyncIterator[ClientConnection]:
    """A tab that has been greeted."""
    async with serving(app) as base, connect(f"{base}/api/stream", additional_headers=headers) as socket:
        assert (await hear(socket))["type"] == "hello"
        yield socket


async def hear(socket: ClientConnection) -> dict[str, Any]:
    message: dict[str, Any] = orjson.loads(await asyncio.wait_for(socket.recv(), 10))
    return message


async def say(socket: ClientConnection, op: str, *topics: str, **more: Any) -> None:
    await socket.send(orjson.dumps({"op": op, "topics": topics, **more}).decode())


async def until(socket: ClientConnection, topic: str, kind: str) -> dict[str, Any]:
    """The next message of this topic and type, whatever comes before."""
    while (message := await hear(socket)).get("topic") != topic or message["type"] != kind:
        pass
    return message


async def running(world: World) -> ClaimedRun:
    await world.schedule(HOURLY)
    world.clock.advance(3600)
    await world.tick()
    (run,) = await world.cases[Runs].list(LOCAL, PageRequest())
    (held,) = await world.claim(run.id)
    return held


async def write(world: World, held: ClaimedRun, *messages: str) -> None:
    async with world.store.begin() as tx:
        lines = [EventLine(world.clock.now(), EventType.LOG, message=message) for message in messages]
        await SqlRuns(tx).append([(held.fence, lines)])
    world.feed.wake(run_topic(held.fence.run_id))


async def end(world: World, held: ClaimedRun) -> None:
    await world.finish(held)
    world.feed.wake(run_topic(held.fence.run_id))


def lines(message: dict[str, Any]) -> list[tuple[int, str, int | None]]:
    return [(line["seq"], line["message"], line["attempt"]) for line in message["data"]["lines"]]


async def test_a_list_tells_that_it_changed_and_what_is_open(world: World) -> None:
    async with tab(create_app(world.cases)) as socket:
        await say(socket, "subscribe", "runs", "schedules")
        first = await until(socket, "runs", "snapshot")
        held = await running(world)
        world.feed.wake(RUNS_TOPIC)
        changed = await until(socket, "runs", "changed")
        while changed["data"]["by_state"] != {"running": 1}:
            changed = await until(socket, "runs", "changed")

    assert first["data"] == {"by_state": {}, "newest_id": None}
    assert changed["data"]["newest_id"] == held.fence.run_id
    assert changed["seq"] > first["seq"]


async def test_a_run_is_told_as_its_route_answers_and_ends_with_it(world: World) -> None:
    held = await running(world)
    run_id = held.fence.run_id
    app = create_app(world.cases)
    async with tab(app) as socket:
        await say(socket, "subscribe", f"run:{run_id}")
        snapshot = await hear(socket)
        assert snapshot["data"] == (await Client(app).get(f"/api/runs/{run_id}")).json
        await end(world, held)
        changed = await hear(socket)
        over = await hear(socket)

    assert (snapshot["type"], snapshot["data"]["state"]) == ("snapshot", "running")
    assert (changed["type"], changed["data"]["state"]) == ("changed", "success")
    assert changed["data"] == (await Client(app).get(f"/api/runs/{run_id}")).json
    assert (over["type"], over["topic"]) == ("end", f"run:{run_id}")


async def test_a_log_has_no_gap_and_no_repeat_and_says_which_attempt_wrote_each_line(world: World) -> None:
    held = await running(world)
    topic = f"log:{held.fence.run_id}"
    await write(world, held, "one", "two \x00\x01 \u2028", "three")
    app = create_app(world.cases)
    async with tab(app) as socket:
        await say(socket, "subscribe", topic, after={topic: 3})
        first = await until(socket, topic, "lines")
        await say(socket, "unsubscribe", topic)
        await write(world, held, "four")
        await say(socket, "subscribe", topic, after={topic: first["seq"]})
        second = await until(socket, topic, "lines")
        await end(world, held)
        over = await until(socket, topic, "end")

    assert lines(first) == [(4, "two \x00\x01 \u2028", 1), (5, "three", 1)]
    assert lines(second) == [(6, "four", 1)]
    assert over["data"] == {"run_id": held.fence.run_id, "state": "success"}


async def test_a_log_knows_its_attempts_wherever_one_comes_in(world: World) -> None:
    held = await running(world)
    run_id = held.fence.run_id
    await write(world, held, "of the first")
    async with world.store.begin() as tx:
        from foliot.engine.attempts.conclusion import conclude
        from foliot.engine.model.run import AttemptError, Failed

        await SqlClaims(tx).finish(
            [conclude(held, Failed(AttemptError("no", "no")), world.clock.now())], world.clock.now()
        )
    world.clock.advance(3600)
    (again,) = await world.claim(run_id)
    await write(world, again, "of the second")
    app = create_app(world.cases)
    async with tab(app) as socket:
        await say(socket, "subscribe", f"log:{run_id}")
        whole = lines(await until(socket, f"log:{run_id}", "lines"))
        await say(socket, "unsubscribe", f"log:{run_id}")
        await say(socket, "subscribe", f"log:{run_id}", after={f"log:{run_id}": whole[-1][0] - 1})
        last = lines(await until(socket, f"log:{run_id}", "lines"))

    assert [(message, attempt) for _, message, attempt in whole] == [("of the first", 1), ("of the second", 2)]
    assert last == whole[-1:]


async def test_a_job_is_told_as_its_own_socket_would(world: World) -> None:
    job_id = await submit(world, 1)
    async with tab(create_app(world.cases)) as socket:
        await say(socket, "subscribe", f"job:{job_id}")
        told = await until(socket, f"job:{job_id}", "event")

    assert (told["data"]["type"], told["data"]["job_id"], told["data"]["total"]) == ("job_update", job_id, 1)


async def test_a_bulk_action_is_told_as_its_route_answers(world: World) -> None:
    held = await running(world)
    await world.finish(held, RunState.DEAD_LETTER, {"code": "no", "message": "no"})
    app = create_app(world.cases)
    made = (await Client(app).post("/api/bulk", {"action": "replay", "filter": "state:dead_letter"})).json
    async with tab(app) as socket:
        await say(socket, "subscribe", f"bulk:{made['id']}")
        told = await until(socket, f"bulk:{made['id']}", "snapshot")

    assert told["data"] == (await Client(app).get(f"/api/bulk/{made['id']}")).json


async def test_what_is_not_there_is_gone_and_the_socket_goes_on(world: World) -> None:
    async with tab(create_app(world.cases)) as socket:
        await say(socket, "subscribe", f"run:{NOBODYS}", f"log:{NOBODYS}", f"job:{NOBODYS}")
        gone = {message["topic"] for message in [await hear(socket) for _ in range(3)] if message["type"] == "gone"}
        await say(socket, "ping")
        beat = await hear(socket)

    assert gone == {f"run:{NOBODYS}", f"log:{NOBODYS}", f"job:{NOBODYS}"}
    assert beat["type"] == "beat"


BAD: list[tuple[str | bytes, str]] = [
    ("nonsense", "must be JSON"),
    ("[]", "must be an object"),
    ('{"op": "dance"}', "must be one of subscribe, unsubscribe, ping"),
    ('{"op": "subscribe"}', "must be a list"),
    ('{"op": "subscribe", "topics": []}', "must be a list"),
    ('{"op": "subscribe", "topics": [5]}', "must be among runs"),
    ('{"op": "subscribe", "topics": ["secrets"]}', "must be among runs"),
    ('{"op": "subscribe", "topics": ["runs:1"]}', "must be among runs"),
    ('{"op": "subscribe", "topics": ["run"]}', "must be among runs"),
    ('{"op": "subscribe", "topics": ["log:../x"]}', "must be among runs"),
    ('{"op": "subscribe", "topics": ["runs"], "after": {"runs": -1}}', "must give the last number"),
    ('{"op": "subscribe", "topics": ["runs"], "after": 5}', "must give the last number"),
    ('{"op": "' + "x" * 70_000 + '"}', "at most 64 KiB"),
    (b"\xff\xfe", "must be JSON"),
]


async def test_bad_input_is_answered_and_changes_nothing(world: World) -> None:
    async with tab(create_app(world.cases)) as socket:
        for said, detail in BAD:
            await socket.send(said)
            error = await hear(socket)
            assert error["type"] == "error"
            assert detail in error["detail"]


async def test_one_connection_follows_only_so_many_topics(world: World) -> None:
    async with tab(create_app(world.cases)) as socket:
        await say(socket, "subscribe", *(f"log:run_{at:032x}" for at in range(stream.MOST_TOPICS)), "runs")
        assert "1 to 64" in (await hear(socket))["detail"]


async def test_many_tabs_cost_one_look(world: World) -> None:
    app = create_app(world.cases)
    await running(world)

    async def looks(tabs: int) -> int:
        async with serving(app) as base:
            app.state.streams.stopping.clear()
            opened = [await connect(f"{base}/api/stream") for _ in range(tabs)]
            with statements(world.store) as seen:
                for socket in opened:
                    await say(socket, "subscribe", "runs")
                    await until(socket, "runs", "snapshot")
            for socket in opened:
                await socket.close()
        return len([one for one in seen if "sum(runs.epoch)" in one])

    one, many = await looks(1), await looks(8)

    # A look may come due while the eight subscribe; what must not be is one for each of them.
    assert 1 <= one <= 2
    assert many <= 4


async def test_whoever_leaves_leaves_nothing_behind(world: World) -> None:
    held = await running(world)
    app = create_app(world.cases)
    run_id = held.fence.run_id
    every = ("runs", "schedules", "queues", "attention", f"run:{run_id}", f"log:{run_id}")
    async with serving(app) as base:
        async with connect(f"{base}/api/stream") as socket:
            await say(socket, "subscribe", *every)
            seen: set[str] = set()
            while seen != set(every[:-1]):
                message = await hear(socket)
                seen |= {message["topic"]} if message["type"] == "snapshot" else set()
            await say(socket, "unsubscribe", *every[1:])
            await say(socket, "ping")
            while (await hear(socket))["type"] != "beat":
                pass
            assert [name[-1] for name in app.state.pulses._of] == ["runs"]
            assert app.state.streams.broadcasts._of == {}
            assert app.state.streams.of == {LOCAL.tenant_id: 1}
        for _ in range(200):
            if not app.state.streams.of:
                break
            await asyncio.sleep(0.02)

        assert (app.state.streams.of, app.state.pulses._of, world.feed._waiters) == ({}, {}, {})
        assert [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("foliot-")] == []


async def test_news_that_rains_is_told_in_drops(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "GAP", 0.3)
    async with tab(create_app(world.cases)) as socket:
        await say(socket, "subscribe", "runs")
        await until(socket, "runs", "snapshot")
        schedule = await world.schedule(HOURLY, overlap="allow_all")
        made = [await world.cases[Schedules].run_now(LOCAL, schedule.id, None) for _ in range(30)]
        told = await until(socket, "runs", "changed")
        count = 1
        while told["data"]["newest_id"] != made[-1].id:
            told, count = await until(socket, "runs", "changed"), count + 1

    assert told["data"]["by_state"] == {"queued": 30}
    assert count < 10


async def test_a_reader_that_stalls_is_closed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "STALL", 0.2)
    async with tab(create_app(world.cases)) as socket:

        async def never(self: Any, message: Any) -> None:
            await asyncio.sleep(3600)

        monkeypatch.setattr(WebSocket, "send_text", never)
        await say(socket, "subscribe", "runs")
        with pytest.raises(ConnectionClosed) as closed:
            await hear(socket)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == sockets.TOO_SLOW


async def test_a_reader_that_takes_no_answers_is_closed_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "STALL", 0.2)
    async with tab(create_app(world.cases)) as socket:

        async def never(self: Any, message: Any) -> None:
            await asyncio.sleep(3600)

        monkeypatch.setattr(WebSocket, "send_text", never)
        await say(socket, "ping")
        with pytest.raises(ConnectionClosed) as closed:
            await hear(socket)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == sockets.TOO_SLOW


async def test_a_subscription_outlives_a_store_that_is_away(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LOOK", 0.05)
    held = await running(world)
    await write(world, held, "one")
    found, tries = Runs.get, [0]

    async def away(self: Runs, *asked: Any) -> Any:
        tries[0] += 1
        if tries[0] < 3:
            raise Unavailable("the database is away")
        return await found(self, *asked)

    monkeypatch.setattr(Runs, "get", away)
    async with tab(create_app(world.cases)) as socket:
        topic = f"log:{held.fence.run_id}"
        await say(socket, "subscribe", topic)
        told = await hear(socket)

    assert [said for _, said, _ in lines(told)] == ["one"]


async def test_a_tab_that_looks_at_one_run_after_another_keeps_none_of_them(world: World) -> None:
    desk = stream.Subscriptions(cast("Any", None))
    over = asyncio.get_running_loop().create_future()
    over.set_result(None)
    desk._following = {f"run:{place}": over for place in range(1000)}  # type: ignore[misc]

    desk._follow([], {})

    assert desk._following == {}


async def test_secured_a_tab_sees_its_own_tenant_and_what_its_role_allows(world: World) -> None:
    held = await running(world)
    run_id = held.fence.run_id
    narrow = Caller("default", "key", Role.VIEWER, scopes=frozenset({"run:read"}))
    app = create_app(world.cases, identity=Names({"ours": narrow, "theirs": Caller("other", "eve", Role.ADMIN)}))
    async with tab(app, Authorization="Bearer theirs") as socket:
        await say(socket, "subscribe", f"run:{run_id}", f"log:{run_id}", "runs")
        told = [await hear(socket) for _ in range(3)]
    app.state.streams.stopping.clear()
    async with tab(app, Authorization="Bearer ours") as socket:
        await say(socket, "subscribe", "schedules")
        refused = await hear(socket)
        await say(socket, "subscribe", f"run:{run_id}")
        seen = await hear(socket)
    app.state.streams.stopping.clear()
    async with serving(app) as base:
        with pytest.raises(InvalidStatus):
            await connect(f"{base}/api/stream")
        origin = {"Authorization": "Bearer ours", "Origin": "https://evil.test"}
        with pytest.raises(InvalidStatus):
            await connect(f"{base}/api/stream", additional_headers=origin)

    kinds = {message["topic"]: message["type"] for message in told}
    assert kinds == {f"run:{run_id}": "gone", f"log:{run_id}": "gone", "runs": "snapshot"}
    assert next(one for one in told if one["topic"] == "runs")["data"] == {"by_state": {}, "newest_id": None}
    assert (refused["type"], "may not read a schedule" in refused["detail"]) == ("error", True)
    assert seen["data"]["id"] == run_id
