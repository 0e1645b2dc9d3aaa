"""What needs a person, what ran and what will, against a server that remembers what it was asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import server

__all__ = ["server"]

ITEM: dict[str, Any] = {
    "id": "failing:sch_1",
    "kind": "failing",
    "severity": "failed",
    "title": "nightly-prices",
    "reason": "failed 3 times in a row: HTTP 429",
    "since": "2027-01-01T09:00:00Z",
    "count": 3,
    "actions": [],
}
FOLDED = {"at": "2027-01-01T01:00:00Z", "until": "2027-01-01T03:00:00Z", "state": "success", "count": 9}
STRIP: dict[str, Any] = {
    "now": "2027-01-01T12:00:00Z",
    "groups": [
        {
            "name": "nightly",
            "urgency": "failing",
            "runs": 2,
            "planned": 2,
            "summary": "At 02:30 every day (UTC)",
            "marks": [
                {"at": "2027-01-01T02:30:00Z", "state": "failed", "count": 1},
                {"at": "2027-01-01T02:30:00Z", "state": "success", "count": 1},
                {"at": "2027-01-02T02:30:00Z", "state": "planned", "count": 1},
                {"at": "2027-01-03T02:30:00Z", "state": "planned", "count": 1},
            ],
        }
    ],
    "collisions": [{"at": "2027-01-02T09:00:00Z", "count": 14}],
    "rest": [{"name": "#prices", "schedules": 4, "runs": 9, "planned": 8, "marks": [FOLDED]}],
    "dropped_groups": 5,
}
CELL: dict[str, Any] = {"local": "2027-01-01T00:00:00+01:00", "counts": {"success": 2, "failed": 1}, "total": 3}
QUIET: dict[str, Any] = {"local": "2027-01-02T00:00:00+01:00", "counts": {}, "total": 0}
MONTH: dict[str, Any] = {
    "timezone": "Europe/Stockholm",
    "exact": False,
    "items": [
        {**CELL, "planned": 4, "missed": 1, "skipped": 0},
        {**QUIET, "planned": 0, "missed": 0, "skipped": 0},
    ],
}


@pytest.fixture(autouse=True)
def _address(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("COLUMNS", "200")


def words(text: str) -> str:
    return " ".join(text.split())


def test_what_needs_a_person_is_listed_with_its_reason(server: Script) -> None:
    answer = {"checked_at": "2027-01-01T09:00:00Z", "items": [ITEM]}
    server.will("GET", "/api/attention", (200, answer), (200, answer), (200, {**answer, "items": []}))

    shown = invoke("attention", "--utc")

    assert "failing nightly-prices failed 3 times in a row: HTTP 429 2027-01-01 09:00:00Z" in words(shown.out)
    assert json.loads(invoke("attention", "--json").out) == answer
    assert "All is well" in invoke("attention").out


def test_a_timeline_shows_what_ran_what_failed_and_what_comes_next(server: Script) -> None:
    server.will("GET", "/api/timeline", (200, STRIP))

    shown = invoke("timeline", "-q", "tag:prices", "--utc")

    assert shown.code == 0
    assert server.request()[1] == "/api/timeline?q=tag%3Aprices&group_by=schedule&rows=20"
    assert "nightly failing 2 1 2027-01-01 02:30:00Z 2 2027-01-02 02:30:00Z At 02:30 every day (UTC)" in words(
        shown.out
    )
    assert "#prices (4 schedules) 9 2027-01-01 03:00:00Z 8" in words(shown.out)
    assert "14 schedules start at 2027-01-02 09:00:00Z" in shown.out
    assert "5 more rows did not fit" in shown.err


def test_a_calendar_leaves_out_days_without_anything(server: Script) -> None:
    server.will("GET", "/api/calendar", (200, MONTH))

    shown = invoke("calendar", "--timezone", "Europe/Stockholm")

    assert "2027-01-01 3 1 failed, 2 success 1 4" in words(shown.out)
    assert "2027-01-02" not in shown.out
    assert "estimated evenly" in shown.err


def test_a_preview_takes_words(server: Script) -> None:
    found = {"summary": "At 02:30 every day (UTC)", "cron_expr": "30 2 * * *", "next": [], "notes": []}
    server.will("POST", "/api/schedules/preview", (200, found))

    shown = invoke("schedule", "preview", "every day at 02:30", "--count", "3")

    assert "cron: 30 2 * * *" in shown.out
    assert server.body() == {"words": "every day at 02:30", "count": 3}
    assert invoke("schedule", "preview", "every day", "--cron", "* * * * *").code == 2
    assert invoke("schedule", "preview").code == 2


def test_a_mistake_is_underlined_and_what_was_meant_is_suggested(server: Script) -> None:
    complaint = {
        "field": "cron_expr",
        "message": "minute: '61' is not within 0-59",
        "got": "61 2 * * *",
        "position": [0, 2],
        "suggestion": "1 2 * * *",
    }
    problem = {"title": "The request is invalid", "detail": "…", "errors": [complaint]}
    server.will("POST", "/api/schedules/preview", (422, problem))

    shown = invoke("schedule", "preview", "--cron", "61 2 * * *")

    lines = shown.err.splitlines()
    (at,) = [place for place, line in enumerate(lines) if line.endswith("^^")]
    assert lines[at - 1].endswith("    61 2 * * *")
    assert lines[at].index("^") == lines[at - 1].index("61")
    assert lines[at + 1].endswith("did you mean: 1 2 * * *")
