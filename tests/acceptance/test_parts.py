"""`foliot api` and `foliot scheduler` as processes of their own, on the databases they can share."""

from __future__ import annotations

import signal

import pytest

from tests.acceptance.house import SECONDS, House, Target

pytestmark = pytest.mark.timeout(240)


def test_an_api_and_two_schedulers_share_a_database(house: House, target: Target, server_database_url: str) -> None:
    # What the killed one held keeps the next instants from running until its lease ends.
    house.environ |= {"DATABASE_URL": server_database_url, "FOLIOT_LEASE_SECONDS": "5", "FOLIOT_HEARTBEAT_SECONDS": "2"}
    target.answer.set()
    assert house.run("migrate").returncode == 0

    api = house.start("api", "--port", "0")
    schedulers = [house.start("scheduler") for _ in range(2)]
    schedule = house.foliot("schedule", "create", "often", "--every", "1s", "--url", target.url)
    for _ in range(3):
        assert target.called.acquire(timeout=SECONDS)
    schedulers[0].kill()
    for _ in range(3):
        assert target.called.acquire(timeout=SECONDS)
    house.foliot("schedule", "pause", schedule["id"])

    proof = house.foliot("audit")
    assert proof["ok"]
    assert proof["instants"] >= 6
    for process in (api, schedulers[1]):
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0


def test_parts_refuse_a_database_of_another_revision(house: House, bare_database_url: str) -> None:
    if bare_database_url.startswith("sqlite"):
        pytest.skip("parts refuse SQLite altogether")
    house.environ["DATABASE_URL"] = bare_database_url

    for command in ("api", "scheduler"):
        done = house.run(command)
        assert done.returncode == 1
        [line] = done.stderr.splitlines()
        assert "is at revision none" in line
        assert "run foliot migrate" in line
