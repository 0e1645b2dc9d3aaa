"""The command line: its help, its exit codes, and what it says to a server and to people."""

from __future__ import annotations

import json
import os
import pty
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import foliot
from foliot.cli import process
from foliot.cli.root import COMMANDS, app
from foliot.core.errors import Conflict
from foliot.db.file_lock import only_one
from foliot.terminal import follow as following
from foliot.terminal.output import EXIT_CODES, Exit, count, moment, print_json, printable

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
SCHEDULE: dict[str, Any] = {
    "id": "sch_1", "name": "prices", "status": "active", "summary": "every 2 hours (UTC)", "timezone": "UTC",
    "next_run_at": "2027-01-01T09:00:00.000000Z", "last_run_at": None, "queue": "default", "priority": 5, "version": 1,
    "action": {"kind": "webhook", "url": "https://example.com"}, "tags": [],
}  # fmt: skip
RUN: dict[str, Any] = {
    "id": "run_1", "schedule_id": "sch_1", "kind": "webhook", "state": "success", "queue": "default", "priority": 5,
    "scheduled_for": "2027-01-01T09:00:00Z", "attempt": 1, "max_attempts": 4, "duration_ms": 12, "lateness_ms": 3,
    "error": None, "attempts": [{"number": 1, "outcome": "succeeded", "response": {"status": 200}}],
}  # fmt: skip


class Script(ThreadingHTTPServer):
    """A server that answers what a test wrote down, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], list[Any]] = {}
        self.asked: queue.Queue[tuple[str, str, Any, dict[str, str]]] = queue.Queue()
        super().__init__(("127.0.0.1", 0), Handler)

    def will(self, method: str, path: str, *answers: Any) -> None:
        """Give these answers one after the other, then the last one again: (status, body), or text of a stream."""
        self.answers[method, path] = list(answers)

    def request(self) -> tuple[str, str, Any, dict[str, str]]:
        return self.asked.get(timeout=5)

    def body(self) -> Any:
        return self.request()[2]


class Handler(BaseHTTPRequestHandler):
    server: Script

    def answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.put((self.command, self.path, json.loads(raw) if raw else None, headers))
        answers = self.server.answers.get((self.command, self.path.partition("?")[0]), [(404, {"detail": "no such"})])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer == "drop":
            self.connection.close()
        elif isinstance(answer, str):
            self._send(200, "text/event-stream", answer.encode())
        else:
            status, body = answer
            kind = "application/json" if status < 400 else "application/problem+json"
            self._send(status, kind, b"" if body is None else json.dumps(body).encode())

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 -- the names http.server calls

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if kind != "text/event-stream":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[Script]:
    with Script() as script:
        thread = threading.Thread(target=script.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield script
        script.shutdown()
        thread.join()


class Answered:
    """What a command said and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


Foliot = Callable[..., Answered]


@pytest.fixture
def run(server: Script, monkeypatch: pytest.MonkeyPatch) -> Foliot:
    """Runs a command against the server."""
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.delenv("FOLIOT_TOKEN", raising=False)
    return invoke


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Foliot:
    """Runs a command with nothing set but a home of its own."""
    databases = ("DATABASE_URL", "SCHEDULER_DB_URL", "FOLIOT_DATABASE_URL")
    for key in (*databases, "FOLIOT_URL", "FOLIOT_HOST", "FOLIOT_PORT", "API_PORT"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("FOLIOT_HOME", str(tmp_path / "home"))
    return invoke


def invoke(*arguments: str, said: str | None = None) -> Answered:
    """`said` comes through standard input."""
    result = CliRunner().invoke(app, list(arguments), input=said)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answered(result.exit_code, result.stdout, result.stderr)


def commands() -> Iterator[tuple[str, Any]]:
    def walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
        children = getattr(command, "commands", None)
        if children is None or command.invoke_without_command:
            yield path, command
        if children is None:
            return
        for name, child in children.items():
            yield from walk(child, f"{path} {name}")

    yield from walk(typer.main.get_command(app), "foliot")


EVERY = dict(commands())


# --- help and usage ---------------------------------------------------------------------------------------------------


def test_help_and_version_import_nothing_heavy() -> None:
    code = (
        "import sys; from foliot.cli.root import app; "
        "heavy = {'sqlalchemy', 'fastapi', 'uvicorn', 'pydantic', 'structlog', 'aiohttp', 'asyncio', 'http.client'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_a_server_starts_without_the_commands_that_ask_one_and_is_explained_alike() -> None:
    code = (
        "import sys; sys.argv = ['foliot', 'up', '--help']\n"
        "from foliot.cli import main\n"
        "try: main()\n"
        "except SystemExit: print([name for name in sys.modules if name.startswith('foliot.features')])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stdout.splitlines()[:-1] == invoke("up", "--help").out.splitlines()


def test_a_start_makes_no_model_and_imports_nothing_that_is_not_asked_yet() -> None:
    """What checks a body is made when the first such body comes; libraries wait for whatever needs them."""
    code = (
        "import sys, foliot.app.build, foliot.servers.http, foliot.servers.grpc\n"
        "from foliot.servers.http.attribute_docs import Described\n"
        "def below(cls): return [cls, *(each for one in cls.__subclasses__() for each in below(one))]\n"
        "heavy = {'alembic', 'discord', 'trafilatura', 'celery', 'kombu', 'pymongo', 'cryptography', 'lxml'}\n"
        "print([one.__name__ for one in below(Described)[1:] if one.__pydantic_complete__])\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["[]", "[]"]


@pytest.mark.parametrize("terminal", [True, False])
def test_at_a_terminal_a_start_says_at_once_that_it_starts(tmp_path: Path, terminal: bool) -> None:
    ours, theirs = pty.openpty() if terminal else os.pipe()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "foliot", "up", "--port", port, "--home", str(tmp_path)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True, check=False, timeout=30)
    said = os.read(ours, 65536).decode().splitlines()
    os.close(ours)
    os.close(theirs)

    assert (done.returncode, done.stdout) == (1, ""), "what scripts read is as it was"
    assert said[:-1] == (["foliot: starting …"] if terminal else [])
    assert f"port {port} of 127.0.0.1 is taken" in said[-1]


@pytest.mark.parametrize("kind", ["none", "directory", "pipe"])
def test_a_file_of_pipelines_that_the_command_names_must_be_there(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "pipelines.yml"
    if kind == "directory":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)

    done = invoke("up", "--home", str(tmp_path / "home"), "--port", "0", "--pipelines", str(file))

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"foliot: --pipelines: {file} cannot be read (")
    assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "home").exists(), "nothing has begun"


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "foliot", "--version"], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == f"foliot {foliot.__version__}"


