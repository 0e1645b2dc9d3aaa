"""What Celery's own tools say about runs: events, `inspect` and `control`, as Flower reads them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from threading import Event, Thread
from typing import Any

import pytest

from foliot.cluster.celery.app import make_app
from foliot.engine.model.run import RunState
from tests.brokers import a_broker
from tests.celery_cluster import House, a_house, until
from tests.conftest import Session

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


@pytest.fixture(scope="module", params=["rabbitmq", "redis"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    with a_broker(request.param, tmp_path_factory.mktemp(request.param)) as url:
        yield request.param, url


@pytest.fixture
async def house(place: tuple[str, str], databases_of_session: Session) -> AsyncIterator[House]:
    async with a_house(*place, databases_of_session("postgresql", "main")) as made:
        yield made


@asynccontextmanager
async def watching(url: str) -> AsyncIterator[list[dict[str, Any]]]:
    """What Flower does: ask for task events, and read them."""
    app = make_app(url, ["default"])
    seen: list[dict[str, Any]] = []
    ending, ready = Event(), Event()

    def read() -> None:
        with app.connection_for_read() as connection:
            receiver = app.events.Receiver(connection, handlers={"*": seen.append})
            with receiver.consumer_context() as (draining, *_):
                ready.set()
                while not ending.is_set():
                    try:
                        draining.drain_events(timeout=0.2)
                    except TimeoutError:
                        continue

    thread = Thread(target=read, daemon=True)
    thread.start()
    await asyncio.to_thread(ready.wait, 20)
    try:
        yield seen
    finally:
        ending.set()
        await asyncio.to_thread(thread.join, 10)


def told(seen: list[dict[str, Any]], run_id: str) -> list[dict[str, Any]]:
    return [event for event in seen if event.get("uuid") == run_id]


async def test_each_run_has_its_own_events_with_its_true_end(house: House) -> None:
    await house.begin()
    await house.worker(4)
    app = make_app(house.broker.url, ["default"])
    async with watching(house.broker.url) as seen:

        async def listening() -> bool:
            return bool(await asyncio.to_thread(app.control.enable_events, reply=True, timeout=1))

        await until(listening, "the worker answers", seconds=30)
        (slow,) = await house.ask(1, do="wait")
        (once,) = await house.ask(1, do="fail once", max_attempts=2)
        (dead,) = await house.ask(1, do="fail once", max_attempts=1)
        await house.reaches(slow, RunState.RUNNING)

        async def active() -> bool:
            answers = await asyncio.to_thread(app.control.inspect(timeout=1).active)
            return slow in {one["id"] for ones in (answers or {}).values() for one in ones}

        await until(active, "inspect active shows what runs", seconds=30)
        await asyncio.sleep(0.5)
        house.probe.go.set()
        await house.reaches(slow, RunState.SUCCESS)
        await house.reaches(dead, RunState.DEAD_LETTER)
        await house.reaches(once, RunState.SUCCESS)

        async def all_told() -> bool:
            return all(told(seen, one)[-1:] and told(seen, one)[-1]["type"] in ENDS for one in (slow, once, dead))

        await until(all_told, "events of all three", seconds=30)

    assert [event["type"] for event in told(seen, slow)] == ["task-received", "task-started", "task-succeeded"]
    assert told(seen, slow)[-1]["runtime"] > 0.5
    assert told(seen, slow)[0]["name"] == "probe"
    assert [event["type"] for event in told(seen, dead)] == ["task-received", "task-started", "task-failed"]
    assert "not today" in told(seen, dead)[-1]["exception"]
    assert [event["type"] for event in told(seen, once)] == [
        "task-received", "task-started", "task-retried", "task-received", "task-started", "task-succeeded",
    ]  # fmt: skip
    assert {event["uuid"] for event in seen if "uuid" in event} == {slow, once, dead}, "parcels are no tasks"


ENDS = {"task-succeeded", "task-failed"}


async def test_the_command_line_of_celery_asks_our_workers(house: House) -> None:
    await house.begin()
    worker = await house.worker(2)
    assert worker.intake is not None
    worker.intake.monitor.registered = ["probe", "webhook"]  # type: ignore[attr-defined]
    environment = {**os.environ, "CELERY_BROKER_URL": house.broker.url, "DATABASE_URL": "postgresql://x@127.0.0.1/x"}

    def ask(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "celery", "-A", "foliot.celery", *words, "--timeout", "5"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    async def answered() -> bool:
        return "OK" in (await asyncio.to_thread(ask, "inspect", "ping")).stdout

    await until(answered, "a pong", seconds=60)
    shown = await asyncio.to_thread(ask, "inspect", "registered")
    assert "probe" in shown.stdout, shown.stderr
    assert "webhook" in shown.stdout
