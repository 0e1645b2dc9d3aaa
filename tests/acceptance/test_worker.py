"""`foliot worker` from outside: fed by a scheduler through a broker, recycled, and stopped."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.acceptance.house import SECONDS, House, Target
from tests.brokers import a_broker

pytestmark = [
    pytest.mark.services,
    pytest.mark.timeout(150),
    pytest.mark.parametrize("server_database_url", ["postgresql"], indirect=True),
]


def test_a_worker_executes_what_a_scheduler_sends_and_begins_anew_after_so_many_runs(
    house: House, target: Target, server_database_url: str, tmp_path: Path
) -> None:
    target.answer.set()
    with a_broker("redis", tmp_path) as broker:
        house.environ |= {"DATABASE_URL": server_database_url, "CELERY_BROKER_URL": broker}
        assert house.run("migrate").returncode == 0
        house.start("scheduler")
        worker = house.start("worker", "--max-runs", "2")
        said = house.said
        house.start("api", "--port", "0")
        runs = [house.run_now(target) for _ in range(3)]
        assert worker.stdout is not None
        again = worker.stdout.readline()
        workers = [house.foliot("run", "show", run)["worker"] for run in runs]
        worker.send_signal(signal.SIGTERM)
        left = worker.wait(SECONDS)

    assert f"runs through {broker}" in said
    assert again == said
    assert workers[0] == workers[1] != workers[2]
    assert {name.split(":")[1] for name in workers} == {str(worker.pid)}
    assert left == 0


def test_a_worker_without_a_broker_takes_its_runs_from_the_database(
    house: House, target: Target, server_database_url: str
) -> None:
    target.answer.set()
    house.environ |= {"DATABASE_URL": server_database_url}
    assert house.run("migrate").returncode == 0
    worker = house.start("worker", "--queues", "manual")
    house.start("api", "--port", "0")

    run = house.run_now(target)

    assert house.foliot("run", "show", run)["worker"].split(":")[1] == str(worker.pid)


def test_a_second_signal_stops_a_worker_at_once(
    house: House, target: Target, server_database_url: str, tmp_path: Path
) -> None:
    with a_broker("redis", tmp_path) as broker:
        house.environ |= {"DATABASE_URL": server_database_url, "CELERY_BROKER_URL": broker}
        assert house.run("migrate").returncode == 0
        house.start("scheduler")
        worker = house.start("worker")
        house.start("api", "--port", "0")
        house.run_now(target)

        worker.send_signal(signal.SIGTERM)
        with pytest.raises(Exception, match="timed out"):
            worker.wait(2)
        worker.send_signal(signal.SIGTERM)

        assert worker.wait(SECONDS) == 130
    target.answer.set()
