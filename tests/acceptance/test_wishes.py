"""A process is drained and restarted from afar, and a queue is paused, as operators do it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.acceptance.house import SECONDS, House, Target
from tests.services import free_port

pytestmark = pytest.mark.timeout(240)


def the_worker(house: House, *, other_than: str = "") -> dict[str, Any]:
    """The one process there is, as soon as it reported."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        done = house.run("worker", "list", "--json")
        items: list[dict[str, Any]] = json.loads(done.stdout)["items"] if done.returncode == 0 else []
        for one in items:
            if one["id"] != other_than:
                return one
    raise AssertionError("no process reported")


def test_up_is_restarted_from_afar_when_its_runs_have_ended(house: House, target: Target) -> None:
    # Who begins anew listens where it was told to: at another free port nobody would find it.
    process = house.up("--port", str(free_port()))
    before = the_worker(house)
    schedule = house.foliot("schedule", "create", "once", "--every", "1h", "--url", target.url)
    house.foliot("schedule", "run-now", schedule["id"])
    assert target.called.acquire(timeout=SECONDS)

    assert house.foliot("worker", "restart", before["id"])["state"] == "draining"
    waiting = house.foliot("schedule", "run-now", schedule["id"])
    assert not target.called.acquire(timeout=2), "who was asked to leave takes nothing new"
    target.answer.set()

    after = the_worker(house, other_than=before["id"])
    assert (after["pid"], after["state"]) == (process.pid, "live")
    assert target.called.acquire(timeout=SECONDS)
    until = time.monotonic() + SECONDS
    while house.foliot("run", "show", waiting["id"])["state"] != "success":
        assert time.monotonic() < until


def test_a_paused_queue_waits_until_it_is_resumed(house: House, target: Target) -> None:
    target.answer.set()
    house.up("--port", "0")
    schedule = house.foliot("schedule", "create", "once", "--every", "1h", "--url", target.url)

    house.foliot("queue", "pause", "manual", "--reason", "a look first")
    house.foliot("schedule", "run-now", schedule["id"])
    assert not target.called.acquire(timeout=2)
    manual = next(one for one in house.foliot("queue", "list")["items"] if one["name"] == "manual")
    assert (manual["depth"], manual["reason"]) == (1, "a look first")

    house.foliot("queue", "resume", "manual")
    assert target.called.acquire(timeout=SECONDS)
