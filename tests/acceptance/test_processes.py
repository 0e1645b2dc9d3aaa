"""`foliot up --processes 2` and `foliot worker --processes 2`: one address, shared tables, none of them needed."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.acceptance.house import SECONDS, House, Target
from tests.services import alive, wait_until

pytestmark = pytest.mark.timeout(240)

POSTGRESQL = pytest.mark.parametrize("server_database_url", ["postgresql"], indirect=True)
SOON = {"FOLIOT_LEASE_SECONDS": "5", "FOLIOT_HEARTBEAT_SECONDS": "2", "FOLIOT_SWEEP_SECONDS": "1"}


def pids_of(said: str) -> list[int]:
    found = re.search(r"Processes  2: (\d+), (\d+)", said)
    assert found, said
    return [int(pid) for pid in found.groups()]


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_killed_process_comes_back_and_nothing_is_lost(
    house: House, target: Target, server_database_url: str
) -> None:
    house.environ |= {"DATABASE_URL": server_database_url, **SOON}
    process = house.start("up", "--processes", "2", "--port", "0", "--concurrency", "4", lines=6)
    first, second = pids_of(house.said)
    schedule = house.foliot(
        "schedule", "create", "held", "--at", "2999-01-01T00:00:00Z", "--url", target.url, "--overlap", "allow_all"
    )
    runs = [house.foliot("schedule", "run-now", schedule["id"])["id"] for _ in range(4)]
    for _ in range(4):
        # Four at once are more than one process starts for a single target, whose share is half of its slots.
        assert target.called.acquire(timeout=SECONDS)

    os.kill(second, signal.SIGKILL)
    assert wait_until(lambda: len(children_of(process.pid)) == 2 and second not in children_of(process.pid), seconds=60)
    target.answer.set()

    def states() -> set[str]:
        return {house.foliot("run", "show", run)["state"] for run in runs}

    assert wait_until(lambda: states() == {"success"}, seconds=SECONDS)
    everyone = children_of(process.pid)
    assert first in everyone
    assert "ended; starting another" in house.log.read_text()
    assert house.foliot("audit")["ok"]

    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0
    assert not any(alive(pid) for pid in everyone)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(house.port))) != 0


@POSTGRESQL
def test_every_process_answers_and_each_reports_as_a_node(house: House, server_database_url: str) -> None:
    house.environ["DATABASE_URL"] = server_database_url
    process = house.start("up", "--processes", "2", "--port", "0", lines=6)
    ours = set(pids_of(house.said))

    def nodes() -> set[int]:
        return {node["pid"] for node in house.foliot("worker", "list")["items"]}

    assert wait_until(lambda: nodes() == ours, seconds=SECONDS)
    for _ in range(20):
        with urllib.request.urlopen(f"{house.environ['FOLIOT_URL']}/health", timeout=SECONDS) as answer:
            assert json.load(answer)
    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0


@POSTGRESQL
def test_a_signal_to_all_of_them_drains_as_one_to_the_supervisor_does(
    house: House, target: Target, server_database_url: str
) -> None:
    house.environ["DATABASE_URL"] = server_database_url
    process = house.start("up", "--processes", "2", "--port", "0", lines=6, FOLIOT_SHUTDOWN_SECONDS=str(SECONDS))
    run = house.run_now(target)

    # As a service manager does that signals every process of the service.
    for pid in (*pids_of(house.said), process.pid):
        os.kill(pid, signal.SIGTERM)
    target.answer.set()
    assert process.wait(SECONDS) == 0

    house.start("up", "--port", "0", lines=5)
    assert house.foliot("run", "show", run)["state"] == "success"
    assert not target.called.acquire(blocking=False)


@POSTGRESQL
def test_several_workers_share_a_command_and_a_health_file(
    house: House, target: Target, tmp_path: Path, server_database_url: str
) -> None:
    file = tmp_path / "health"
    house.environ["DATABASE_URL"] = server_database_url
    house.start("up", "--port", "0", lines=5, FOLIOT_QUEUES="none_of_these")
    environ = {"FOLIOT_HEALTH_FILE": str(file), "FOLIOT_TIME_SCALE": "0.1"}
    process = house.start("worker", "--processes", "2", "--queues", "manual,default", lines=2, **environ)
    assert wait_until(lambda: file.exists() and file.read_text() == "ready\n", seconds=SECONDS)
    target.answer.set()
    house.run_now(target)

    process.send_signal(signal.SIGINT)
    assert process.wait(SECONDS) == 0
    assert not file.exists()


@POSTGRESQL
def test_a_second_signal_ends_all_of_them_at_once(house: House, target: Target, server_database_url: str) -> None:
    house.environ["DATABASE_URL"] = server_database_url
    process = house.start("up", "--processes", "2", "--port", "0", lines=6, FOLIOT_SHUTDOWN_SECONDS="600")
    house.run_now(target)
    ours = pids_of(house.said)

    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.send_signal(signal.SIGTERM)

    assert process.wait(SECONDS) == 130
    assert not any(alive(pid) for pid in ours)


def test_sqlite_has_one_writer_and_so_one_process(house: House) -> None:
    done = house.run("up", "--processes", "2")

    assert done.returncode == 1
    assert "--processes: must be 1 on SQLite, which has one writer" in done.stderr
    house.environ["FOLIOT_SERVER_PROCESSES"] = "2"
    checked = house.run("check", "--json")
    assert checked.returncode == 1
    assert "FOLIOT_SERVER_PROCESSES" in {finding["key"] for finding in json.loads(checked.stdout)["findings"]}
