"""What SQLite has acknowledged is on the disk: a machine whose power goes finds every commit."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from foliot.db.migrate import migrate
from foliot.testing import open_store
from tests.services import absent, wait_for

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COMMITS = 25
MISSING = "needs a C compiler: apt-get install gcc libc6-dev"

Cut = Callable[..., tuple[list[str], list[str]]]

PRAGMAS = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5000}
"""2 is FULL: a commit waits for the disk. NORMAL would lose the last ones, OFF could lose the file."""


async def test_every_connection_of_the_store_waits_for_the_disk(tmp_path: Path) -> None:
    async with open_store(f"sqlite+aiosqlite:///{tmp_path / 'foliot.db'}") as store:
        found = []
        for opened in (store.begin(), store.read(), store.read()):
            async with opened as tx:
                asked = {name: (await tx.conn.execute(text(f"PRAGMA {name}"))).scalar_one() for name in PRAGMAS}
                found.append(asked)

    assert found == [PRAGMAS] * 3


@pytest.fixture(scope="session")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that keeps only what was synced."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        absent(FileNotFoundError(MISSING))
    library = tmp_path_factory.mktemp("library") / "power_cut.so"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror"]
    subprocess.run([compiler, *flags, "-o", library, HERE / "power_cut.c", "-ldl"], check=True)
    return library


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("migrated") / "foliot.db"
    wait_for(migrate(f"sqlite+aiosqlite:///{path}"))
    return path


@pytest.fixture
def cut(forgetful: Path, migrated: Path, tmp_path: Path) -> Cut:
    """Commits in a process that dies, and what is left of them on the disk: acknowledged, and found."""
    live, kept = tmp_path / "live", tmp_path / "kept"

    def happen(*how: str) -> tuple[list[str], list[str]]:
        for place in (live, kept):
            place.mkdir()
            shutil.copy(migrated, place)
        given = {"LD_PRELOAD": str(forgetful), "POWER_CUT_LIVE": str(live), "POWER_CUT_KEPT": str(kept)}
        command: list[Any] = [sys.executable, "-m", "tests.db.durable", live / "foliot.db", str(COMMITS), *how]
        process = subprocess.run(
            command, env=os.environ | given, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
        )
        assert process.returncode == -9
        with closing(sqlite3.connect(kept / "foliot.db")) as left:
            assert left.execute("PRAGMA quick_check").fetchall() == [("ok",)]
            return process.stdout.split(), [name for (name,) in left.execute("SELECT id FROM schedules")]

    return happen


def test_what_was_committed_survives_a_power_cut(cut: Cut) -> None:
    acknowledged, found = cut()

    assert len(acknowledged) == COMMITS
    assert sorted(found) == sorted(acknowledged)


@pytest.mark.parametrize("synchronous", ["OFF", "NORMAL"])
def test_the_power_cut_notices_commits_that_did_not_wait_for_the_disk(cut: Cut, synchronous: str) -> None:
    acknowledged, found = cut(synchronous)

    assert len(acknowledged) == COMMITS
    assert set(acknowledged) - set(found), "nothing was lost: this test would not notice a weaker setting"
