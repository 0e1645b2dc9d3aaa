"""Names and beginnings of ids in place of ids."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cli.cli_server import Answered, Script, invoke
from tests.cli.test_cli import SCHEDULE, server
from tests.cli.test_cli_answers import RUN

__all__ = ["server"]

Foliot = Callable[..., Answered]


@pytest.fixture
def run(server: Script, monkeypatch: pytest.MonkeyPatch) -> Foliot:
    """Runs a command against the server."""
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    return invoke


ID = "sch_01a1ee3578c070eda5574ad728018f9e"
MATCH = {"kind": "schedule", "id": ID, "name": "prices", "hint": "webhook, active"}


def test_a_name_stands_for_the_id_and_an_id_is_not_looked_up(run: Foliot, server: Script) -> None:
    server.will("GET", "/api/resolve", (200, {"matches": [MATCH], "more": False, "suggestions": []}))
    server.will("GET", f"/api/schedules/{ID}", (200, SCHEDULE))

    assert run("schedule", "show", "pri ces").code == 0
    assert run("schedule", "show", ID).code == 0

    asked = [server.request()[1] for _ in range(3)]
    assert asked == ["/api/resolve?kind=schedule&ref=pri+ces", *[f"/api/schedules/{ID}"] * 2]
    assert server.asked.empty()


def test_a_flag_takes_a_name_too(run: Foliot, server: Script) -> None:
    server.will("GET", "/api/resolve", (200, {"matches": [MATCH], "more": False, "suggestions": []}))
    server.will("GET", "/api/runs", (200, {"items": [], "next_cursor": None}))

    assert run("run", "list", "--schedule", "prices").code == 0

    server.request()
    assert f"schedule_id={ID}" in server.request()[1]


def test_several_matches_are_listed_and_nothing_is_done(run: Foliot, server: Script) -> None:
    other = {**MATCH, "id": ID[:-1] + "0", "name": "prices-eu"}
    server.will("GET", "/api/resolve", (200, {"matches": [MATCH, other], "more": True, "suggestions": []}))

    answered = run("schedule", "pause", ID[:12])

    assert answered.code == 4
    assert answered.err.splitlines() == [
        "error: several match 'sch_01a1ee35': give one of these ids, or a longer part of it",
        f"  {ID}  prices  webhook, active",
        f"  {other['id']}  prices-eu  webhook, active",
        "  and more",
    ]
    assert server.request()[1].startswith("/api/resolve")
    assert server.asked.empty()


def test_what_does_not_exist_is_answered_with_names_that_are_alike(run: Foliot, server: Script) -> None:
    server.will("GET", "/api/resolve", (200, {"matches": [], "more": False, "suggestions": ["prices", "price-list"]}))

    answered = run("schedule", "show", "pirces")
    as_json = run("schedule", "show", "pirces", "--json")

    assert (answered.code, as_json.code) == (3, 3)
    assert answered.err.splitlines() == [
        "error: no schedule 'pirces'",
        "  did you mean: prices, price-list",
        "  hint: foliot schedule list shows what there is",
    ]
    assert json.loads(as_json.err)["error"]["suggestions"] == ["prices", "price-list"]


def test_a_server_that_does_not_resolve_names_gets_what_was_typed(run: Foliot, server: Script) -> None:
    server.will("GET", "/api/resolve", (404, {"detail": "there is no route"}))
    server.will("GET", "/api/schedules/sch_1", (200, SCHEDULE))

    assert run("schedule", "show", "sch_1").code == 0


def test_the_newest_run_of_a_schedule_is_named_when_it_is_meant(run: Foliot, server: Script) -> None:
    match = {"kind": "run", "id": "run_1", "name": "prices", "hint": "webhook, success"}
    server.will("GET", "/api/resolve", (200, {"matches": [match], "more": False, "suggestions": []}))
    server.will("GET", "/api/runs/run_1", (200, RUN))

    assert run("run", "show", "prices").err == "foliot: the newest run of prices: run_1\n"
