"""Logs: readable, machine-readable, and without secrets."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.contextvars import bound_contextvars

from foliot import logs


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = []
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def say_failed(text: str) -> None:
    try:
        int(text)
    except ValueError:
        structlog.get_logger().exception("failed: %s", text)


@pytest.fixture
def out() -> io.StringIO:
    stream = io.StringIO()
    logs.configure(level="info", form="json", stream=stream)
    return stream


def test_a_line_has_a_sentence_for_people_and_an_action_for_machines(out: io.StringIO) -> None:
    structlog.get_logger("foliot.engine").info("3 runs handed back", action="drained", runs=3)

    [line] = lines(out)
    assert line["event"] == "3 runs handed back"
    assert line["action"] == "drained"
    assert line["runs"] == 3
    assert line["level"] == "info"
    assert line["logger"] == "foliot.engine"
    assert line["timestamp"].endswith("Z")


def test_what_is_bound_comes_with_everything_said_inside(out: io.StringIO) -> None:
    with bound_contextvars(tenant_id="t", schedule_id="sch_1", run_id="run_1"):
        structlog.get_logger().info("performed")
        logging.getLogger("some.library").warning("retrying %s", "it")
    structlog.get_logger().info("outside")

    inside, foreign, outside = lines(out)
    assert (inside["tenant_id"], inside["schedule_id"], inside["run_id"]) == ("t", "sch_1", "run_1")
    assert foreign["event"] == "retrying it"
    assert foreign["run_id"] == "run_1"
    assert "run_id" not in outside


def test_lines_of_libraries_come_out_of_the_same_pipe(out: io.StringIO) -> None:
    logging.getLogger("uvicorn.error").error("cannot bind", extra={"action": "bind"})
    logging.getLogger("uvicorn.error").info("Started server process")

    [line] = lines(out)
    assert (line["event"], line["action"], line["level"]) == ("cannot bind", "bind", "error")


def test_what_asyncio_complains_about_is_a_line_too(out: io.StringIO) -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_exception_handler({"message": "task died", "exception": ValueError("x")})

    asyncio.run(main())

    [line] = lines(out)
    assert "ValueError: x" in line["exception"]


def test_less_important_lines_are_left_out(out: io.StringIO) -> None:
    structlog.get_logger().debug("detail")

    assert lines(out) == []


@pytest.mark.parametrize(
    "key",
    ["authorization", "Authorization", "password", "db_password", "secret", "webhook_secret", "token", "cookie",
     "set-cookie", "api_key", "apikey", "x-api-key", "private_key", "ticket"],
)  # fmt: skip
def test_values_of_secret_keys_are_hidden_at_any_depth(out: io.StringIO, key: str) -> None:
    structlog.get_logger().info("sent", **{key: "hunter2"}, deep={"list": [{key: "hunter2"}]})

    assert "hunter2" not in out.getvalue()
    assert lines(out)[0]["deep"] == {"list": [{key: "***"}]}


@pytest.mark.parametrize(
    "text",
    [
        "postgres://user:hunter2@db/foliot is away",
        "signed with whsec_hunter2hunter2",
        "sent Authorization: Bearer hunter2hunter2",
        "called https://api.example.com/x?a=1&token=hunter2",
        "saw eyJhunter2.eyJodW50ZXIy.hunter2",
        "made flt_0123abcd_hunter2hunter2hunter2hunter2hunter2hunter2h",
        "took tkt_hunter2hunter2hunter2hunter2hunter2hunter2h",
    ],
)
def test_secrets_are_hidden_by_their_looks_wherever_they_stand(out: io.StringIO, text: str) -> None:
    structlog.get_logger().info(text, detail=text, error=ValueError(text))
    say_failed(text)
    logging.getLogger("lib").warning("it said %s", text)

    assert "hunter2" not in out.getvalue()
    assert len(lines(out)) == 3


def test_a_value_cannot_forge_a_line_or_paint_the_terminal() -> None:
    stream = io.StringIO()
    logs.configure(level="info", form="console", stream=stream)

    structlog.get_logger().info(
        "name: x\n2026-01-01 [info] all is well", url="\x1b[2J", more=["a\rb", {"k\n": "\u202e"}]
    )

    [line] = stream.getvalue().splitlines()
    assert r"x\n2026" in line
    assert "\x1b" not in line
    assert "\u202e" not in line


def test_a_traceback_keeps_its_lines_and_loses_its_control_characters() -> None:
    stream = io.StringIO()
    logs.configure(level="info", form="console", stream=stream)

    say_failed("\x1b[2J")

    assert len(stream.getvalue().splitlines()) > 3
    assert "\x1b" not in stream.getvalue()


def test_colours_are_for_terminals_only() -> None:
    plain, terminal = io.StringIO(), Terminal()
    for stream in (plain, terminal):
        logs.configure(level="info", form="console", stream=stream)
        structlog.get_logger().info("hello", action="greeted")

    assert "\x1b[" not in plain.getvalue()
    assert "\x1b[" in terminal.getvalue()


def test_a_directory_gets_the_same_lines_as_json(tmp_path: Path) -> None:
    stream = io.StringIO()
    logs.configure(level="info", form="console", directory=tmp_path / "made" / "here", stream=stream)

    structlog.get_logger().info("hello", action="greeted")

    [line] = (tmp_path / "made" / "here" / "foliot.log").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["action"] == "greeted"
    assert "hello" in stream.getvalue()


def test_each_process_has_a_file_of_its_own_named_for_its_command(tmp_path: Path) -> None:
    program = (
        "import structlog, sys; from foliot import logs; from pathlib import Path; "
        f"logs.configure(level='info', form='json', directory=Path({str(tmp_path)!r}), name='worker'); "
        "structlog.get_logger().info(sys.argv[1]); print('logged', flush=True); sys.stdin.read()"
    )
    processes = []
    try:
        for who in ("first", "second"):
            process = subprocess.Popen(
                [sys.executable, "-c", program, who],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
            processes.append(process)
            assert process.stdout is not None
            assert process.stdout.readline() == "logged\n"
    finally:
        for process in processes:
            process.communicate("")

    written = {path.name: path.read_text() for path in tmp_path.glob("*.log")}
    assert {name: "first" in text for name, text in written.items()} == {"worker.log": True, "worker-2.log": False}

    logs.configure(level="info", form="json", directory=tmp_path, name="worker", stream=io.StringIO())
    structlog.get_logger().info("third")
    # Both have ended: their files are free again.
    assert "third" in (tmp_path / "worker.log").read_text()


def test_configuring_again_replaces_and_does_not_add() -> None:
    first, second = io.StringIO(), io.StringIO()
    logs.configure(level="info", form="json", stream=first)
    logs.configure(level="info", form="json", stream=second)

    structlog.get_logger().info("once")

    assert first.getvalue() == ""
    assert len(lines(second)) == 1
