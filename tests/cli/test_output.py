"""Tables, times and colours at a terminal and in a pipe, and lists that are watched."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from foliot.terminal import output, table
from foliot.terminal.output import relative
from tests.cli.cli_server import Script, invoke

NOW = datetime(2027, 1, 4, 12, tzinfo=UTC)
IDS = ["sch_01a1ee3578c070eda5574ad728018f9e", "sch_01a1ee3578c070ed15574ad728018f9e"]
LONG = "At minute 40 past every third hour on weekdays (Europe/Stockholm)"


@pytest.fixture
def server() -> Iterator[Script]:
    with Script() as script:
        thread = threading.Thread(target=script.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield script
        script.shutdown()
        thread.join()


def schedules(status: str = "active") -> dict[str, object]:
    nexts = {"next_run_at": "2027-01-01T09:00:00Z", "summary": LONG, "status": status}
    items = [{"id": one, "name": name, **nexts} for one, name in zip(IDS, ("prices", "stock"), strict=True)]
    return {"items": items, "next_cursor": None}


def at_terminal(server: Script, *arguments: str, columns: int, **environ: str) -> str:
    """What a terminal of this width shows."""
    process, ours = started(server, *arguments, columns=columns, **environ)
    said = until_closed(ours)
    assert process.wait(20) == 0, said
    os.close(ours)
    return said


def started(server: Script, *arguments: str, columns: int, **environ: str) -> tuple[subprocess.Popen[bytes], int]:
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    environment = kept | {
        "FOLIOT_URL": f"http://127.0.0.1:{server.server_port}",
        "COLUMNS": str(columns),
        "LINES": "24",
        "TERM": "xterm-256color",
        **environ,
    }
    command = [sys.executable, "-m", "foliot", *arguments]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    return process, ours


def until_closed(terminal: int) -> str:
    parts = []
    try:
        while part := os.read(terminal, 65536):
            parts.append(part)
    except OSError:
        pass
    return b"".join(parts).decode()


def until(terminal: int, words: str) -> str:
    said = ""
    while words not in said:
        ready, _, _ = select.select([terminal], [], [], 20)
        assert ready, f"{words!r} was not shown: {said!r}"
        said += os.read(terminal, 65536).decode()
    return said


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"),
        (45, "in 45 s"),
        (-90, "1 min ago"),
        (3600, "in 1 h"),
        (-(3 * 3600 + 300), "3 h 5 min ago"),
        (2 * 86_400 + 3600, "in 2 d 1 h"),
        (7 * 86_400, ""),
    ],
)
def test_a_time_is_as_far_away_as_people_say(seconds: int, words: str) -> None:
    assert relative(NOW + timedelta(seconds=seconds), NOW) == words


def test_a_table_fits_a_narrow_terminal_and_a_wide_one_shows_everything(server: Script) -> None:
    server.will("GET", "/api/schedules", (200, schedules()))

    narrow = at_terminal(server, "schedule", "list", columns=80, NO_COLOR="1").splitlines()
    wide = at_terminal(server, "schedule", "list", columns=160, NO_COLOR="1").splitlines()

    assert max(map(len, narrow)) <= 80
    assert narrow[1].startswith("prices")
    assert narrow[1].endswith("…")
    assert [line.split()[-1] for line in wide[1:3]] == IDS
    assert LONG in wide[1]


@pytest.mark.parametrize("room", [60, 80, 140])
def test_a_table_never_exceeds_the_terminal(room: int) -> None:
    labels = ("url", "calls", "answers", "since", "note")
    columns = [
        table._Column(label, ["x" * width], rigid=label == "since", optional=label == "note")
        for label, width in zip(labels, (90, 4, 30, 16, 40), strict=True)
    ]

    shown, widths = table._fit(columns, room)

    assert sum(widths) + 2 * (len(widths) - 1) <= room
    assert widths[[column.label for column in shown].index("since")] == 16


def test_ids_are_cut_to_beginnings_that_still_name_one_thing(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [table._Column("id", list(IDS), rigid=False, optional=False)]

    shown, _ = table._fit(columns, 30)

    cut = shown[0].cells
    assert len(set(cut)) == 2
    assert all(whole.startswith(part) for whole, part in zip(IDS, cut, strict=True))
    assert len(cut[0]) == 21


def test_a_pipe_gets_every_column_whole_without_colours_and_with_absolute_times(
    server: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("COLUMNS", "40")
    server.will("GET", "/api/schedules", (200, schedules()))

    lines = invoke("schedule", "list").out.splitlines()

    assert "\x1b" not in "".join(lines)
    assert all(LONG in line for line in lines[1:])
    assert re.search(r"2027-01-01 \d\d:\d\d:00 [+-]\d{4}", lines[1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "list", "--nope"), "No such option: --nope"),
        (("schedule", "show"), "Missing argument 'SCHEDULE'."),
        (("shcedule", "list"), "No such command 'shcedule'. Did you mean 'schedule', 'scheduler'?"),
    ],
)
def test_wrong_usage_is_an_object_with_json_and_a_sentence_without(words: tuple[str, ...], message: str) -> None:
    as_json, plain = invoke(*words, "--json"), invoke(*words)

    assert json.loads(as_json.err) == {"error": {"message": message, "exit_code": 2, "notes": []}}
    assert (as_json.code, plain.code, as_json.out) == (2, 2, "")
    assert plain.err.startswith("Usage: ")


def test_states_have_colours_unless_they_are_turned_off(server: Script) -> None:
    server.will("GET", "/api/schedules", (200, schedules("paused")))

    assert "\x1b[90mpaused\x1b[0m" in at_terminal(server, "schedule", "list", columns=100)
    assert "\x1b[" not in at_terminal(server, "schedule", "list", columns=100, NO_COLOR="1")
    assert "\x1b[" not in at_terminal(server, "schedule", "list", columns=100, TERM="dumb")


def test_every_state_of_a_run_has_a_colour_of_its_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)

    codes = {word: output.state(word).removeprefix("\x1b[")[:2] for word in ("success", "dead_letter", "cancelled")}

    assert codes == {"success": "32", "dead_letter": "31", "cancelled": "90"}
    assert output.state("prices") == "prices"


def test_flags_choose_how_times_are_shown_at_a_terminal(server: Script) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=2, minutes=30)).isoformat()  # noqa: TID251 -- a real terminal has a real clock
    page = schedules()
    for item in page["items"]:  # type: ignore[attr-defined]
        item["next_run_at"] = soon
    server.will("GET", "/api/schedules", (200, page))

    assert re.search(r"in 2 h (29|30) min", at_terminal(server, "schedule", "list", columns=120))
    assert re.search(r":\d\d [+-]\d{4}", at_terminal(server, "schedule", "list", "--absolute", columns=140))
    assert re.search(r":\d\dZ", at_terminal(server, "schedule", "list", "--utc", columns=140))


def test_a_watched_list_follows_changes_and_ctrl_c_ends_it_well(server: Script) -> None:
    server.will("GET", "/api/schedules", (200, schedules()), (200, schedules("paused")))
    process, ours = started(server, "schedule", "list", "--watch", columns=120, NO_COLOR="1")

    first = until(ours, "active")
    changed = until(ours, "paused")
    process.send_signal(signal.SIGINT)
    rest = until_closed(ours)
    os.close(ours)

    assert process.wait(20) == 0
    assert "\x1b[?1049h" in first, "the list has the screen for itself"
    assert "Ctrl-C ends" in first + changed
    assert "\x1b[?1049l" in rest
    assert "paused" in rest.partition("\x1b[?1049l")[2], "what was last seen stays"
    assert "Traceback" not in rest


def test_a_watched_list_in_a_pipe_prints_a_line_for_each_change(server: Script) -> None:
    same = (200, {"items": [{"id": "a"}]})
    server.will("GET", "/api/schedules", same, same, (503, {"detail": "restarting"}), (200, {"items": []}))
    command = [sys.executable, "-m", "foliot", "schedule", "list", "--watch", "--json"]
    environment = os.environ | {"FOLIOT_URL": f"http://127.0.0.1:{server.server_port}"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGINT)
        _, notes = process.communicate(timeout=20)

    assert lines == ['{"items": [{"id": "a"}]}\n', '{"items": []}\n']
    assert (process.returncode, notes) == (0, "foliot: restarting; trying again\n")


def test_a_list_that_is_refused_is_not_watched(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    server.will("GET", "/api/schedules", (403, {"detail": "no"}))

    answered = invoke("schedule", "list", "--watch")

    assert answered.code == 4
    assert answered.err.startswith("error: no\n")
