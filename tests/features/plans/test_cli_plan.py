"""`foliot plan` and `foliot apply` against a server that remembers what it was asked: files, places and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import server

__all__ = ["server"]

NONE = {"create": 0, "change": 0, "delete": 0, "none": 1, "drift": 0}
FIELD = {"field": "cron_expr", "was": "0 * * * *", "becomes": "5 * * * *", "by_hand": False}


@pytest.fixture(autouse=True)
def _address(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")


def plan(*changes: tuple[str, str, list[Any]]) -> dict[str, Any]:
    counts = dict.fromkeys(NONE, 0)
    for _, act, _ in changes:
        counts[act] += 1
    listed = [
        {"thing": "schedules", "name": name, "act": act, "id": None, "place": place, "fields": fields}
        for place, (name, act, fields) in enumerate(changes)
    ]
    return {"file": "prices", "digest": "d", "counts": counts, "changes": listed, "offsets": {}, "simulation": None}


def written(path: Path, text: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return str(path)


def test_a_plan_without_changes_ends_with_0_and_one_with_changes_with_2(server: Script, tmp_path: Path) -> None:
    file = written(tmp_path / "prices.yaml", "- {name: a, type: cron}\n")
    server.will("POST", "/api/plan", (200, plan(("a", "none", []))), (200, plan(("a", "change", [FIELD]))))

    same, other = invoke("plan", file), invoke("plan", file)

    assert (same.code, same.out) == (0, "Nothing to change: 1 as wanted.\n")
    assert other.code == 2
    assert "~ schedule a" in other.out
    assert 'cron_expr: "0 * * * *" -> "5 * * * *"' in other.out
    assert server.body() == {
        "file": "prices",
        "documents": {"schedules": [{"name": "a", "type": "cron"}]},
        "prune": False,
        "overwrite": False,
        "spread": False,
    }


def test_a_directory_is_read_whole_yaml_and_json(server: Script, tmp_path: Path) -> None:
    written(tmp_path / "prod" / "a.yaml", "schedules:\n  - {name: a}\nx-note: any\n")
    written(tmp_path / "prod" / "b.json", json.dumps({"name": "b", "payload": {"body": "\ud83d\ude00"}}))
    written(tmp_path / "prod" / ".hidden.yaml", "never: [")
    server.will("POST", "/api/plan", (200, plan(("a", "create", []))))

    assert invoke("plan", str(tmp_path / "prod"), "--prune").code == 2
    body = server.body()
    assert (body["file"], body["prune"]) == ("prod", True)
    assert body["documents"]["schedules"] == [{"name": "a"}, {"name": "b", "payload": {"body": "\U0001f600"}}]


def test_faults_name_file_line_and_column(server: Script, tmp_path: Path) -> None:
    file = written(tmp_path / "a.yaml", "schedules:\n  - name: a\n    cron_expr: never\n")
    error = {"field": "schedules[0].cron_expr", "message": "must have five fields", "got": "never"}
    server.will("POST", "/api/plan", (422, {"title": "Invalid request", "errors": [error]}))

    refused = invoke("plan", file)
    broken = invoke("plan", written(tmp_path / "b.yaml", "schedules: [\n"))
    unknown = invoke("plan", written(tmp_path / "c.yaml", "schedule:\n  - name: a\n"))
    as_json = invoke("plan", file, "--json")

    assert (refused.code, broken.code, unknown.code, as_json.code) == (1, 1, 1, 1)
    assert f'{file}:3:5: cron_expr: must have five fields, got "never"' in refused.err
    assert f"{tmp_path / 'b.yaml'}:2:1" in broken.err
    assert "c.yaml:1:1: schedule is not known here" in unknown.err
    assert "did you mean schedules?" in unknown.err
    assert json.loads(as_json.err)["error"]["faults"][0]["line"] == 3


def test_apply_asks_and_applies_the_plan_that_it_showed(server: Script, tmp_path: Path) -> None:
    file = written(tmp_path / "prices.yaml", "- {name: a, type: cron}\n")
    server.will("POST", "/api/plan", (200, plan(("a", "create", []), ("b", "drift", [{**FIELD, "by_hand": True}]))))
    server.will("POST", "/api/plan/apply", (200, plan(("a", "create", []), ("b", "drift", []))))

    unasked = invoke("apply", file)
    done = invoke("apply", file, "--yes")

    assert unasked.code == 2
    assert "give --yes" in unasked.err
    assert done.code == 0
    assert "! schedule b (edited by hand: left alone without --overwrite)" in done.out
    assert done.out.endswith("Applied: 1 created, 1 left alone: edited by hand.\n")
    assert [server.request()[1] for _ in range(3)] == ["/api/plan", "/api/plan", "/api/plan/apply"]
