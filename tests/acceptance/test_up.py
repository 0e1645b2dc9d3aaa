"""`foliot up` as a person meets it: started, used, stopped, started again."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from tests.acceptance.house import SECONDS, House, Target

pytestmark = pytest.mark.timeout(240)


def test_it_says_where_it_is_and_ends_well_when_asked(house: House) -> None:
    process = house.up("--port", "0")

    assert str(house.home / "foliot.db") in house.said
    assert house.foliot("health")["status"] in {"ok", "degraded"}
    assert house.foliot("audit") == {"ok": True, "schedules": 0, "instants": 0, "holes": []}
    assert house.home.stat().st_mode & 0o077 == 0

    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0


def test_a_drain_waits_for_what_is_running(house: House, target: Target) -> None:
    process = house.up("--port", "0", FOLIOT_SHUTDOWN_SECONDS=str(SECONDS))
    run = house.run_now(target)

    process.send_signal(signal.SIGINT)
    target.answer.set()
    assert process.wait(SECONDS) == 0

    house.up("--port", "0")
    assert house.foliot("run", "show", run)["state"] == "success"
    assert not target.called.acquire(blocking=False)


def test_a_second_signal_stops_at_once(house: House, target: Target) -> None:
    process = house.up("--port", "0", FOLIOT_SHUTDOWN_SECONDS="600")
    house.run_now(target)

    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.send_signal(signal.SIGTERM)

    assert process.wait(SECONDS) == 130


def test_following_a_run_outlives_a_restart(house: House, target: Target) -> None:
    process = house.up("--port", "0", FOLIOT_SHUTDOWN_SECONDS="0")
    run = house.run_now(target)
    follower = house.follow(run)
    assert follower.stdout is not None
    # Read from the one stream to its end: `communicate` would lose what the first reading has buffered.
    first = follower.stdout.readline()

    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0
    target.answer.set()
    house.up("--port", house.port)

    with follower:
        events = [json.loads(line) for line in (first, *follower.stdout)]
    assert follower.returncode == 0
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["state"] == "success"
