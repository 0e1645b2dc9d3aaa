"""Processes that wake each other, through PostgreSQL and through Redis, and what is seen when that breaks."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from sqlalchemy import URL, make_url

from tests import databases
from tests.acceptance.house import SECONDS, House, Target
from tests.conftest import Session
from tests.redis_server import NoRedis, RedisServer
from tests.services import absent, wait_for, wait_until

pytestmark = [pytest.mark.timeout(240), pytest.mark.services]

SELDOM = "60"
"""How often the schedulers of these tests look by themselves: whatever comes sooner was woken."""


class Failing(ThreadingHTTPServer):
    """What the webhook calls: it fails until it is told not to."""

    daemon_threads = True

    def __init__(self) -> None:
        self.calls = threading.Semaphore(0)
        self.mended = threading.Event()
        super().__init__(("127.0.0.1", 0), Answering)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class Answering(BaseHTTPRequestHandler):
    server: Failing

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200 if self.server.mended.is_set() else 503)
        self.end_headers()
        self.server.calls.release()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def failing() -> Iterator[Failing]:
    with Failing() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Row:
    """Two APIs and a scheduler on one database, and the line between them."""

    def __init__(self, house: House, database: URL, redis: RedisServer | None) -> None:
        self.house, self.database, self.redis = house, database, redis
        house.environ["DATABASE_URL"] = database.render_as_string(hide_password=False)
        house.environ["FOLIOT_TICK_INTERVAL"] = SELDOM
        if redis is not None:
            house.environ["REDIS_URL"] = redis.url
        assert house.run("migrate").returncode == 0
        house.start("scheduler")
        house.start("api", "--port", "0")
        self.other = int(house.port)
        house.start("api", "--port", "0")
        """The client commands talk to this one; `other` is where runs are followed."""

    def cut(self) -> None:
        """Ends every connection over which processes wake each other."""
        if self.redis is None:
            wait_for(self._terminate())
        else:
            wait_for(self._kill(self.redis.url))

    async def _terminate(self) -> None:
        async with databases.connect(self.database) as connection:
            await connection.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'foliot feed' AND datname = current_database()"
            )

    async def _kill(self, url: str) -> None:
        from foliot.wakeups.redis import connect

        async with connect(url) as client:
            await client.flushall()
            for one in await client.client_list():
                if one["name"] == "foliot-feed":
                    await client.client_kill_filter(_id=one["id"], skipme=True)

    def feed(self) -> dict[str, Any]:
        asked = http.client.HTTPConnection("127.0.0.1", self.other, timeout=SECONDS)
        asked.request("GET", "/health/detailed")
        found = json.loads(asked.getresponse().read())
        asked.close()
        return {"problems": found["problems"], **found["feed"]}

    def follow(self, run: str) -> Following:
        return Following(self.other, run)


class Following:
    """A reader of one run's stream, in a thread; it does not come back when the stream is cut."""

    def __init__(self, port: int, run: str) -> None:
        self.ids: list[int] = []
        self.ended = False
        self.heard = threading.Semaphore(0)
        """Once for each event."""
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        self._connection.request("GET", f"/api/runs/{run}/events", headers={"Accept": "text/event-stream"})
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._answer:
            if line.startswith(b"id: "):
                self.ids.append(int(line[4:]))
                self.heard.release()
            self.ended = self.ended or line.startswith(b"event: end")

    def wait(self) -> list[int]:
        self._thread.join(SECONDS)
        self._connection.close()
        assert self.ended
        return self.ids


@pytest.fixture(params=["postgresql", "redis"])
def row(request: pytest.FixtureRequest, house: House, databases_of_session: Session, tmp_path: Path) -> Iterator[Row]:
    for key in ("REDIS_URL", "FOLIOT_REDIS_URL", "REDIS_HOST"):
        house.environ.pop(key, None)
    database = databases_of_session("postgresql", "main")
    wait_for(databases.clean(database))
    redis = None
    if request.param == "redis":
        redis = RedisServer(tmp_path)
        try:
            redis.start()
        except NoRedis as missing:
            absent(missing)
    yield Row(house, make_url(database), redis)
    if redis is not None:
        redis.stop()


def test_a_run_asked_for_at_one_api_is_executed_elsewhere_and_followed_at_another(row: Row, target: Target) -> None:
    house = row.house
    expected = "postgresql" if row.redis is None else "redis"
    assert row.feed() == {"kind": expected, "connected": True, "error": None, "problems": []}
    for _ in range(3):
        began = monotonic()
        run = house.run_now(target)
        # The scheduler looks by itself once a minute only.
        assert monotonic() - began < 15
        following = row.follow(run)
        assert following.heard.acquire(timeout=SECONDS)
        target.answer.set()
        ids = following.wait()
        assert ids == list(range(1, len(ids) + 1))
        target.answer.clear()


def test_no_event_is_missing_when_the_line_is_cut_in_the_middle(row: Row, failing: Failing) -> None:
    house = row.house
    retries = {"max_retries": 20, "strategy": "fixed", "delay_seconds": 0.3}
    made = create(house, failing.url, retries)
    run = house.foliot("schedule", "run-now", made)["id"]
    following = row.follow(run)

    for _ in range(3):
        for _ in range(3):
            assert following.heard.acquire(timeout=SECONDS)
        row.cut()
    failing.mended.set()

    ids = following.wait()
    assert ids == list(range(1, len(ids) + 1))
    assert len(ids) > 9
    assert wait_until(lambda: row.feed()["connected"], seconds=SECONDS)


def create(house: House, url: str, retries: dict[str, Any]) -> str:
    body = {
        "name": "Failing",
        "type": "oneoff",
        "run_at": "2999-01-01T00:00:00Z",
        "action": {"kind": "webhook", "url": url},
    }
    asked = http.client.HTTPConnection("127.0.0.1", int(house.port), timeout=SECONDS)
    asked.request(
        "POST", "/api/schedules", json.dumps({**body, "retry_policy": retries}), {"Content-Type": "application/json"}
    )
    answer = asked.getresponse()
    found = json.loads(answer.read())
    asked.close()
    assert answer.status == 201, found
    return str(found["id"])
