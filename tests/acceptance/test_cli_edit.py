"""Editing a schedule in an editor or by flags, by its name, and opening its page, against a running server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.house import House


class Prices:
    """A running server with a schedule, and an editor that does as it is told."""

    def __init__(self, house: House, folder: Path) -> None:
        self.house = house
        self.folder = folder
        self.seen = folder / "seen.yml"
        house.up("--port", "0")
        flags = ("--cron", "0 2 * * *", "--url", "http://127.0.0.1:9/hook", "--tag", "shop")
        self.id = house.foliot("schedule", "create", "prices", *flags)["id"]

    def now(self) -> dict[str, Any]:
        found: dict[str, Any] = self.house.foliot("schedule", "show", "prices")
        return found

    def edit(self, script: str) -> Any:
        """`script` edits the file `$1`; what the editor was given is kept."""
        editor = self.folder / "editor"
        editor.write_text(f'#!/bin/sh\ncat "$1" >> {self.seen}\n{script}\n')
        editor.chmod(0o755)
        self.house.environ["EDITOR"] = str(editor)
        self.house.environ.pop("VISUAL", None)
        return self.house.run("schedule", "edit", "prices")

    def kept(self, complaint: str) -> str:
        file = Path(complaint.rpartition("your edit is in ")[2].strip())
        text = file.read_text()
        file.unlink()
        return text


@pytest.fixture
def prices(house: House, tmp_path: Path) -> Prices:
    return Prices(house, tmp_path)


def test_a_document_is_edited_and_what_was_left_alone_stays(prices: Prices) -> None:
    before = prices.now()

    done = prices.edit('sed -i \'s/^cron_expr:.*/cron_expr: "30 3 * * *"/; s/max_retries: .*/max_retries: 5/\' "$1"')

    after = prices.now()
    assert done.returncode == 0, done.stderr
    assert (after["cron_expr"], after["retry_policy"]["max_retries"]) == ("30 3 * * *", 5)
    changed = {name for name in after if after[name] != before[name]}
    assert changed <= {"cron_expr", "retry_policy", "summary", "next_run_at", "version", "updated_at"}
    seen = prices.seen.read_text()
    assert f"# Schedule prices ({prices.id}), version 1." in seen
    assert "overlap: skip  # skip, buffer_one, buffer_all, cancel_other, terminate_other, allow_all" in seen
    assert "status:" not in seen


@pytest.mark.parametrize("script", ["true", "echo '# a remark' >> \"$1\"", 'echo > "$1"'])
def test_a_document_that_says_the_same_changes_nothing(prices: Prices, script: str) -> None:
    done = prices.edit(script)

    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing was changed" in done.stderr
    assert prices.now()["version"] == 1


def test_what_is_refused_is_marked_at_its_line_and_can_be_mended(prices: Prices) -> None:
    mend = 'if grep -q "# ^ error" "$1"; then sed -i "s/sometimes/allow_all/" "$1"; '
    done = prices.edit(mend + 'else sed -i "s/^overlap: skip/overlap: sometimes/" "$1"; fi')

    assert done.returncode == 0, done.stderr
    assert prices.now()["overlap"] == "allow_all"
    lines = prices.seen.read_text().splitlines()
    marked = next(at for at, line in enumerate(lines) if line.startswith("# ^ error: overlap: must be one of skip"))
    assert lines[marked - 1].startswith("overlap: sometimes")


def test_a_refused_document_that_is_not_mended_is_kept(prices: Prices) -> None:
    done = prices.edit("sed -i 's/^overlap: .*/overlap: [/' \"$1\"")

    assert done.returncode == 4
    assert "error: " in done.stderr
    assert "overlap: [" in prices.kept(done.stderr)
    assert prices.now()["version"] == 1


def test_an_edit_does_not_overwrite_another(prices: Prices) -> None:
    meanwhile = f"{prices.folder}/meanwhile"
    command = f'"{prices.folder}/foliot" schedule edit prices --retries 7 > {meanwhile}'
    (prices.folder / "foliot").write_text(f'#!/bin/sh\nexec {sys.executable} -m foliot "$@"\n')
    (prices.folder / "foliot").chmod(0o755)

    done = prices.edit(f"{command}; sed -i 's/^overlap: .*/overlap: allow_all/' \"$1\"")

    now = prices.now()
    assert done.returncode == 4
    assert "version" in done.stderr
    assert "overlap: allow_all" in prices.kept(done.stderr)
    assert (now["retry_policy"]["max_retries"], now["overlap"]) == (7, "skip")


def test_flags_change_single_fields_without_an_editor(prices: Prices) -> None:
    prices.house.environ["EDITOR"] = "/nowhere"

    after = prices.house.foliot("schedule", "edit", "prices", "--every", "15m", "--method", "put", "--name", "new")

    assert (after["type"], after["interval_seconds"], after["name"]) == ("interval", 900, "new")
    assert (after["action"]["method"], after["action"]["url"]) == ("PUT", "http://127.0.0.1:9/hook")
    refused = prices.house.run("schedule", "edit", "new", "--cron", "* * *")
    assert refused.returncode == 4
    assert refused.stderr.startswith("error: invalid cron expression\n  cron_expr: ")


def test_an_editor_that_fails_changes_nothing(prices: Prices) -> None:
    done = prices.edit("exit 3")

    assert done.returncode == 1
    assert "exit code 3: nothing was changed" in done.stderr
    prices.house.environ["EDITOR"] = "/nowhere/ed"
    assert "does not start" in prices.house.run("schedule", "edit", "prices").stderr
    assert prices.now()["version"] == 1


def test_pages_are_opened_by_name_and_printed_without_a_browser(prices: Prices) -> None:
    opened = prices.folder / "opened"
    browser = prices.folder / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    house = prices.house
    address = house.environ["FOLIOT_URL"]
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        house.environ.pop(name, None)

    printed = house.run("open", "prices")
    assert printed.stdout == f"{address}/schedules/{prices.id}\n"
    assert "no browser found here" in printed.stderr
    house.environ["BROWSER"] = f"{browser} %s"
    assert house.run("open", "dead-letters").stderr == ""
    assert opened.read_text() == f"{address}/dead-letters\n"
    assert house.run("open", "nothing-like-it").returncode == 3
    assert house.run("open", "--print").stdout == f"{address}/\n"
