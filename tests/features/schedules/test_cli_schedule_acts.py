"""Skipping, backfilling, writing down and reading back, against a server that remembers what it was asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foliot.features.schedules.cli.transfer import read_documents
from foliot.servers.http import encode
from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import SCHEDULE, server
from tests.features.bulk.test_cli_bulks import BULK

__all__ = ["server"]

PATH = "/api/schedules/sch_1"
SKIPS = {**SCHEDULE, "skips": {"at": "2027-01-01T09:00:00Z", "by": "eva"}, "next_run_at": "2027-01-01T11:00:00Z"}
TRIAL: dict[str, Any] = {
    "dry_run": True,
    "count": 4,
    "named": 10,
    "left_out": {"succeeded": 6},
    "first": "2027-01-01T01:00:00Z",
    "last": "2027-01-01T09:00:00Z",
    "sample": [{"at": "2027-01-01T01:00:00Z", "outcome": "missed", "reason": "catchup_none", "run_id": None}],
    "hosts": ["example.com"],
    "warnings": ["while these runs are open, the overlap policy skip applies to instants that come due"],
}
DOCUMENT = {
    "name": "prices",
    "type": "cron",
    "cron_expr": "0 2 * * *",
    "action": {"kind": "webhook", "url": "https://a"},
}


@pytest.fixture(autouse=True)
def _address(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("COLUMNS", "200")


def test_the_next_instant_is_skipped_and_it_says_who_wanted_that(server: Script) -> None:
    server.will("POST", f"{PATH}/skip-next", (200, SKIPS))

    shown = invoke("schedule", "skip-next", "sch_1", "--at", "2027-01-01T09:00:00Z", "--utc")

    assert server.body() == {"at": "2027-01-01T09:00:00Z"}
    assert "requested by eva" in shown.out
    assert shown.code == 0


def test_it_is_taken_back(server: Script) -> None:
    server.will("DELETE", f"{PATH}/skip-next", (200, SCHEDULE), (409, {"detail": "has passed"}))

    assert invoke("schedule", "skip-next", "sch_1", "--undo").code == 0
    assert "has passed" in invoke("schedule", "skip-next", "sch_1", "--undo").err
    assert invoke("schedule", "skip-next", "sch_1", "--undo", "--at", "2027-01-01T09:00:00Z").code == 2


def test_one_schedule_or_all_are_set_back(server: Script) -> None:
    server.will("POST", f"{PATH}/realign", (200, SCHEDULE))
    moved = {"id": "sch_1", "name": "prices", "next_run_at": "2027-01-01T11:00:00Z"}
    server.will("POST", "/api/schedules/realign", (200, {"items": [moved]}), (200, {"items": []}))

    assert invoke("schedule", "realign", "sch_1").code == 0
    assert "prices" in invoke("schedule", "realign", "--all", "--utc").out
    assert "No schedule is ahead." in invoke("schedule", "realign", "--all").out
    assert invoke("schedule", "realign").code == 2
    assert invoke("schedule", "realign", "sch_1", "--all").code == 2


def test_a_backfill_asks_for_what_was_given_and_nothing_else(server: Script) -> None:
    bulk = {**BULK, "action": "backfill", "filter": None, "details": {"schedule_id": "sch_1"}}
    server.will("POST", f"{PATH}/backfill", (202, bulk))

    start = "2027-01-01T00:00:00Z"
    shown = invoke("schedule", "backfill", "sch_1", "--from", start, "--all", "--rate", "9", "--expect", "4")

    assert server.body() == {
        "from": start,
        "rate": 9,
        "limit": 1000,
        "dry_run": False,
        "which": "all",
        "expect": 4,
    }
    assert "blk_1" in shown.out


def test_a_trial_is_told_in_words(server: Script) -> None:
    server.will("POST", f"{PATH}/backfill", (200, TRIAL))

    shown = invoke("schedule", "backfill", "sch_1", "--from", "2027-01-01T00:00:00Z", "--dry-run", "--utc")

    assert "would create 4 runs for 10 instants" in shown.out
    assert "left out: 6 succeeded" in shown.out
    assert "catchup_none" in shown.out
    assert "the overlap policy skip" in shown.err


def test_schedules_are_written_to_a_file(server: Script, tmp_path: Path) -> None:
    server.will("GET", "/api/schedules/export", (200, [DOCUMENT]))
    file = tmp_path / "all.json"

    assert invoke("schedule", "export", "-q", "tag:a", "--format", "json", "--output", str(file)).code == 0

    assert json.loads(file.read_text()) == [DOCUMENT]
    assert server.request()[1] == "/api/schedules/export?q=tag%3Aa&format=json"


def created(*ids: str) -> dict[str, Any]:
    return {"items": [{"name": "new", "outcome": "created", "id": one, "errors": []} for one in ids]}


def test_many_documents_are_sent_in_batches(server: Script, tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    file.write_text(json.dumps([{**DOCUMENT, "name": f"new {number}"} for number in range(1200)]))
    server.will("GET", "/api/schedules", (200, {"items": [], "next_cursor": None}))
    answers = [(200, created(*(f"sch_{number}" for number in range(count)))) for count in (500, 500, 200)]
    server.will("POST", "/api/schedules/batch", *answers)

    shown = invoke("schedule", "import", str(file), "--json")

    assert shown.code == 0
    assert len(json.loads(shown.out)) == 1200
    server.request()
    assert [len(server.body()["schedules"]) for _ in range(3)] == [500, 500, 200]


def test_a_file_is_read_back_names_that_are_taken_stay(server: Script, tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(
        "- name: prices\n  type: cron\n"
        "- name: new\n  type: cron\n  status: paused\n  paused_reason: waiting\n"
        "- name: over\n  status: completed\n"
    )
    server.will("GET", "/api/schedules", (200, {"items": [SCHEDULE], "next_cursor": None}))
    server.will("POST", "/api/schedules/batch", (200, created("sch_2")))

    shown = invoke("schedule", "import", str(file), "--json")

    assert [(one["name"], one["did"]) for one in json.loads(shown.out)] == [
        ("prices", "left"),
        ("new", "created"),
        ("over", "left"),
    ]
    server.request()
    new = {"name": "new", "type": "cron", "paused": True, "paused_reason": "waiting"}
    assert server.body() == {"schedules": [new], "atomic": False}
    assert server.asked.empty(), "one step: nothing can fire between two"


def test_documents_that_share_a_name_share_no_schedule(server: Script, tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    file.write_text(json.dumps([{**DOCUMENT, "priority": number} for number in (1, 2, 3)]))
    there = [SCHEDULE, {**SCHEDULE, "id": "sch_0"}]
    assert SCHEDULE["name"] == DOCUMENT["name"]
    server.will("GET", "/api/schedules", (200, {"items": there, "next_cursor": None}))
    server.will("PUT", PATH, (200, SCHEDULE))
    server.will("PUT", "/api/schedules/sch_0", (200, {**SCHEDULE, "id": "sch_0"}))
    server.will("POST", "/api/schedules/batch", (200, created("sch_2")))

    shown = invoke("schedule", "import", str(file), "--replace", "--json")

    did = [(one["id"], one["did"]) for one in json.loads(shown.out)]
    assert did == [("sch_1", "replaced"), ("sch_0", "replaced"), ("sch_2", "created")]


def test_a_trial_of_an_import_changes_nothing(server: Script, tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    file.write_text(json.dumps([DOCUMENT, {**DOCUMENT, "name": "new"}]))
    server.will("GET", "/api/schedules", (200, {"items": [SCHEDULE], "next_cursor": None}))

    shown = invoke("schedule", "import", str(file), "--replace", "--dry-run")

    assert "would be replaced" in shown.out
    assert "would be created" in shown.out
    server.request()
    assert server.asked.empty()


def test_what_is_refused_is_named_and_fails(server: Script, tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    file.write_text(json.dumps(DOCUMENT))
    server.will("GET", "/api/schedules", (200, {"items": [], "next_cursor": None}))
    never = {"field": "cron_expr", "message": "can never fire", "got": None}
    refused = {"name": DOCUMENT["name"], "outcome": "refused", "id": None, "errors": [never]}
    server.will("POST", "/api/schedules/batch", (200, {"items": [refused]}))

    shown = invoke("schedule", "import", str(file))

    assert shown.code == 1
    assert "cron_expr: can never fire" in shown.out
    assert "1 of 1 were refused" in shown.err


@pytest.mark.parametrize("status", ["pasued", ["paused"], None, "damaged"])
def test_a_status_that_is_none_makes_no_schedule(status: object, server: Script, tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    file.write_text(json.dumps([{**DOCUMENT, "status": status}]))
    server.will("GET", "/api/schedules", (200, {"items": [], "next_cursor": None}))

    shown = invoke("schedule", "import", str(file))

    assert shown.code == 1
    assert "its status must be one of active, paused" in shown.out
    server.request()
    assert server.asked.empty()


def test_what_thousands_of_schedules_come_to_is_read_back() -> None:
    one = {**DOCUMENT, "retry_policy": dict.fromkeys(("a", "b", "c", "d"), 1), "tags": ["a", "b"]}
    deep: dict[str, Any] = {}
    for _ in range(60):
        deep = {"in": deep}
    odd = {"name": "odd", "action": {"body": deep, "long " * 300: {"a": [1]}, "x" * 2000: "y"}}

    assert read_documents("it", encode.yaml_list([one] * 3000)) == [one] * 3000
    assert read_documents("it", encode.yaml_list([odd])) == [odd]


@pytest.mark.parametrize("text", ["- [", "a: b: c", '{"a": ', "just words", "- 1\n- 2"])
def test_a_file_that_is_none_is_refused_by_name(text: str, tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(text)

    shown = invoke("schedule", "import", str(file))

    assert shown.code == 2
    assert "all.yaml" in shown.err


def test_many_are_tagged(server: Script) -> None:
    server.will("POST", "/api/bulk", (202, {**BULK, "action": "tag"}))

    invoke("bulk", "start", "tag", "-q", "tag:a", "--add-tag", "b", "--add-tag", "c", "--remove-tag", "a")

    body = server.body()
    assert (body["add_tags"], body["remove_tags"]) == (["b", "c"], ["a"])


def test_the_ranking_names_the_filter_that_proves_it(server: Script) -> None:
    one = {
        "schedule_id": "sch_1",
        "name": "prices",
        "runs": 8,
        "failed": 6,
        "failure_ratio": 0.75,
        "p95_ms": 31_000,
        "q": {"runs": "schedule:sch_1", "failed": "schedule:sch_1 state:failed", "slow": "schedule:sch_1 took:31000ms"},
    }
    answer = {"over": "7d", "since": "", "runs": 8, "whole": False, "slowest": [one], "flakiest": [one]}
    server.will("GET", "/api/schedules/ranking", (200, answer))

    shown = invoke("ranking", "--over", "7d")

    for told in ("31 s", "75.0%", "6 of 8", "took:31000ms", "state:failed"):
        assert told in shown.out
    assert "only the newest 8 runs" in shown.err
