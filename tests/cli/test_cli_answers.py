"""What the commands make of the server's answers, and how they render them."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from foliot.terminal import follow as following
from tests.cli.cli_server import Answered, Script, invoke

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


# --- answers ----------------------------------------------------------------------------------------------------------


def test_a_refusal_says_what_field_by_field_and_a_hint(run: Foliot, server: Script) -> None:
    problem = {
        "type": "about:blank",
        "title": "The request is invalid",
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
        "error: invalid cron expression",
        '  cron_expr: has 4 fields, needs 5, got "* * * *"',
        "  hint: see /docs",
    ]

    for_programs = run("schedule", "create", "x", "--cron", "* * * *", "--url", "https://e.com", "--json")

    assert (for_programs.code, for_programs.out) == (4, "")
    assert json.loads(for_programs.err) == {
        "error": {
            "message": "invalid cron expression",
            "exit_code": 4,
            "status": 422,
            **{name: problem[name] for name in ("code", "detail", "errors", "hint")},
        }
    }


@pytest.mark.parametrize(
    ("errors", "first"),
    [
        ([{"field": "name", "message": "is required"}], "error: missing name"),
        ([{"field": "action.url", "message": "must be a URL", "got": "x"}], "error: invalid URL"),
        ([{"field": "queue", "message": "a"}, {"field": "name", "message": "b"}], "error: invalid request: 2 fields"),
        ([{"field": "", "message": "must be an object"}], "error: invalid request"),
    ],
)
def test_the_first_line_of_an_error_names_what_is_wrong(
    run: Foliot, server: Script, errors: list[dict[str, Any]], first: str
) -> None:
    server.will("GET", "/api/runs", (422, {"title": "The request is invalid", "status": 422, "errors": errors}))

    assert run("run", "list").err.splitlines()[0] == first


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
        "problems": ["no worker serves scraping"],
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
        "no worker serves",
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


def event(seq: int, message: str = "said", **more: Any) -> dict[str, Any]:
    return {"seq": seq, "at": "2027-01-01T09:00:00Z", "type": "log", "level": "info", "message": message, **more}


def frame(seq: int, message: str = "said") -> str:
    return f"id: {seq}\nevent: log\ndata: {json.dumps(event(seq, message))}\n\n"


END = 'id: 9\nevent: end\ndata: {"status": "success"}\n\n'


@pytest.fixture
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PAUSES", (0.0, 0.0, 0.0))


# --- logs -------------------------------------------------------------------------------------------------------------


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
