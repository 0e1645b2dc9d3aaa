"""Flower and Celery's own command line beside a real scheduler and worker: they tell of runs what happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.acceptance.house import SECONDS, House
from tests.rabbitmq_server import NoRabbitMQ, RabbitMQServer
from tests.services import absent, free_port, wait_until

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]

SLOW = 1.5


class Shop(ThreadingHTTPServer):
    """Answers `/slow` after a while, and fails everything else."""

    daemon_threads = True

    def __init__(self) -> None:
        self.pause = Event()
        super().__init__(("127.0.0.1", 0), ShopAnswers)


class ShopAnswers(BaseHTTPRequestHandler):
    server: Shop

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        seconds = {"/slow": SLOW, "/slower": 3 * SLOW}.get(self.path, 0.0)
        self.server.pause.wait(seconds)
        self.send_response(200 if seconds else 500)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def shop() -> Iterator[str]:
    with Shop() as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[str]:
    """A RabbitMQ of its own: Flower counts every task that it hears of."""
    server = RabbitMQServer(tmp_path / "rabbitmq")
    server.home.mkdir()
    try:
        server.start()
    except NoRabbitMQ as missing:
        absent(missing)
    yield server.url
    server.stop()


@pytest.fixture
def cluster(house: House, broker: str, server_database_url: str) -> House:
    house.environ |= {"DATABASE_URL": server_database_url, "CELERY_BROKER_URL": broker, "FOLIOT_LOCAL": "1"}
    assert house.run("migrate").returncode == 0
    house.start("worker")
    house.start("scheduler")
    house.start("api", "--port", "0")
    return house


@pytest.fixture
def flower(cluster: House, broker: str, tmp_path: Path) -> Iterator[str]:
    pytest.importorskip("flower")
    port = free_port()
    words = ["-m", "celery", f"--broker={broker}", "flower", "--address=127.0.0.1", f"--port={port}"]
    environ = {"PATH": os.environ["PATH"], "FLOWER_UNAUTHENTICATED_API": "true", "HOME": str(tmp_path)}
    with (tmp_path / "flower.log").open("w") as log:
        process = subprocess.Popen([sys.executable, *words], env=environ, stdout=log, stderr=log, cwd=tmp_path)
    url = f"http://127.0.0.1:{port}"
    try:
        assert wait_until(lambda: bool(asked(f"{url}/api/workers?refresh=1")), seconds=SECONDS), (
            tmp_path / "flower.log"
        ).read_text()[-2000:]
        yield url
    finally:
        process.terminate()
        process.wait(SECONDS)


def asked(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=10) as reply:
            return json.loads(reply.read())
    except (OSError, ValueError):
        return None


def celery(house: House, *words: str) -> str:
    command = [sys.executable, "-m", "celery", "-A", "foliot.celery", *words, "--timeout", "3"]
    done = subprocess.run(command, env=house.environ, capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.stdout + done.stderr


def run_of(house: House, name: str, url: str) -> str:
    """A run by hand; one that fails is tried twice."""
    body = {
        "name": name,
        "type": "oneoff",
        "run_at": "2999-01-01T00:00:00Z",
        "action": {"kind": "webhook", "url": url},
        "retry_policy": {"strategy": "fixed", "max_retries": 1, "delay_seconds": 0.5, "jitter": 0},
    }
    sent = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{house.environ['FOLIOT_URL']}/api/schedules", json.dumps(body).encode(), sent)
    with urllib.request.urlopen(request, timeout=SECONDS) as reply:
        schedule = json.loads(reply.read())
    return str(house.foliot("schedule", "run-now", schedule["id"])["id"])


@pytest.mark.parametrize("server_database_url", ["postgresql"], indirect=True)
def test_flower_shows_each_run_once_with_its_true_state_and_duration(cluster: House, flower: str, shop: str) -> None:
    first: set[str] = set()

    def shown() -> dict[str, Any]:
        return asked(f"{flower}/api/tasks") or {}

    def listens() -> bool:
        """Some seconds after its start it asks workers for events; what ended before, it has not heard of."""
        heard = bool(shown())
        first.add(run_of(cluster, "first", f"{shop}/broken"))
        return heard

    assert wait_until(listens, seconds=SECONDS)
    slow = run_of(cluster, "slow", f"{shop}/slow")
    dead = run_of(cluster, "dead", f"{shop}/broken")

    def ended() -> bool:
        tasks = shown()
        return all(tasks.get(run, {}).get("state") in {"SUCCESS", "FAILURE"} for run in (slow, dead))

    assert wait_until(ended, seconds=SECONDS), shown()
    tasks = shown()
    details = asked(f"{flower}/api/task/info/{dead}")

    assert set(tasks) - first == {slow, dead}, "messages of the transport are no tasks"
    assert (tasks[slow]["state"], tasks[dead]["state"]) == ("SUCCESS", "FAILURE")
    assert SLOW <= tasks[slow]["runtime"] < SLOW + SECONDS
    assert details["retried"] is not None
    assert details["failed"] > details["retried"]
    assert "500" in details["exception"]
    assert cluster.foliot("run", "show", dead)["state"] == "dead_letter"


def nodes(house: House) -> set[str]:
    listed = house.foliot("worker", "list")
    return {one["id"] for one in (listed["items"] if isinstance(listed, dict) else listed)}


@pytest.mark.parametrize("server_database_url", ["postgresql"], indirect=True)
def test_celery_inspects_what_runs_and_restarts_the_worker(cluster: House, shop: str) -> None:
    worker = cluster.processes[0]
    assert "webhook" in celery(cluster, "inspect", "registered")
    slow = run_of(cluster, "slow", f"{shop}/slower")
    assert slow in celery(cluster, "inspect", "active")
    assert wait_until(lambda: cluster.foliot("run", "show", slow)["state"] == "success", seconds=SECONDS)

    before = nodes(cluster)
    assert "restarting when what runs has ended" in celery(cluster, "control", "pool_restart")

    assert worker.stdout is not None
    assert "Foliot" in worker.stdout.readline()
    assert worker.poll() is None
    assert wait_until(lambda: "OK" in celery(cluster, "inspect", "ping"), seconds=SECONDS)
    assert nodes(cluster) - before, "it has begun anew"
    again = run_of(cluster, "again", f"{shop}/slow")
    assert wait_until(lambda: cluster.foliot("run", "show", again)["state"] == "success", seconds=SECONDS)
