"""`foliot pipeline …`, SCHEDULER_MODE=legacy, and the settings of the file of pipelines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from foliot.cli.check.settings import check_pipelines
from foliot.cli.root import app
from foliot.config.parse import SettingsError, unused
from foliot.config.settings import Settings

ITEMS = """pipelines:
  sound:
    chain:
      - class: HttpFetcher
        kwargs: {urls: ["URL"]}
      - class: JsonParser
      - class: JsonlSink
        kwargs: {path: out.jsonl}
  unsound:
    chain:
      - class: HttpFetcher
        kwargs: {urls: ["URL/nothing"]}
  broken:
    schedule: {cron: "61 * * * *"}
    chain: [{class: JsonParser}]
"""


class Answering(BaseHTTPRequestHandler):
    """Two items at `/`, the pipelines of a server, and nothing anywhere else."""

    stands: list[dict[str, Any]] = []  # noqa: RUF012 -- one test's server
    faults: list[dict[str, Any]] = []  # noqa: RUF012 -- the same

    def do_GET(self) -> None:
        listed = {"items": self.stands, "next_cursor": None, "faults": self.faults}
        known = {"/": [{"n": 1}, {"n": 2}], "/api/pipelines": listed}
        body = json.dumps(known.get(self.path)).encode()
        self.send_response(200 if self.path in known else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def file(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATABASE_URL", "PIPELINES_CONFIG", "FOLIOT_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FOLIOT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FOLIOT_URL", url)
    path = tmp_path / "pipelines.yml"
    path.write_text(ITEMS.replace("URL", url))
    return path


def foliot(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_check_names_what_is_wrong_by_line(file: Path) -> None:
    result = foliot("pipeline", "check", file)

    assert result.exit_code == 1
    assert f"{file}:14:16: pipeline broken: schedule.cron" in result.stdout
    assert "2 pipelines valid, 1 error" in result.stdout
    told = json.loads(foliot("pipeline", "check", file, "--json").stdout)
    assert (told["ok"], told["pipelines"], told["faults"][0]["line"]) == (False, ["sound", "unsound"], 14)


def test_one_pipeline_runs_without_a_server(file: Path, tmp_path: Path) -> None:
    result = foliot("pipeline", "run", file, "sound")

    assert result.exit_code == 0, result.output
    assert result.stdout == "sound: success, 2 items\n"
    written = (tmp_path / "home" / "out" / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["n"] for line in written] == [1, 2]
    assert not (tmp_path / "home" / "foliot.db").exists()


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [("unsound", 1, "unsound: failed"), ("broken", 1, "schedule.cron"), ("nothing", 3, "sound, unsound, broken")],
)
def test_a_run_that_does_not_succeed_is_told_by_the_exit_code(file: Path, name: str, code: int, said: str) -> None:
    result = foliot("pipeline", "run", file, name)

    assert result.exit_code == code
    assert said in result.output


def test_a_run_as_json(file: Path) -> None:
    good = foliot("pipeline", "run", file, "sound", "--json")
    bad = foliot("pipeline", "run", file, "unsound", "--json")

    assert (json.loads(good.stdout)["state"], json.loads(good.stdout)["items"]) == ("success", 2)
    assert (json.loads(bad.stdout)["state"], "error" in json.loads(bad.stdout)) == ("failed", True)


def test_legacy_runs_everything_once_and_ends(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEDULER_MODE", "legacy")
    result = foliot("up", "--pipelines", file)

    assert result.exit_code == 1  # one of them failed, one is broken
    assert [line.split(",")[0] for line in result.stdout.splitlines()] == ["sound: success", "unsound: failed"]

    file.write_text(ITEMS.partition("  unsound:")[0].replace("URL", "http://127.0.0.1:9"))
    assert foliot("up", "--pipelines", file).exit_code == 1
    assert "needs a file of pipelines" in foliot("up").output


def test_plan_shows_what_a_server_would_change(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stands = [{"name": "unsound", "revision": "old"}, {"name": "gone", "revision": "abc"}]
    monkeypatch.setattr(Answering, "stands", stands)

    result = foliot("pipeline", "plan", file, "--json")

    assert result.exit_code == 1
    assert [(one["pipeline"], one["change"]) for one in json.loads(result.stdout)["changes"]] == [
        ("sound", "new"),
        ("unsound", "changed"),
        ("broken", "refused"),
        ("gone", "removed"),
    ]


def test_the_list_says_what_is_wrong_with_the_file_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = {"file": "p.yml", "line": 7, "column": 3, "message": "is no mapping", "suggestion": "did you mean a list?"}
    nothing = dict.fromkeys(("summary", "next_run_at", "last_run", "status"))
    monkeypatch.setattr(Answering, "faults", [fault])

    result = foliot("pipeline", "list")
    assert "No pipelines: the file has errors." in result.stdout
    assert "p.yml:7:3: is no mapping (did you mean a list?)" in result.stderr
    assert "--pipelines FILE" not in result.output

    monkeypatch.setattr(Answering, "stands", [{"name": "sound", "state": "broken", "error": fault, **nothing}])
    assert foliot("pipeline", "list").stderr.count("is no mapping") == 1
    assert json.loads(foliot("pipeline", "list", "--json").stdout)["faults"] == [fault]


def test_foliot_check_reads_the_file_too(file: Path) -> None:
    found = check_pipelines(Settings.load({}, pipelines=str(file)))

    assert [one.level for one in found] == ["warning", "ok"]
    assert ":14:16:" in found[0].message
    assert check_pipelines(Settings.load({})) == []
    absent = check_pipelines(Settings.load({"PIPELINES_CONFIG": str(file.parent / "none.yml")}))
    assert "cannot be read" in absent[0].message


def test_the_settings_of_the_file() -> None:
    settings = Settings.load({"PIPELINES_CONFIG": "pipelines.yml", "FOLIOT_PIPELINES_TENANT": "acme"})

    assert settings.pipelines == Path("pipelines.yml").absolute()
    assert (settings.pipelines_tenant, settings.scheduler_mode) == ("acme", "scheduler")
    assert (Settings.load({}).pipelines, Settings.load({}).pipelines_tenant) == (None, "default")
    assert unused({"PIPELINES_CONFIG": "x", "SCHEDULER_MODE": "legacy"}) == []
    with pytest.raises(SettingsError, match="SCHEDULER_MODE: must be one of scheduler, legacy"):
        Settings.load({"SCHEDULER_MODE": "beat"})
    with pytest.raises(SettingsError, match="must not differ from PIPELINES_CONFIG"):
        Settings.load({"FOLIOT_PIPELINES": "a.yml", "PIPELINES_CONFIG": "b.yml"})
