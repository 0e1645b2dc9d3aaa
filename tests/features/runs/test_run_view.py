"""How a run is printed at a terminal: its attempts, and the requests they sent."""

from __future__ import annotations

import pytest

from foliot.features.runs.view import RUN
from foliot.terminal.group import JsonObject

ATTEMPT = {
    "number": 1,
    "outcome": "failed",
    "started_at": "2027-01-01T00:00:00Z",
    "ended_at": "2027-01-01T00:00:01Z",
    "error": {"code": "http_503", "message": "The target answered 503 Service Unavailable.", "cause": "http_503"},
    "response": {"status": 503},
}
RUN_DOCUMENT = {
    "id": "run_1",
    "state": "failed",
    "schedule_name": "shop",
    "schedule_id": "sch_1",
    "queue": "default",
    "priority": 5,
    "attempt": 1,
    "max_attempts": 1,
    "waiting": None,
}


def test_the_request_and_its_phases_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    request = {"method": "POST", "url": "http://shop.example/hook", "headers": {}}
    timing = {"dns_ms": 1.2, "connect_ms": 2.0, "tls_ms": None, "first_byte_ms": 31.0, "total_ms": 35.4}
    RUN(JsonObject(RUN_DOCUMENT | {"attempts": [ATTEMPT | {"request": request, "timing": timing}]}))

    said = capsys.readouterr().out
    line = next(line for line in said.splitlines() if "POST http://shop.example/hook" in line)
    assert line.split()[-8:] == ["1", "ms", "2", "ms", "31", "ms", "35", "ms"]


def test_attempts_without_a_request_have_no_such_table(capsys: pytest.CaptureFixture[str]) -> None:
    RUN(JsonObject(RUN_DOCUMENT | {"attempts": [ATTEMPT | {"request": None, "timing": None}]}))

    assert "first byte" not in capsys.readouterr().out
