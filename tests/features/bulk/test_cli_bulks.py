"""Filters, counts, searched logs and bulk actions, against a server that remembers what it was asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import server
from tests.cli.test_cli_answers import RUN

__all__ = ["server"]

BULK: dict[str, Any] = {
    "id": "blk_1",
    "action": "replay",
    "filter": "fingerprint:ab12",
    "ids_given": 0,
    "rate": 5,
    "state": "running",
    "total": 31,
    "done": 20,
    "ok": 18,
    "failed": 2,
    "failures": [{"id": "run_9", "message": "was replayed 10 times"}],
    "outcomes": {"success": 17, "running": 1},
    "user_id": "ann",
    "created_at": "2027-01-01T09:00:00Z",
    "finished_at": None,
    "reason": "",
}
TRIAL: dict[str, Any] = {
    "dry_run": True,
    "count": 31,
    "sample": [{"id": "run_1", "name": "prices", "kind": "webhook", "state": "dead_letter", "message": "boom"}],
    "hosts": ["api.partner.io"],
    "warnings": ["2 more have a replay that has not ended; they are skipped"],
}


@pytest.fixture(autouse=True)
def _address(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("COLUMNS", "200")


def asked(server: Script) -> dict[str, list[str]]:
    return parse_qs(urlsplit(server.request()[1]).query)


def test_a_filter_is_passed_on_as_it_was_typed(server: Script) -> None:
    server.will("GET", "/api/runs", (200, {"items": [RUN], "next_cursor": None}))

    shown = invoke("run", "list", "-q", 'state:failed "a b"')

    assert "run_1" in shown.out
    assert asked(server)["q"] == ['state:failed "a b"']


def test_runs_are_counted_by_state(server: Script) -> None:
    counted = {"count": 12, "by_state": {"failed": 2, "success": 10}}
    server.will("GET", "/api/runs/count", (200, counted))

    assert invoke("run", "count", "-q", "since:24h").out.split() == ["12", "success", "10", "failed", "2"]
    assert json.loads(invoke("run", "count", "--json").out) == counted


def test_a_searched_log_is_read_page_by_page(server: Script) -> None:
    line = {"at": "2027-01-01T09:00:00Z", "level": "error", "attempt": 1}
    pages = [
        (200, {"items": [{**line, "seq": 3, "message": "first"}], "after": 3}),
        (200, {"items": [{**line, "seq": 9, "message": "last"}], "after": None}),
    ]
    server.will("GET", "/api/runs/run_1/logs", *pages)

    shown = invoke("run", "logs", "run_1", "--grep", "st", "--level", "warning", "--utc")

    assert shown.out.splitlines() == ["2027-01-01 09:00:00Z  error     first", "2027-01-01 09:00:00Z  error     last"]
    assert [asked(server)["after"], asked(server)["after"]] == [["0"], ["3"]]
    assert invoke("run", "logs", "run_1", "--grep", "st", "-f").code == 2
    assert invoke("run", "logs", "run_1", "--attempt", "2", "-f").code == 2


def test_a_log_is_narrowed_and_counted(server: Script) -> None:
    server.will("GET", "/api/runs/run_1/logs", (200, {"items": [], "after": None}))
    counted = {"count": 7, "by_level": {"info": 7}, "by_category": {"retry": 3}, "by_attempt": {"1": 4, "2": 3}}
    server.will("GET", "/api/runs/run_1/logs/count", (200, counted))

    assert invoke("run", "logs", "run_1", "--attempt", "2", "--category", "retry,giveup").code == 0
    assert asked(server) == {"after": ["0"], "attempt": ["2"], "category": ["retry,giveup"]}
    shown = invoke("run", "logs", "run_1", "--count", "--level", "info")
    assert shown.out.split() == ["7", "info", "7", "retry", "3", "attempt", "1", "4", "attempt", "2", "3"]
    assert asked(server) == {"level": ["info"]}
    assert json.loads(invoke("run", "logs", "run_1", "--count", "--json").out) == counted


def test_points_are_listed_in_time_and_a_sample_says_so(server: Script) -> None:
    points = {
        "from": "2027-01-01T09:00:00Z", "to": "2027-01-02T09:00:00Z", "counts": {"success": 500, "failed": 1},
        "shown": {"success": 1, "failed": 1}, "not_begun": 2, "states": ["failed", "success"],
        "id": ["run_2", "run_1"], "at_ms": [90_000, 60_000], "took_ms": [12_000, 5], "state": [0, 1],
    }  # fmt: skip
    server.will("GET", "/api/runs/points", (200, points))

    shown = invoke("run", "points", "-q", "kind:task", "--from", "2027-01-01T09:00:00Z", "--utc")

    assert [line.split() for line in shown.out.splitlines() if "run_" in line] == [
        ["2027-01-01", "09:01:00Z", "success", "5", "ms", "run_1"],
        ["2027-01-01", "09:01:30Z", "failed", "12.0", "s", "run_2"],
    ]
    assert "1 of 500 success are shown" in shown.err
    assert "2 more runs had not started" in shown.err
    assert asked(server) == {"q": ["kind:task"], "from": ["2027-01-01T09:00:00Z"], "limit": ["1000"]}


def test_an_export_is_written_as_it_comes(server: Script, tmp_path: Path) -> None:
    server.will("GET", "/api/runs/export", (200, {"id": "run_1"}))
    target = tmp_path / "runs.ndjson"

    assert invoke("run", "export", "-q", "state:failed", "-o", str(target)).code == 0

    assert json.loads(target.read_text()) == {"id": "run_1"}
    assert asked(server) == {"q": ["state:failed"], "format": ["ndjson"]}


def test_schedules_are_counted(server: Script) -> None:
    server.will("GET", "/api/schedules/count", (200, {"count": 3}))

    assert invoke("schedule", "count", "-q", "failing:true").out == "3\n"
    assert asked(server) == {"q": ["failing:true"]}
    assert json.loads(invoke("schedule", "count", "--json").out) == {"count": 3}


def test_groups_of_letters_are_listed(server: Script) -> None:
    group = {
        "count": 31,
        "fingerprint": "ab12cd34ef56",
        "message": "connect timeout",
        "host": "api.partner.io",
        "schedules": [{"id": "sch_1", "name": "price-push"}],
        "last_at": "2027-01-01T09:00:00Z",
    }
    server.will("GET", "/api/dead-letters/groups", (200, {"items": [group], "total": 1, "next_cursor": None}))

    shown = invoke("dead-letter", "groups", "--utc")

    assert " ".join(shown.out.split()).endswith(
        "31 ab12cd34ef56 connect timeout api.partner.io price-push 2027-01-01 09:00:00Z"
    )


def test_a_trial_is_told_and_its_warnings_apart(server: Script) -> None:
    server.will("POST", "/api/bulk", (200, TRIAL))

    shown = invoke("bulk", "start", "replay", "-q", "", "--dry-run", "--stop-after", "3", "--newest-first")

    assert shown.out.startswith("replay would act on 31\nsends to api.partner.io\n")
    assert "2 more have a replay" in shown.err
    wanted = {"action": "replay", "filter": "", "rate": 5, "dry_run": True, "stop_after": 3, "order": "newest"}
    assert server.body() == wanted


def test_a_bulk_action_is_made_shown_and_stopped(server: Script) -> None:
    server.will("POST", "/api/bulk", (202, BULK))
    server.will("GET", "/api/bulk/blk_1", (200, BULK))
    server.will("POST", "/api/bulk/blk_1/stop", (200, {**BULK, "state": "stopped", "reason": "stopped by ann"}))
    server.will("GET", "/api/bulk", (200, {"items": [BULK], "next_cursor": None}))

    made = invoke("bulk", "start", "cancel", "run_1", "run_2", "--expect", "2")

    assert "20 of 31: 18 ok, 2 failed" in made.out
    assert server.body() == {"action": "cancel", "ids": ["run_1", "run_2"], "rate": 5, "dry_run": False, "expect": 2}
    assert "was replayed 10 times" in invoke("bulk", "show", "blk_1").out
    assert "stopped by ann" in invoke("bulk", "stop", "blk_1").out
    assert "20/31" in invoke("bulk", "list").out
    assert json.loads(invoke("bulk", "show", "blk_1", "--json").out) == BULK


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ({"state": "finished", "ok": 31, "failed": 0}, 0),
        ({"state": "finished", "ok": 29, "failed": 2}, 6),
        ({"state": "finished", "ok": 0, "failed": 31}, 1),
        ({"state": "stopped", "ok": 18, "failed": 3}, 1),
    ],
)
def test_a_bulk_action_is_followed_to_its_end(server: Script, end: dict[str, Any], code: int) -> None:
    over = {**BULK, "done": 31, **end}
    server.will("POST", "/api/bulk", (202, BULK))
    server.will("GET", "/api/bulk/blk_1", (200, BULK), (503, {"detail": "restarting"}), (200, over))

    started = invoke("bulk", "start", "cancel", "run_1", "--follow", "--json")
    shown = invoke("bulk", "show", "blk_1", "--follow")

    assert (started.code, json.loads(started.out)) == (code, over)
    assert (shown.code, end["state"] in shown.out) == (code, True)


def test_either_ids_or_a_filter() -> None:
    assert invoke("bulk", "start", "cancel").code == 2
    assert invoke("bulk", "start", "cancel", "run_1", "-q", "late:true").code == 2


def test_letters_are_sent_again_on_terms(server: Script) -> None:
    made = {"id": "run_2", "state": "queued", "parent_id": "run_1", "schedule_version": 3}
    server.will("POST", "/api/dead-letters/replay", (202, {"items": [made], "more": False}))

    shown = invoke("dead-letter", "replay", "run_1", "--as-of", "then", "--patch", '{"body": {"sku": 5}}')

    assert server.body() == {"ids": ["run_1"], "as_of": "then", "patch": {"body": {"sku": 5}}}
    assert " ".join(shown.out.split()).endswith("run_2 queued run_1 3")
    for wrong in (("--patch", "{"), ("--as-of", "soon")):
        assert invoke("dead-letter", "replay", "run_1", *wrong).code == 2
        assert invoke("bulk", "start", "replay", "run_1", *wrong).code == 2


def test_a_group_is_muted_and_unmuted(server: Script) -> None:
    path = "/api/dead-letters/groups/ab12cd34ef56"
    server.will("POST", f"{path}/mute", (200, {"until": "2027-01-01T09:00:00Z"}))
    server.will("POST", f"{path}/unmute", (200, {"fingerprint": "ab12cd34ef56", "mute": None}))

    muted = invoke("dead-letter", "mute", "ab12cd34ef56", "--hours", "4", "--reason", "known", "--utc")

    assert server.body() == {"hours": 4, "reason": "known"}
    assert muted.out == "Muted until 2027-01-01 09:00:00Z.\n"
    assert invoke("dead-letter", "unmute", "ab12cd34ef56").out == "Not muted.\n"


def test_a_rehearsal_is_told_with_what_would_be_refused(server: Script) -> None:
    told = {"looked_at": 31, "changed": 30, "duplicates": 2, "edited": 4, "refused": 1, "replays_most": 3}
    refusals = [{"id": "run_9", "message": "patch.url: is wrong"}]
    rehearsal = {**told, "stay": 0, "replays_cap": 10, "refusals": refusals}
    server.will("POST", "/api/bulk", (200, {**TRIAL, "rehearsal": rehearsal}))

    shown = invoke("bulk", "start", "replay", "-q", "", "--dry-run", "--as-of", "now")

    assert "30 send something else than when they failed, 2 duplicate another, 4 edited, 1 refused" in shown.out
    assert "run_9: patch.url: is wrong" in shown.err
    assert server.body()["as_of"] == "now"
