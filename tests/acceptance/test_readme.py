"""The tour of the README, as it is written: a failure, its retry, and what is skipped meanwhile."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.house import SECONDS, House

README = Path(__file__).parents[2] / "README.md"


def tour() -> list[str]:
    """Its blocks of commands, in order."""
    text = README.read_text(encoding="utf-8")
    section = text.partition("## A sixty-second tour")[2].partition("\n## ")[0]
    return re.findall(r"^```bash\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


@pytest.mark.timeout(180)
def test_the_tour_shows_a_retry_and_what_is_skipped_meanwhile(house: House, tmp_path: Path) -> None:
    house.up("--port", "0")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    begin, look, end = (
        block.replace("9009", port).replace("foliot listen", f"foliot listen --port {port}") for block in tour()
    )
    # In the place of the activated environment, and of the minute in which people look at it.
    begin = begin.replace(". .venv/bin/activate\n", f'foliot() {{ "{sys.executable}" -m foliot "$@"; }}\n')
    settled = "until foliot run list --schedule hello --state success --json | grep -q '\"attempt\": 2'; do :; done\n"
    script = f"set -em\nexport FOLIOT_HOME\n{begin}\n{settled}{look}\n{end}"

    done = subprocess.run(
        ["bash", "-c", script], env=house.environ, capture_output=True, text=True, timeout=2 * SECONDS, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "POST /  answered 500" in done.stdout
    assert "POST /  answered 200" in done.stdout
    assert re.search(r"hello +success +webhook .* 2/4 ", done.stdout), "the first run succeeded at its second attempt"
    assert re.search(r"skipped +overlap", done.stdout)
    assert "/schedules/sch_" in done.stdout
    assert "seen enough" in done.stdout
    assert "all accounted for: 1 schedule, " in done.stdout
