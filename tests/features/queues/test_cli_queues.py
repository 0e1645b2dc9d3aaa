"""`foliot queue …` and `foliot worker list|drain|restart` against a server that remembers what it was asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import server

__all__ = ["server"]

QUEUE: dict[str, Any] = {
    "name": "scraping",
    "depth": 12,
    "oldest": "2027-01-01T09:00:00Z",
    "in_flight": 3,
    "per_minute": 40,
    "paused_at": "2027-01-01T09:05:00Z",
    "paused_by": "root",
    "reason": "their server is down",
    "workers": ["host-1:42:abc"],
}
WORKER: dict[str, Any] = {
    "id": "host-1:42:abc",
    "role": "worker",
    "host": "host-1",
    "pid": 42,
    "started_at": "2027-01-01T09:00:00Z",
    "seen_at": "2027-01-01T09:05:00Z",
    "state": "draining",
    "wish": "restart",
    "slots": 100,
    "free": 97,
    "in_flight": 3,
    "queues": None,
}


@pytest.fixture(autouse=True)
def _address(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("COLUMNS", "200")


def words(text: str) -> str:
    return " ".join(text.split())


def test_queues_are_listed_with_what_waits_and_why(server: Script) -> None:
    server.will("GET", "/api/queues", (200, {"items": [QUEUE], "next_cursor": None}))

    shown = invoke("queue", "list", "--utc")

    assert shown.code == 0
    assert "scraping 12 2027-01-01 09:00:00Z 3 40 1 since 2027-01-01 09:05:00Z: their server is down" in words(
        shown.out
    )
    assert json.loads(invoke("queue", "list", "--json").out)["items"] == [QUEUE]


def test_a_queue_is_paused_and_resumed(server: Script) -> None:
    server.will("POST", "/api/queues/scraping/pause", (200, QUEUE))
    server.will("POST", "/api/queues/scraping/resume", (200, {**QUEUE, "paused_at": None, "paused_by": None}))

    paused = invoke("queue", "pause", "scraping", "--reason", "their server is down", "--utc")
    resumed = invoke("queue", "resume", "scraping")

    assert (paused.code, resumed.code) == (0, 0)
    assert "paused since 2027-01-01 09:05:00Z: their server is down" in words(paused.out)
    assert "paused no" in words(resumed.out)


def test_a_ping_waits_for_new_reports_and_says_who_gave_none(server: Script) -> None:
    second = {**WORKER, "id": "host-2:7:def", "state": "live"}
    gone = {**WORKER, "id": "host-3:1:ghi", "state": "stale"}
    before = {"items": [WORKER, second, gone], "next_cursor": None}
    after = {"items": [{**WORKER, "seen_at": "2027-01-01T09:05:00.5Z"}, second, gone], "next_cursor": None}
    server.will("POST", "/api/workers/ping", (200, before))
    server.will("GET", "/api/workers", (200, after))

    shown = invoke("worker", "ping", "--timeout", "0.2")

    assert shown.code == 1
    assert "host-1:42:abc worker pong after" in words(shown.out)
    assert "host-2:7:def worker no answer" in words(shown.out)
    found = json.loads(invoke("worker", "ping", "--timeout", "0.2", "--json").out)["items"]
    assert [(each["id"], each["answered"]) for each in found] == [
        ("host-1:42:abc", True),
        ("host-2:7:def", False),
        ("host-3:1:ghi", False),
    ]


def test_a_ping_succeeds_when_everybody_who_lives_answers_and_fails_when_nobody_does(server: Script) -> None:
    gone = {**WORKER, "id": "host-3:1:ghi", "state": "stale"}
    server.will("POST", "/api/workers/ping", (200, {"items": [WORKER, gone], "next_cursor": None}))
    server.will("GET", "/api/workers", (200, {"items": [{**WORKER, "seen_at": "2027-01-01T09:06:00Z"}, gone]}))
    assert invoke("worker", "ping").code == 0

    server.will("POST", "/api/workers/ping", (200, {"items": [], "next_cursor": None}))
    assert invoke("worker", "ping").code == 1


def test_workers_are_listed_with_what_they_do(server: Script) -> None:
    server.will("GET", "/api/workers", (200, {"items": [WORKER], "next_cursor": None}))

    shown = invoke("worker", "list", "--utc")

    assert shown.code == 0
    assert "host-1:42:abc worker draining, then restarts 3 of 100 every queue" in words(shown.out)
    assert json.loads(invoke("worker", "list", "--json").out)["items"] == [WORKER]


@pytest.mark.parametrize("wish", ["drain", "restart"])
def test_a_worker_is_asked_by_its_id(wish: str, server: Script) -> None:
    server.will("POST", f"/api/workers/host-1%3A42%3Aabc/{wish}", (200, {**WORKER, "wish": wish}))

    asked = invoke("worker", wish, "host-1:42:abc")

    assert asked.code == 0
    assert "state draining" in words(asked.out)
    assert json.loads(invoke("worker", wish, "host-1:42:abc", "--json").out)["wish"] == wish
