"""The cluster of `deploy/Procfile`, as `honcho` brings it up: two of each part, a broker, a shared feed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.acceptance.house import SECONDS, House, Target
from tests.brokers import TestBroker, a_broker
from tests.services import free_port, wait_until

ROOT = Path(__file__).parents[2]
PARTS = {"api-1", "api-2", "scheduler-1", "scheduler-2", "worker-1", "worker-2"}

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]


class Cluster:
    """Everything the Procfile names, under one `honcho`."""

    def __init__(self, house: House, log: Path) -> None:
        self.log = log
        self.doors = [f"http://127.0.0.1:{house.environ[key]}" for key in ("API_1_PORT", "API_2_PORT")]
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                # A .env of whoever runs the tests is none of ours.
                [sys.executable, "-m", "honcho", "--env", os.devnull, "-f", "deploy/Procfile", "start"],
                cwd=ROOT, env=house.environ, stdout=out, stderr=out, start_new_session=True,
            )  # fmt: skip

    def health(self, door: int) -> Any:
        try:
            with urlopen(f"{self.doors[door]}/health/detailed", timeout=5) as answer:
                return json.load(answer)
        except (URLError, OSError):
            return {"nodes": []}

    def roles(self) -> dict[str, str]:
        """Who executes and who fires, by the name under which it reports."""
        return {node["id"]: node["role"] for node in self.health(0)["nodes"]}

    def is_whole(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        both = all(self.health(door).get("status") == "ok" for door in (0, 1))
        return both and Counter(self.roles().values()) >= Counter(scheduler=2, worker=2)

    def stop(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(SECONDS)
        return self.log.read_text()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[TestBroker]:
    home = tmp_path / "rabbitmq"
    home.mkdir()
    with a_broker("rabbitmq", home) as url:
        made = TestBroker("rabbitmq", url)
        yield made
        made.wipe()


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    home = tmp_path / "redis"
    home.mkdir()
    with a_broker("redis", home) as url:
        yield url


@pytest.fixture
def cluster(
    house: House, broker: TestBroker, redis_url: str, server_database_url: str, tmp_path: Path
) -> Iterator[Cluster]:
    house.environ |= {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DATABASE_URL": server_database_url,
        "CELERY_BROKER_URL": broker.url,
        "REDIS_URL": redis_url,
        "FOLIOT_QUEUES": broker.queue(),
        "FOLIOT_SHUTDOWN_SECONDS": "4",
        "API_1_PORT": str(free_port()),
        "API_2_PORT": str(free_port()),
    }
    assert house.run("migrate").returncode == 0
    started = Cluster(house, tmp_path / "honcho")
    try:
        assert wait_until(started.is_whole, seconds=SECONDS), started.log.read_text()
        yield started
    finally:
        if started.process.poll() is None:
            started.stop()


@pytest.mark.parametrize("server_database_url", ["postgresql"], indirect=True)
def test_what_is_asked_at_one_door_runs_on_a_worker_and_is_followed_at_the_other(
    cluster: Cluster, house: House, broker: TestBroker, target: Target
) -> None:
    house.environ["FOLIOT_URL"] = cluster.doors[0]
    schedule = house.foliot(
        "schedule", "create", "often", "--every", "1s", "--url", target.url, "--queue", broker.queue()
    )
    assert target.called.acquire(timeout=SECONDS)

    house.environ["FOLIOT_URL"] = cluster.doors[1]
    [run] = house.foliot("run", "list", "--schedule", schedule["id"], "--status", "running")["items"]
    assert cluster.roles()[run["worker"]] == "worker"

    follower = house.follow(run["id"])
    target.answer.set()
    told, _ = follower.communicate(timeout=SECONDS)
    events = [json.loads(line) for line in told.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert house.foliot("run", "show", run["id"])["state"] == "success"

    house.foliot("schedule", "pause", schedule["id"])
    assert house.foliot("audit")["ok"]
    said = cluster.stop()
    assert {part for part in PARTS if f"{part}.1 stopped (rc=0)" in said} == PARTS
    assert "SIGKILL" not in said
