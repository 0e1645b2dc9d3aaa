"""`foliot up --demo` as a newcomer meets it: alive, one thing failing, and gone with a word."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from tests.acceptance.house import SECONDS, House

pytestmark = pytest.mark.timeout(240)


def test_a_newcomer_mends_what_fails_and_removes_the_demo(house: House) -> None:
    house.up("--port", "0", "--demo")

    assert ask(house, "GET", "/").headers["Content-Type"].startswith("text/html")
    assert told(house, "GET", "/api/demo")["schedules"] == 14, "without a gRPC port that it knew before"
    assert told(house, "GET", "/api/runs/count?q=state:dead_letter")["count"] == 37
    (failed, *_) = told(house, "GET", "/api/runs?state=failed")["items"]
    again = told(house, "POST", f"/api/runs/{failed['id']}/retry")
    assert how_it_ended(house, again["id"]) == "success"
    assert house.foliot("audit")["holes"] == []

    assert told(house, "DELETE", "/api/demo")["schedules"] == 14
    assert told(house, "GET", "/api/runs/count") == {"count": 0, "by_state": {}}


def ask(house: House, method: str, path: str, **headers: str) -> Any:
    asked = urllib.request.Request(house.environ["FOLIOT_URL"] + path, method=method, headers=headers)
    return urllib.request.urlopen(asked, timeout=SECONDS)


def told(house: House, method: str, path: str) -> Any:
    with ask(house, method, path) as answer:
        return json.load(answer)


def how_it_ended(house: House, run: str) -> Any:
    """What its stream says last."""
    with ask(house, "GET", f"/api/runs/{run}/events", Accept="text/event-stream") as stream:
        lines = [line.decode() for line in stream]
    return json.loads(next(line for line in reversed(lines) if line.startswith("data:"))[5:])["state"]
