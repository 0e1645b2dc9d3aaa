"""What the page for people who know Celery tells to type works, as it stands there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from foliot.cli.root import app
from tests.acceptance.house import House

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "operations-by-celery-command.md"
STAYING = re.compile(r"foliot (up|api|grpc|scheduler)\b|foliot worker( --.*)?$")
"""Commands that start a server; other tests do."""
LAST = ("cancel", "drain", "restart")
"""What ends a run or a worker, in the order of what can still be asked afterwards."""


def commands() -> list[str]:
    text = PAGE.read_text()
    found = {*re.findall(r"^(foliot .+)$", text, re.MULTILINE), *re.findall(r"`(foliot [^`]+)`", text)}
    ranked = {line: next((LAST.index(word) for word in LAST if f" {word} " in line), -1) for line in found}
    return [line for line in sorted(found, key=lambda line: (ranked[line], line)) if not STAYING.match(line)]


def test_every_command_of_the_page_does_what_it_says(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.up("--port", "0", "--grpc-port", "0", LOG_DIR=str(tmp_path / "logs"))
    # Nobody listens there, so its run ends at once.
    when, where = ("--at", "2999-01-01T00:00:00Z"), ("--url", "http://127.0.0.1:9/", "--retries", "0")
    schedule = house.foliot("schedule", "create", "Later", *when, *where)
    run = house.foliot("schedule", "run-now", schedule["id"])
    (worker,) = house.foliot("worker", "list")["items"]
    meant = {"RUN": run["id"], "SCHEDULE": schedule["id"], "WORKER": worker["id"], "TASK": "health_check_services"}
    for key in ("FOLIOT_URL", "FOLIOT_HOME"):
        monkeypatch.setenv(key, house.environ[key])

    said = {}
    for line in commands():
        arguments = [meant.get(word, word) for word in shlex.split(line)[1:]]
        if line in ("foliot schedule create", "foliot run show"):
            arguments += ["--help"]
        done = CliRunner().invoke(app, arguments)
        said[line] = done.output
        # A run that has ended cannot be cancelled, and says so.
        assert done.exit_code == (4 if line == "foliot run cancel RUN" else 0), f"{line}: {done.output}"

    assert "pong after" in said["foliot worker ping"]
    assert "scraping" in said["foliot queue list"]
    assert len(said) > 15
    written = (tmp_path / "logs" / "foliot.log").read_text().splitlines()
    assert written
    assert all("event" in json.loads(line) for line in written)
