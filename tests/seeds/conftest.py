"""One Foliot for each file, and curl as the pages use it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.house import SECONDS, House

Start = Callable[..., House]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts the Foliot of a file."""
    houses: list[House] = []

    def up(*flags: str, **environ: str) -> House:
        house = House(tmp_path_factory.mktemp("seed") / "home")
        houses.append(house)
        house.environ |= environ
        house.up("--port", "0", *flags)
        return house

    yield up
    for house in houses:
        house.clear()


def curl(house: House, command: str, **replaced: str) -> Any:
    """A command of a page, at the port of this Foliot; `replaced` is what a reader puts in. Answers JSON, or text."""
    code, text = curl_status(house, command, **replaced)
    assert code < 500, text
    try:
        return json.loads(text)
    except ValueError:
        return text


def curl_status(house: House, command: str, **replaced: str) -> tuple[int, str]:
    for old, new in replaced.items():
        command = command.replace(old, new)
    words = shlex.split(re.sub(r"http://localhost:8000", house.environ["FOLIOT_URL"], command.replace("\\\n", " ")))
    assert words[0] == "curl"
    asked = [*words, "-sS", "-w", "\n%{http_code}", "--max-time", str(SECONDS)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS * 2, check=True)
    text, _, code = done.stdout.rpartition("\n")
    return int(code), text


@contextmanager
def modules(path: Path, **sources: str) -> Iterator[None]:
    """Python modules of a page, in a directory of their own."""
    path.mkdir(parents=True, exist_ok=True)
    for name, source in sources.items():
        (path / f"{name}.py").write_text(source, encoding="utf-8")
    yield
