"""A broker that dies under real schedulers and workers with five hundred runs waiting: each of them runs once."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from chaos.brokers import Broker
from foliot.db.database import Database
from foliot.engine.sql.retention import SqlRetention
from tests.acceptance.house import SECONDS, House
from tests.givens import ask, request
from tests.rabbitmq_server import NoRabbitMQ
from tests.redis_server import NoRedis
from tests.services import absent, wait_until

WORKERS, SLOTS = 2, 10
FAULTS = {"restart": 100, "wipe": 500}
"""How the broker breaks, and how many runs wait meanwhile."""
PROMISED = 60.0
"""Seconds after the broker's return in which everything that waited has run."""
SCALE = os.environ.get("BROKER_TIME_SCALE", "0.2")
"""`BROKER_TIME_SCALE=1` shows it with the leases and patience of production; the promise is the same."""
OPEN = "SELECT count(*) FROM runs WHERE finished_at IS NULL"
WITH_THE_BROKER = "SELECT count(*) FROM runs WHERE lane IS NOT NULL AND offered_at IS NOT NULL"
ENDED = "SELECT state, attempt, count(*) FROM runs GROUP BY state, attempt"

pytestmark = [
    pytest.mark.services,
    pytest.mark.timeout(240),
    pytest.mark.parametrize("server_database_url", ["postgresql"], indirect=True),
]


class Target(ThreadingHTTPServer):
    """Counts the calls of each run, and answers when the gate is open."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Counting)
        self.calls: Counter[str] = Counter()
        self.gate = threading.Event()
        """Closed while there is a broker to break."""
        self.turn = threading.Lock()


class Counting(BaseHTTPRequestHandler):
    server: Target
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.turn:
            self.server.calls[self.headers["webhook-id"]] += 1
        self.server.gate.wait(120)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def counted() -> Iterator[Target]:
    with Target() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.gate.set()
        server.shutdown()
        thread.join()


@pytest.fixture(params=["rabbitmq", "redis"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """One of our own, for nobody else's may be broken."""
    try:
        made = Broker.begin(request.param)
    except (NoRabbitMQ, NoRedis) as missing:
        absent(missing)
    yield made
    made.end()


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    async def read() -> list[tuple[Any, ...]]:
        engine = create_async_engine(url)
        async with engine.connect() as connection:
            found = [tuple(row) for row in await connection.execute(text(query))]
        await engine.dispose()
        return found

    return asyncio.run(read())


def asked(url: str, count: int, target: Target) -> list[str]:
    """So many runs, all ready at once."""
    action = {"kind": "webhook", "url": f"http://127.0.0.1:{target.server_port}/", "method": "POST"}

    async def write() -> list[str]:
        store = Database(url)
        async with store.read() as tx:
            now = await SqlRetention(tx).time()
        made = [request(kind="webhook", action=action, timeout_seconds=200) for _ in range(count)]
        run_ids = await ask(store, now, *made)
        await store.close()
        return run_ids

    return asyncio.run(write())


def called(target: Target, count: int) -> bool:
    return wait_until(lambda: len(target.calls) >= count, seconds=SECONDS)


def test_everything_that_waited_runs_once_after_the_broker_is_back(
    house: House, counted: Target, broker: Broker, server_database_url: str
) -> None:
    house.environ |= {
        "DATABASE_URL": server_database_url,
        "CELERY_BROKER_URL": broker.url,
        "FOLIOT_TIME_SCALE": SCALE,
        "FOLIOT_LOG_LEVEL": "warning",
    }
    assert house.run("migrate").returncode == 0
    house.start("scheduler")
    for _ in range(WORKERS):
        house.start("worker", "--concurrency", str(SLOTS))
    run_ids: list[str] = []

    for how, count in FAULTS.items():
        counted.gate.clear()
        # A target that has not answered yet is tried with few attempts at a time.
        busy = len(run_ids) + WORKERS
        run_ids += asked(server_database_url, count, counted)
        assert called(counted, busy)
        assert wait_until(lambda: rows(server_database_url, WITH_THE_BROKER)[0][0] > 0, seconds=SECONDS)
        getattr(broker, how)()
        counted.gate.set()
        finished = wait_until(lambda: rows(server_database_url, OPEN) == [(0,)], seconds=PROMISED)

        assert finished, f"{how}: {rows(server_database_url, ENDED)} {house.log.read_text()[-2000:]}"
        assert counted.calls == Counter(run_ids)
        assert rows(server_database_url, ENDED) == [("success", 1, len(run_ids))]
