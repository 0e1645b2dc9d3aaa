"""What CI asks of others, and what it does when they are not there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], 0, "no known vulnerability"),
        ([{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}], 1, "X-1, mended in 2"),
        ([{"name": "a", "skip_reason": "away"}, {"name": "b", "skip_reason": "away"}], 75, "nothing is known"),
        ([{"name": "a", "skip_reason": "?"}, {"name": "b", "version": "1", "vulns": []}], 1, "1 of 2 packages"),
        (None, 75, "could not be asked"),
    ],
    ids=["well", "vulnerable", "away", "partly", "broken"],
)
def test_an_audit_tells_bad_news_from_no_news(
    tmp_path: Path, packages: list[dict[str, object]] | None, code: int, said: str
) -> None:
    # pip-audit, as far as the script can see it.
    answer = "no network" if packages is None else json.dumps({"dependencies": packages})
    (tmp_path / "pip_audit.py").write_text(f"print({answer!r})\n")
    given = os.environ | {"PYTHONPATH": str(tmp_path)}

    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "advisories"], env=given, capture_output=True, text=True, check=False
    )

    assert done.returncode == code
    assert said in done.stdout + done.stderr


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (75, 0), (1, 1)])
def test_ci_stops_for_bad_news_and_says_loudly_that_there_is_none(tmp_path: Path, code: int, ends: int) -> None:
    [step] = re.findall(r'(?ms)^say "make audit"$(.*?)^say', (ROOT / ".ci" / "run").read_text())
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\nexit {code}\n")
    python.chmod(0o755)

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", step], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == ends
    assert ("AUDIT SKIPPED" in done.stderr) is (code == 75)
