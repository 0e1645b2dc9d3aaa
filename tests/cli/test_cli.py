"""The command line: its help, its exit codes, and what it says to a server and to people."""

from __future__ import annotations

import json
import os
import pty
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import foliot
from foliot.cli import process
from foliot.cli.root import COMMANDS, app
from foliot.core.errors import Conflict
from foliot.db.file_lock import only_one
from foliot.terminal.output import EXIT_CODES, Exit, count, moment, print_json, printable
from tests.cli.cli_server import Answered, Script, complaints, invoke

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"

SCHEDULE: dict[str, Any] = {
    "id": "sch_1", "name": "prices", "status": "active", "summary": "every 2 hours (UTC)", "timezone": "UTC",
    "next_run_at": "2027-01-01T09:00:00.000000Z", "last_run_at": None, "queue": "default", "priority": 5, "version": 1,
    "action": {"kind": "webhook", "url": "https://example.com"}, "tags": [],
}  # fmt: skip


@pytest.fixture
def server() -> Iterator[Script]:
    with Script() as script:
        thread = threading.Thread(target=script.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield script
        script.shutdown()
        thread.join()


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


def test_a_command_with_plain_values_asks_its_server_without_pydantic() -> None:
    """Its import would be a third of the command's time."""
    code = (
        "import os, sys; os.environ['FOLIOT_URL'] = 'http://127.0.0.1:9'\n"
        "sys.argv = ['foliot', 'schedule', 'list', '--limit', '7', '--status', 'active', '--json']\n"
        "from foliot.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: print(end.code, sorted({'pydantic', 'sqlalchemy'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    # It got as far as asking: no server answers there.
    assert done.stdout.split("\n")[-2] == "5 []", done.stdout + done.stderr


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
        "from foliot.servers.http.schema import DocumentedModel\n"
        "def below(cls): return [cls, *(each for one in cls.__subclasses__() for each in below(one))]\n"
        "heavy = {'alembic', 'discord', 'trafilatura', 'celery', 'kombu', 'pymongo', 'cryptography', 'lxml'}\n"
        "print([one.__name__ for one in below(DocumentedModel)[1:] if one.__pydantic_complete__])\n"
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
    said = complaints(os.read(ours, 65536).decode())
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
    assert done.err.startswith(f"error: --pipelines: {file} cannot be read (")
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
        (["schedule", "create", "x", "--every", "1m", "--cron", "* * * * *"], "--cron and --every cannot be combined"),
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
        if path in (
            own := {
                "foliot crawl deploy": "SCRAPYD_URL",
                "foliot token": "FOLIOT_JWT_SECRET",
                "foliot listen": "FOLIOT_WEBHOOK_SECRET",
            }
        ):
            assert own[path] in shown
            continue
        # A command speaks to a server, or works on the database itself.
        server, database = ("FOLIOT_URL", "FOLIOT_TOKEN", "FOLIOT_PORT"), ("DATABASE_URL", "FOLIOT_HOME")
        named = [all(key in shown for key in keys) for keys in (server, database)]
        assert any(named), f"{path} --help mentions neither all of {server} nor all of {database}"
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
        "--jitter", "10", "--notify", "ops", "--notify-after", "3", "--tag", "a", "--tag", "b", "--description", "why",
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
        "alert": {"to": ["ops"], "after": 3},
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


# --- servers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["api", "scheduler"])
def test_parts_of_a_cluster_refuse_sqlite_in_one_line(bare: Foliot, command: str) -> None:
    answered = bare(command)

    assert answered.code == 1
    [line] = complaints(answered.err)
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
    [line] = complaints(answered.err)
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
    [line] = complaints(answered.err)
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
    assert "accepted but not used by a server" in found["findings"][1]["message"]
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
    assert "was migrated from revision none to " in first.out
    assert "is at the newest revision" in second.out

    answered = bare(*proof)
    assert answered.code == 0, answered.err
    assert answered.out == "all accounted for: 0 schedules, 0 instants\n"
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