def test_without_a_command_the_help_is_shown() -> None:
    assert "Run a server" in invoke().out + invoke().err


@pytest.mark.parametrize(
    ("path", "command"), list(EVERY.items()), ids=lambda each: each if isinstance(each, str) else ""
)
def test_every_command_and_flag_explains_itself_and_stands_in_the_reference(path: str, command: Any) -> None:
    page = REFERENCE.read_text(encoding="utf-8")
    section = re.search(rf"^### `{re.escape(path)}`$(.*?)(?=^### |\Z)", page, re.MULTILINE | re.DOTALL)

    assert command.help, f"{path} has no help"
    assert section is not None, f"docs/reference/cli.md has no section on {path}"
    for parameter in command.params:
        if parameter.name == "help":
            continue
        assert parameter.help, f"{path}: {parameter.name} has no help"
        for flag in parameter.opts if parameter.param_type_name == "option" else []:
            assert f"`{flag}`" in section[1], f"docs/reference/cli.md: {path} does not mention {flag}"


def test_the_reference_names_no_command_that_does_not_exist() -> None:
    named = re.findall(r"^### `(foliot .*)`$", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)

    assert sorted(named) == sorted(EVERY)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["schedule", "create"], "needs a name"),
        (["schedule", "create", "x", "--url", "http://x"], "needs a trigger"),
        (["schedule", "create", "x", "--every", "1m"], "needs something to do"),
        (["schedule", "create", "x", "--every", "1m", "--cron", "* * * * *"], "--cron and --every exclude each other"),
        (["schedule", "create", "x", "--every", "soon", "--url", "http://x"], "--every: must be a duration"),
        (
            ["schedule", "create", "x", "--every", "1m", "--url", "u", "--header", "h"],
            "--header: must be 'Name: value'",
        ),
        (["schedule", "create", "x", "--every", "1m", "--url", "u", "--body", "{"], "--body: must be JSON or @FILE"),
        (["schedule", "create", "x", "--every", "1m", "--method", "PUT"], "need --url"),
        (["schedule", "create", "--file", "/nowhere.json"], "--file: cannot read '/nowhere.json'"),
        (["schedule", "preview"], "needs a trigger"),
        (["dead-letter", "replay"], "either ids of runs"),
        (["dead-letter", "replay", "run_1", "--kind", "webhook"], "either ids of runs"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_sent(
    run: Foliot, server: Script, arguments: list[str], words: str
) -> None:
    answered = run(*arguments)

    assert answered.code == 2
    assert words in answered.err
    assert server.asked.empty()


@pytest.mark.parametrize("arguments", [["nonsense"], ["run", "list", "--limit", "0"], ["schedule", "show"]])
def test_what_the_parser_refuses_is_wrong_usage_too(arguments: list[str]) -> None:
    assert invoke(*arguments).code == 2


@pytest.mark.parametrize("name", ["up", "worker", "audit", "attention", "schedule"])
def test_a_command_imports_its_own_module_and_no_other_of_the_table(name: str) -> None:
    code = (
        f"import sys; sys.argv = ['foliot', {name!r}, '--help']\n"
        "from foliot.cli import main\n"
        "from foliot.cli.root import COMMANDS\n"
        "try: main()\n"
        "except SystemExit: print(*sorted({one.module for one in COMMANDS.values()} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = set(done.stdout.splitlines()[-1].split())
    # The worker's process is built by the module of the servers, and audit has an alias of the ledger's command.
    assert loaded - {"foliot.cli.serve", "foliot.cli.ledger"} <= {COMMANDS[name].module}


def test_a_misspelt_command_gets_a_suggestion() -> None:
    assert "Did you mean 'schedule'" in " ".join(invoke("shedule", "list").err.split())


def test_a_shell_that_completes_words_knows_all_commands() -> None:
    root: Any = typer.main.get_command(app)
    context = root.make_context("foliot", ["run"], resilient_parsing=True)

    completed = [each.value for each in root.shell_complete(context, "s")]

    assert completed == [name for name in COMMANDS if name.startswith("s")]


def test_a_command_names_the_variables_that_steer_it() -> None:
    for path in EVERY:
        shown = " ".join(invoke(*path.split()[1:], "--help").out.split())
        spoken = ("schedule", "run", "task", "preset", "dead-letter", "queue", "apikey", "secret", "tenant", "health")
        asked = path in ("foliot audit list", "foliot audit revert") or path.startswith("foliot worker ")
        looks = (
            "attention",
            "timeline",
            "calendar",
            "ranking",
            "login-link",
            "sign-out",
            "members",
            "bulk",
            "pipeline",
            "demo",
            "endpoints",
        )
        here = ("foliot secret rekey", "foliot pipeline check", "foliot pipeline run")
        remote = asked or (path.split()[1] in (*spoken, *looks, "crawl", "articles") and path not in here)
        if path in (own := {"foliot crawl deploy": "SCRAPYD_URL", "foliot token": "FOLIOT_JWT_SECRET"}):
            assert own[path] in shown
            continue
        for key in ("FOLIOT_URL", "FOLIOT_TOKEN", "FOLIOT_PORT") if remote else ("DATABASE_URL", "FOLIOT_HOME"):
            assert key in shown, f"{path} --help does not mention {key}"
    for command in ("up", "api"):
        assert "FOLIOT_PORT" in invoke(command, "--help").out


def test_every_exit_code_is_told_by_the_help_and_the_reference() -> None:
    table = re.findall(r"^\| (\d+) \| ", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)

    told = [str(code.value) for code in Exit] + [str(process.STOPPED_AT_ONCE)]
    assert table == told
    assert re.findall(r"\b\d+\b", EXIT_CODES) == told


# --- creating ---------------------------------------------------------------------------------------------------------


def test_flags_become_the_document_of_the_contract(run: Foliot, server: Script, tmp_path: Path) -> None:
    server.will("POST", "/api/schedules", (201, SCHEDULE))
    (tmp_path / "body.json").write_text('{"a": [1]}', encoding="utf-8")

    answered = run(
        "schedule", "create", "prices", "--cron", "0 2 * * *", "--timezone", "Europe/Stockholm", "--url", "https://e.com",
        "--method", "put", "--header", "X-A: b: c", "--body", f"@{tmp_path / 'body.json'}", "--overlap", "allow_all",
        "--catchup", "all", "--retries", "5", "--queue", "scraping", "--priority", "1", "--timeout", "1m30s",
        "--jitter", "10", "--tag", "a", "--tag", "b", "--description", "why",
    )  # fmt: skip

    method, path, body, headers = server.request()
    assert (answered.code, method, path) == (0, "POST", "/api/schedules")
    assert headers["idempotency-key"]
    assert "authorization" not in headers
    assert body == {
        "name": "prices",
        "description": "why",
        "tags": ["a", "b"],
        "type": "cron",
        "cron_expr": "0 2 * * *",
        "timezone": "Europe/Stockholm",
        "action": {
            "kind": "webhook",
            "url": "https://e.com",
            "method": "PUT",
            "headers": {"X-A": "b: c"},
            "body": {"a": [1]},
        },
        "overlap": "allow_all",
        "catchup": {"mode": "all"},
        "retry_policy": {"max_retries": 5},
        "queue": "scraping",
        "priority": 1,
        "timeout_seconds": 90,
        "jitter_seconds": 10,
    }


@pytest.mark.parametrize(
    ("flags", "trigger"),
    [
        (["--every", "2s"], {"type": "interval", "interval_seconds": 2}),
        (["--every", "1d2h3m4s"], {"type": "interval", "interval_seconds": 93_784}),
        (["--every", "90"], {"type": "interval", "interval_seconds": 90}),
        (["--every", "1.5s"], {"type": "interval", "interval_seconds": 1.5}),
        (["--at", "2027-01-01T09:00:00Z"], {"type": "oneoff", "run_at": "2027-01-01T09:00:00Z"}),
    ],
)
def test_each_kind_of_trigger_has_a_flag(
    run: Foliot, server: Script, flags: list[str], trigger: dict[str, Any]
) -> None:
    server.will("POST", "/api/schedules", (201, SCHEDULE))

    run("schedule", "create", "x", "--url", "https://e.com", *flags)

    body = server.body()
    assert {key: body[key] for key in trigger} == trigger


def test_a_file_is_the_whole_document_and_flags_win(run: Foliot, server: Script, tmp_path: Path) -> None:
    server.will("POST", "/api/schedules", (201, SCHEDULE))
    file = tmp_path / "schedule.json"
    file.write_text('{"name": "a", "type": "cron", "cron_expr": "@daily", "payload": {"url": "u"}, "queue": "q"}')

    assert run("schedule", "create", "--file", str(file), "--queue", "manual").code == 0

    assert server.body() == {
        "name": "a", "type": "cron", "cron_expr": "@daily", "payload": {"url": "u"}, "queue": "manual",
    }  # fmt: skip


# --- answers ----------------------------------------------------------------------------------------------------------


def test_a_refusal_says_what_field_by_field_and_a_hint(run: Foliot, server: Script) -> None:
    problem = {
        "type": "about:blank",
        "title": "The request breaks a rule",
        "status": 422,
        "detail": "cron_expr: has 4 fields, needs 5",
        "code": "invalid",
        "errors": [{"field": "cron_expr", "message": "has 4 fields, needs 5", "got": "* * * *"}],
        "hint": "see /docs",
    }
    server.will("POST", "/api/schedules", (422, problem))

    answered = run("schedule", "create", "x", "--cron", "* * * *", "--url", "https://e.com")

    assert answered.code == 4
    assert answered.err.splitlines() == [
        "foliot: The request breaks a rule (422)",
        'foliot:   cron_expr: has 4 fields, needs 5, got "* * * *"',
        "foliot:   hint: see /docs",
    ]


@pytest.mark.parametrize(
    ("status", "code"), [(400, 4), (401, 4), (403, 4), (404, 3), (409, 4), (412, 4), (429, 4), (500, 1), (503, 1)]
)
def test_the_exit_code_tells_a_script_what_happened(run: Foliot, server: Script, status: int, code: int) -> None:
    server.will("GET", "/api/runs/run_1", (status, {"detail": "because", "status": status}))

    answered = run("run", "show", "run_1")

    assert answered.code == code
    assert "because" in answered.err


def test_a_server_that_is_no_foliot_is_not_a_riddle(run: Foliot, server: Script) -> None:
    server.will("GET", "/api/schedules", (500, "<html>"))

    assert "is FOLIOT_URL the address of a Foliot server?" in run("schedule", "list").err


def test_an_unreachable_server_is_said_with_what_to_do(run: Foliot, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("FOLIOT_URL", url := f"http://127.0.0.1:{taken.getsockname()[1]}")
        answered = run("health")

    assert answered.code == 5
    for words in (f"no answer from {url}", "FOLIOT_URL names this server", "foliot up"):
        assert words in answered.err


@pytest.mark.parametrize("key", ["FOLIOT_PORT", "API_PORT"])
def test_an_unreachable_local_server_is_said_with_the_variables_to_set(
    bare: Foliot, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv(key, str(port := taken.getsockname()[1]))
        answered = bare("run", "list")

    assert answered.code == 5
    for words in (f"http://127.0.0.1:{port}", "FOLIOT_URL is not set", f"port from {key}", "start one with foliot up"):
        assert words in answered.err


@pytest.mark.parametrize("port", ["0", "x", "65536", "-1", "²"])
def test_a_port_that_no_server_can_have_is_wrong_usage(
    bare: Foliot, monkeypatch: pytest.MonkeyPatch, port: str
) -> None:
    monkeypatch.setenv("FOLIOT_PORT", port)

    answered = bare("health")

    assert answered.code == 2
    assert "FOLIOT_PORT: must be the port of a running server" in answered.err


@pytest.mark.parametrize("url", ["ftp://x", "nonsense", "http://", "http://h:port", "http://user:secret@h"])
def test_a_url_that_cannot_be_a_server_is_wrong_usage(run: Foliot, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("FOLIOT_URL", url)

    answered = run("health")

    assert answered.code == 2
    assert "FOLIOT_URL: must be the address of a server" in answered.err
    assert "secret" not in answered.err


def test_an_answer_lost_on_the_way_is_asked_for_again_with_the_same_key(run: Foliot, server: Script) -> None:
    server.will("POST", "/api/schedules/sch_1/resume", "drop", (200, SCHEDULE))

    assert run("schedule", "resume", "sch_1").code == 0

    keys = {server.request()[3]["idempotency-key"] for _ in range(2)}
    assert len(keys) == 1


def test_the_token_goes_into_the_header_and_nowhere_else(
    run: Foliot, server: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOLIOT_TOKEN", "t0ken")
    server.will("GET", "/api/runs", (401, {"detail": "expired"}))

    answered = run("run", "list")

    _, path, _, headers = server.request()
    assert headers["authorization"] == "Bearer t0ken"
    assert "t0ken" not in path + answered.out + answered.err
    assert "hint: set FOLIOT_TOKEN" in answered.err


@pytest.mark.parametrize(("typed", "hinted"), [("hello", True), ("sch_gone", False)])
def test_a_name_in_place_of_an_id_is_told_where_ids_are(run: Foliot, server: Script, typed: str, hinted: bool) -> None:
    server.will("GET", f"/api/schedules/{typed}", (404, {"detail": f"no schedule '{typed}'"}))

    answered = run("schedule", "show", typed)

    assert answered.code == 3
    assert ("foliot schedule list --search" in answered.err) is hinted


def test_a_list_of_runs_says_whose_they_are(run: Foliot, server: Script) -> None:
    server.will("GET", "/api/runs", (200, {"items": [RUN | {"schedule_name": "nightly"}], "next_cursor": None}))

    assert "nightly" in run("run", "list").out


def test_an_id_is_one_segment_of_the_path_whatever_was_typed(run: Foliot, server: Script) -> None:
    assert run("schedule", "show", "../runs?x=1").code == 3

    assert server.request()[1] == "/api/schedules/..%2Fruns%3Fx%3D1"


@pytest.mark.parametrize(
    ("arguments", "method", "path", "answer"),
    [
        (["schedule", "list", "--json"], "GET", "/api/schedules", {"items": [SCHEDULE], "next_cursor": None}),
        (["schedule", "show", "sch_1", "--json"], "GET", "/api/schedules/sch_1", SCHEDULE),
        (["schedule", "pause", "sch_1", "--json"], "POST", "/api/schedules/sch_1/pause", SCHEDULE),
        (["schedule", "resume", "sch_1", "--json"], "POST", "/api/schedules/sch_1/resume", SCHEDULE),
        (["schedule", "run-now", "sch_1", "--json"], "POST", "/api/schedules/sch_1/run-now", RUN),
        (["schedule", "runs", "sch_1", "--json"], "GET", "/api/schedules/sch_1/runs", {"items": [RUN]}),
        (["schedule", "instants", "sch_1", "--json"], "GET", "/api/schedules/sch_1/instants", {"items": []}),
        (["schedule", "preview", "--every", "1m", "--json"], "POST", "/api/schedules/preview", {"next": []}),
        (["run", "list", "--json"], "GET", "/api/runs", {"items": [RUN]}),
        (["run", "show", "run_1", "--json"], "GET", "/api/runs/run_1", RUN),
        (["run", "cancel", "run_1", "--json"], "POST", "/api/runs/run_1/cancel", RUN),
        (["run", "retry", "run_1", "--json"], "POST", "/api/runs/run_1/retry", RUN),
        (["dead-letter", "list", "--json"], "GET", "/api/dead-letters", {"items": []}),
        (["dead-letter", "replay", "run_1", "--json"], "POST", "/api/dead-letters/replay", {"items": [RUN]}),
        (["health", "--json"], "GET", "/health/detailed", {"status": "ok"}),
    ],
)
def test_json_is_what_the_server_answered(
    run: Foliot, server: Script, arguments: list[str], method: str, path: str, answer: dict[str, Any]
) -> None:
    server.will(method, path, (200, answer))

    answered = run(*arguments)

    assert answered.code == 0
    assert json.loads(answered.out) == answer
    assert server.request()[1].partition("?")[0] == path


def test_lists_are_tables_with_the_way_to_the_rest(run: Foliot, server: Script) -> None:
    server.will("GET", "/api/schedules", (200, {"items": [SCHEDULE], "next_cursor": "c2"}))

    answered = run("schedule", "list", "--status", "active", "--search", "pri ces", "--utc")

    assert server.request()[1] == "/api/schedules?status=active&q=pri+ces&limit=50"
    assert all(word in answered.out for word in ("sch_1", "prices", "every 2 hours", "2027-01-01 09:00:00Z"))
    assert "--cursor c2" in answered.err


def test_an_empty_list_says_what_to_do(run: Foliot, server: Script) -> None:
    server.will("GET", "/api/schedules", (200, {"items": [], "next_cursor": None}))

    assert "Create one: foliot schedule create" in run("schedule", "list").out
    assert "matches these filters" in run("schedule", "list", "--search", "nothing").out


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (["schedule", "list"], "/api/schedules"),
        (["schedule", "runs", "sch_1"], "/api/schedules/sch_1/runs"),
        (["run", "list"], "/api/runs"),
    ],
)
@pytest.mark.parametrize("flag", ["--status", "--state"])
def test_a_state_may_be_called_status(run: Foliot, server: Script, arguments: list[str], path: str, flag: str) -> None:
    server.will("GET", path, (200, {"items": []}))

    assert run(*arguments, flag, "x").code == 0

    word = "status" if path == "/api/schedules" else "state"
    assert server.request()[1] == f"{path}?{word}=x&limit=50"


@pytest.mark.parametrize(
    ("arguments", "asked", "answer", "words"),
    [
        (["schedule", "show", "sch_1"], ("GET", "/api/schedules/sch_1"), SCHEDULE, ["sch_1", "every 2 hours (UTC)"]),
        (["schedule", "runs", "sch_1"], ("GET", "/api/schedules/sch_1/runs"), {"items": [RUN]}, ["run_1", "12 ms"]),
        (["run", "show", "run_1"], ("GET", "/api/runs/run_1"), RUN, ["success", "succeeded", "200", "1 of 4"]),
        (
            ["schedule", "instants", "sch_1", "--from", "2027-01-01T00:00:00Z"],
            ("GET", "/api/schedules/sch_1/instants"),
            {"items": [{"at": "2027-01-01T09:00:00Z", "outcome": "skipped", "reason": "overlap", "run_id": None}]},
            ["skipped", "overlap"],
        ),
        (
            ["schedule", "preview", "--cron", "0 2 * * *", "--from", "2027-01-01T00:00:00Z"],
            ("POST", "/api/schedules/preview"),
            {"summary": "At 02:00", "next": [{"at": "2027-01-01T02:00:00Z", "local": "L"}], "notes": ["mind the gap"]},
            ["At 02:00", "Note: mind the gap"],
        ),
        (
            ["dead-letter", "list"],
            ("GET", "/api/dead-letters"),
            {"items": [{"count": 3, "code": "http_500", "message": "it broke", "kind": "webhook", "ids": ["run_9"]}]},
            ["http_500", "it broke", "run_9"],
        ),
        (["dead-letter", "replay", "--kind", "x"], ("POST", "/api/dead-letters/replay"), {"items": [RUN]}, ["run_1"]),
        (["schedule", "delete", "sch_1", "--yes"], ("DELETE", "/api/schedules/sch_1"), None, ["sch_1 is deleted"]),
    ],
)
def test_people_see_words(
    run: Foliot, server: Script, arguments: list[str], asked: tuple[str, str], answer: Any, words: list[str]
) -> None:
    server.will(*asked, (200, answer))

    answered = run(*arguments)

    assert answered.code == 0, answered.err
    assert all(word in answered.out for word in words), answered.out


def at_a_terminal(server: Script, typed: str, *arguments: str) -> Answered:
    """Runs a command at a terminal where somebody types this."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed.encode())
        done = subprocess.run(
            [sys.executable, "-m", "foliot", *arguments],
            stdin=theirs, capture_output=True, text=True, check=False, timeout=30,
            env={**os.environ, "FOLIOT_URL": f"http://127.0.0.1:{server.server_port}"},
        )  # fmt: skip
    finally:
        os.close(ours)
        os.close(theirs)
    return Answered(done.returncode, done.stdout, done.stderr)


def test_deleting_asks_at_a_terminal(server: Script) -> None:
    server.will("DELETE", "/api/schedules/sch_1", (204, None))

    answered = at_a_terminal(server, "y\n", "schedule", "delete", "sch_1")

    assert (answered.code, server.request()[:2]) == (0, ("DELETE", "/api/schedules/sch_1")), answered.err
    assert "Delete sch_1 and cancel its queued runs?" in answered.out


def test_no_at_a_terminal_deletes_nothing(server: Script) -> None:
    answered = at_a_terminal(server, "n\n", "schedule", "delete", "sch_1")

    assert answered.code == 1
    assert server.asked.empty()


def test_deleting_without_a_terminal_needs_yes(run: Foliot, server: Script) -> None:
    answered = run("schedule", "delete", "sch_1")

    assert answered.code == 2
    assert "nothing was deleted: give --yes" in answered.err
    assert server.asked.empty()


def test_a_replay_names_ids_or_a_filter(run: Foliot, server: Script) -> None:
    server.will("POST", "/api/dead-letters/replay", (200, {"items": []}))

    run("dead-letter", "replay", "run_1", "run_2")
    run("dead-letter", "replay", "--schedule", "sch_1", "--code", "timeout")

    assert server.body() == {"ids": ["run_1", "run_2"]}
    assert server.body() == {"filter": {"schedule_id": "sch_1", "code": "timeout"}}


def test_health_exits_1_when_something_needed_is_down(run: Foliot, server: Script) -> None:
    down = {"status": "down", "version": "1", "problems": [], "database": {"status": "down", "error": "no answer"}}
    server.will("GET", "/health/detailed", (503, down))

    answered = run("health")

    assert answered.code == 1
    assert "no answer" in answered.out


def test_health_names_parts_and_problems(run: Foliot, server: Script) -> None:
    found = {
        "status": "degraded",
        "version": "1",
        "problems": ["nobody takes runs from scraping"],
        "database": {"status": "ok", "latency_ms": 0.4, "error": None},
        "feed": {"kind": "redis", "connected": False, "error": "ConnectionError: refused"},
        "broker": {"url": "amqp://foliot:***@mq:5672/foliot", "publishing": False, "error": "does not take runs"},
        "scrapyd": [
            {
                "url": "http://a:6800",
                "name": "a",
                "status": "ok",
                "running": 2,
                "pending": 1,
                "latency_ms": 3.5,
                "error": None,
            },
            {
                "url": "http://b:6800",
                "name": "b",
                "status": "down",
                "running": None,
                "pending": None,
                "latency_ms": None,
                "error": "cannot be reached",
            },
        ],
        "nodes": [{"id": "n1", "role": "up", "seen_at": "2027-01-01T09:00:00Z"}],
        "queues": [{"queue": "scraping", "depth": 3, "oldest": None}, {"queue": "manual", "depth": 1, "oldest": None}],
        "damaged": [{"schedule_id": "sch_9", "fault": "no trigger"}],
    }
    server.will("GET", "/health/detailed", (200, found))

    answered = run("health", "--utc")

    assert answered.code == 0
    for words in (
        "degraded",
        "nobody takes runs",
        "0.4 ms",
        "ConnectionError: refused",
        "does not take runs",
        "http://a:6800: 2 running, 1 waiting, answers in 3.5 ms",
        "http://b:6800: cannot be reached",
        "up n1",
        "seen 2027-01-01 09:00:00Z",
        "3 runs waiting",
        "1 run waiting",
        "no trigger",
    ):
        assert words in answered.out


# --- logs -------------------------------------------------------------------------------------------------------------


def event(seq: int, message: str = "said", **more: Any) -> dict[str, Any]:
    return {"seq": seq, "at": "2027-01-01T09:00:00Z", "type": "log", "level": "info", "message": message, **more}


def frame(seq: int, message: str = "said") -> str:
    return f"id: {seq}\nevent: log\ndata: {json.dumps(event(seq, message))}\n\n"


END = 'id: 9\nevent: end\ndata: {"status": "success"}\n\n'


@pytest.fixture
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PAUSES", (0.0, 0.0, 0.0))


def test_stored_logs_are_read_to_their_end(run: Foliot, server: Script) -> None:
    first, second = {"items": [event(1), event(2)], "next_cursor": "2"}, {"items": [event(3)], "next_cursor": None}
    server.will("GET", "/api/runs/run_1/events", (200, first), (200, second))

    answered = run("run", "logs", "run_1", "--json")

    assert [json.loads(line)["seq"] for line in answered.out.splitlines()] == [1, 2, 3]
    assert [server.request()[1].partition("?")[2] for _ in range(2)] == ["after=0&limit=500", "after=2&limit=500"]


def test_following_ends_with_the_run(run: Foliot, server: Script) -> None:
    server.will("GET", "/api/runs/run_1/events", ": hello\n\n" + frame(1, "one") + frame(2, "two") + END)

    answered = run("run", "logs", "run_1", "-f", "--utc")

    assert answered.code == 0
    assert answered.out.splitlines() == ["2027-01-01 09:00:00Z  info      one", "2027-01-01 09:00:00Z  info      two"]
    assert server.request()[3]["accept"] == "text/event-stream"


@pytest.mark.usefixtures("_no_pauses")
def test_following_resumes_where_a_cut_left_off(run: Foliot, server: Script) -> None:
    server.will("GET", "/api/runs/run_1/events", frame(1), (200, {"items": []}), frame(2) + frame(3) + END)
    server.will("GET", "/api/runs/run_1", (200, {**RUN, "state": "running"}))

    answered = run("run", "logs", "run_1", "-f", "--json")

    assert answered.code == 0
    assert [json.loads(line)["seq"] for line in answered.out.splitlines()] == [1, 2, 3]
    streams = [asked for asked in list(server.asked.queue) if asked[3]["accept"] == "text/event-stream"]
    assert [asked[3].get("last-event-id") for asked in streams] == [None, "1"]


@pytest.mark.usefixtures("_no_pauses")
def test_a_stream_that_closes_after_the_last_event_of_an_ended_run_is_no_cut(run: Foliot, server: Script) -> None:
    server.will("GET", "/api/runs/run_1/events", frame(1), (200, {"items": []}))
    server.will("GET", "/api/runs/run_1", (200, RUN))

    assert run("run", "logs", "run_1", "-f").code == 0


@pytest.mark.usefixtures("_no_pauses")
def test_following_gives_up_when_the_server_stays_away(run: Foliot, server: Script) -> None:
    server.will("GET", "/api/runs/run_1/events", (503, {"detail": "stopping"}))
    server.will("GET", "/api/runs/run_1", (503, {"detail": "stopping"}))

    answered = run("run", "logs", "run_1", "-f")

    assert answered.code == 5
    assert "did not come back" in answered.err


def test_ctrl_c_ends_a_command_that_waits_with_130_and_without_a_traceback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        command = [sys.executable, "-m", "foliot", "run", "logs", "run_1", "-f"]
        environ = {**os.environ, "FOLIOT_URL": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ) as waiting:
            silent.settimeout(30)
            connection, _ = silent.accept()
            with connection:
                waiting.send_signal(signal.SIGINT)
                _, err = waiting.communicate(timeout=30)

    assert (waiting.returncode, err) == (130, "")


def test_following_an_unknown_run_is_not_found(run: Foliot) -> None:
    assert run("run", "logs", "run_0", "-f").code == 3


def test_what_a_server_says_cannot_paint_the_terminal(run: Foliot, server: Script) -> None:
    server.will("GET", "/api/runs/run_1/events", (200, {"items": [event(1, "\x1b[2Jgone\r\nforged")]}))

    answered = run("run", "logs", "run_1")

    assert r"\x1b[2Jgone\r\nforged" in answered.out
    assert len(answered.out.splitlines()) == 1


# --- servers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["api", "scheduler"])
def test_parts_of_a_cluster_refuse_sqlite_in_one_line(bare: Foliot, command: str) -> None:
    answered = bare(command)

    assert answered.code == 1
    [line] = answered.err.splitlines()
    assert f"foliot {command} needs a database that several processes can share" in line


def test_a_wrong_setting_stops_the_start_with_a_line_each(bare: Foliot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_HOST", "0.0.0.0")
    monkeypatch.setenv("FOLIOT_JWT_ISSUER", "x")

    answered = bare("up", "--port", "99999")

    assert answered.code == 1
    assert [line.partition(": ")[2].partition(":")[0] for line in answered.err.splitlines()] == [
        "--port",
        "FOLIOT_HOST",
        "FOLIOT_JWT_ISSUER",
    ]


def test_a_taken_port_is_one_clear_line(bare: Foliot) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answered = bare("up", "--port", str(taken.getsockname()[1]))

    assert answered.code == 1
    [line] = answered.err.splitlines()
    assert "is taken by another program" in line
    assert "--port" in line


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_port_0_takes_a_free_one(host: str) -> None:
    with process.listen(host, 0) as listener:
        assert re.fullmatch(r"http://(127\.0\.0\.1|\[::1\]):[1-9]\d+", process.address_of(listener))


def test_a_second_engine_on_a_file_is_refused_with_the_pid_of_the_first(bare: Foliot, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    held = (
        "import sys; from pathlib import Path; from foliot.db.file_lock import only_one\n"
        "with only_one(Path(sys.argv[1])):\n    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", held, str(home / "foliot.db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        answered = bare("up", "--port", "0")
        first.communicate()

    assert answered.code == 1
    [line] = answered.err.splitlines()
    assert f"(process {first.pid})" in line


def test_the_lock_is_free_again_when_its_holder_is_gone(tmp_path: Path) -> None:
    for _ in range(2):
        with only_one(tmp_path / "foliot.db"):
            pass
    with only_one(tmp_path / "foliot.db"), pytest.raises(Conflict), only_one(tmp_path / "foliot.db"):
        pass
    with only_one(None), only_one(None):
        pass


def test_check_lists_errors_first_and_exits_1(bare: Foliot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_PORT", "x")
    monkeypatch.setenv("CELERY_RESULT_BACKEND", "redis://:hunter2@h")

    answered = bare("check", "--json")

    found = json.loads(answered.out)
    assert answered.code == 1
    assert not found["ok"]
    assert [(each["level"], each["key"]) for each in found["findings"]] == [
        ("error", "FOLIOT_PORT"),
        ("warning", "CELERY_RESULT_BACKEND"),
    ]
    assert "accepted but not used in this version" in found["findings"][1]["message"]
    assert "hunter2" not in answered.out


def test_check_of_a_fresh_home_finds_nothing_wrong_and_makes_nothing(bare: Foliot, tmp_path: Path) -> None:
    answered = bare("check")

    assert answered.code == 0
    assert "does not exist yet" in answered.out
    assert not (tmp_path / "home").exists()


def test_check_judges_egress_and_places(bare: Foliot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FOLIOT_HOME", str(tmp_path / "file" / "below"))
    monkeypatch.setenv("FOLIOT_EGRESS_ALLOW", "10.0.0.1/8")

    answered = bare("check", "--json")

    wrong = [each["key"] for each in json.loads(answered.out)["findings"] if each["level"] == "error"]
    assert wrong == ["FOLIOT_EGRESS_ALLOW", "FOLIOT_HOME"]


def test_check_says_when_the_database_does_not_answer(bare: Foliot, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        monkeypatch.setenv("DATABASE_URL", f"postgres://u:hunter2@127.0.0.1:{silent.getsockname()[1]}/db")
        answered = bare("check", "--json")

    [wrong] = [each for each in json.loads(answered.out)["findings"] if each["level"] == "error"]
    assert answered.code == 1
    assert wrong["key"] == "DATABASE_URL"
    assert "hunter2" not in answered.out


PROOF = pytest.mark.parametrize("proof", [["ledger", "verify"], ["audit"]], ids=" ".join)
"""The command, and the alias it is kept under."""


@PROOF
def test_a_proof_of_nothing_says_so(bare: Foliot, proof: list[str]) -> None:
    answered = bare(*proof)

    assert answered.code == 1
    assert "there is no database" in answered.err


@PROOF
def test_the_ledger_of_a_migrated_database_is_proved(bare: Foliot, proof: list[str]) -> None:
    first, second = bare("migrate"), bare("migrate")
    assert (first.code, second.code) == (0, 0), first.err
    assert "went from revision none to " in first.out
    assert "is at the newest revision" in second.out

    answered = bare(*proof)
    assert answered.code == 0, answered.err
    assert answered.out == "all accounted: 0 schedules, 0 instants\n"
    assert json.loads(bare(*proof, "--json").out) == {"ok": True, "schedules": 0, "instants": 0, "holes": []}
    assert "revision" in bare("check").out


# --- rendering --------------------------------------------------------------------------------------------------------


def test_times_are_local_or_utc_to_the_second() -> None:
    assert moment("2027-01-01T09:00:00.123456Z", utc=True) == "2027-01-01 09:00:00Z"
    assert re.fullmatch(r"2027-01-0\d \d\d:\d\d:00 [+-]\d{4}", moment("2027-01-01T09:00:00Z", utc=False))
    assert moment(None, utc=True) == ""
    assert moment("someday", utc=True) == "someday"


def test_one_of_a_thing_is_not_many() -> None:
    assert [count(number, "schedule") for number in (0, 1, 2)] == ["0 schedules", "1 schedule", "2 schedules"]


def test_unprintable_characters_are_shown_as_what_they_are() -> None:
    assert printable("a\tb\x1b[0m\u202eé") == r"a\tb\x1b[0m\u202eé"


def test_json_cannot_steer_the_terminal_of_whoever_reads_it(capsys: pytest.CaptureFixture[str]) -> None:
    steering = {"name": "é \x1b[31m \x9b2J \u202e \U000e0001 \u2028", "half": "\ud800"}

    print_json(steering)
    printed = capsys.readouterr().out

    assert json.loads(printed) == steering
    assert "é" in printed
    assert all(char.isprintable() or char == "\n" for char in printed)


def test_a_new_database_is_its_owners_alone_also_in_a_place_that_is_open(bare: Foliot, tmp_path: Path) -> None:
    home = tmp_path / "open"
    home.mkdir(mode=0o755)

    assert bare("migrate", "--home", str(home)).code == 0

    assert {path.name for path in home.iterdir() if path.suffix != ".lock" and path.stat().st_mode & 0o077} == set()
    (home / "foliot.db").chmod(0o644)
    found = json.loads(bare("check", "--home", str(home), "--json").out)["findings"]
    assert [each["message"] for each in found if "open to others (mode 0644)" in each["message"]]


def test_the_zone_of_a_schedule_is_said_once(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    summary = "At 06:00 every day (Europe/Stockholm)"
    server.will("GET", "/api/schedules/sch_1", (200, {**SCHEDULE, "summary": summary, "timezone": "Europe/Stockholm"}))

    shown = invoke("schedule", "show", "sch_1")

    assert shown.out.count("Europe/Stockholm") == 1
