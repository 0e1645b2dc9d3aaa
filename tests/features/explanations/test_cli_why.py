"""`foliot why` against a server that remembers what it was asked."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import server

__all__ = ["server"]

RUN = "run_" + "a" * 32
SCHEDULE = "sch_" + "b" * 32
ANSWER: dict[str, Any] = {
    "summary": "2027-03-28 02:30 does not exist.",
    "facts": [
        {
            "at": "2027-03-28T01:00:00Z",
            "code": "clock_gap",
            "words": "…",
            "proof": {"schedule_id": SCHEDULE, "x": None},
        },
        {"at": None, "code": "waiting_no_worker", "words": "…", "proof": {"queue": "scraping"}},
    ],
}


@pytest.fixture(autouse=True)
def _address(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("COLUMNS", "200")


def test_a_run_is_explained(server: Script) -> None:
    server.will("GET", f"/api/runs/{RUN}/explain", (200, ANSWER))
    shown = invoke("why", RUN, "--utc")

    assert shown.code == 0
    assert shown.out.startswith("2027-03-28 02:30 does not exist.\n")
    assert f"2027-03-28 01:00:00Z clock_gap schedule_id {SCHEDULE}" in " ".join(shown.out.split())
    assert "now waiting_no_worker queue scraping" in " ".join(shown.out.split())


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("2027-03-27 02:30", "2027-03-27T01:30:00+00:00"),  # on the clock of the schedule's zone
        ("2027-03-27T01:30:00Z", "2027-03-27T01:30:00Z"),
    ],
)
def test_a_time_of_a_schedule_is_explained(server: Script, given: str, asked: str) -> None:
    server.will("GET", f"/api/schedules/{SCHEDULE}", (200, {"id": SCHEDULE, "timezone": "Europe/Stockholm"}))
    server.will("GET", f"/api/schedules/{SCHEDULE}/explain", (200, ANSWER))
    shown = invoke("why", SCHEDULE, "--at", given)

    assert shown.code == 0
    sent = [parse_qs(urlsplit(server.request()[1]).query) for _ in range(server.asked.qsize())]
    assert sent[-1] == {"at": [asked]}


def test_a_run_has_its_own_time(server: Script) -> None:
    shown = invoke("why", RUN, "--at", "12:00")

    assert shown.code == 2
    assert "--at belongs to a schedule" in shown.err


def test_a_time_that_cannot_be_is_refused(server: Script) -> None:
    server.will("GET", f"/api/schedules/{SCHEDULE}", (200, {"id": SCHEDULE, "timezone": "UTC"}))
    shown = invoke("why", SCHEDULE, "--at", "25:00")

    assert shown.code == 2
    assert "--at: hour must be in 0..23" in shown.err
