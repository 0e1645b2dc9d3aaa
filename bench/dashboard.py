"""How long a page takes from the click to its first rows, with many schedules and runs behind it.

python bench/dashboard.py [--schedules 5000] [--runs 1000000] [--repeats 5] [--json PATH]

A real `foliot up` on a SQLite file of its own, filled set-based, and Debian's Chromium in front of it. Each page is
opened once to have its scripts, then from an empty page; what is timed lies between going there and its first row.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter

from measuring import Report
from playwright.sync_api import Page, sync_playwright

GOAL = 1.0
"""Seconds."""
PAGES = {
    "/schedules": "Schedules",
    "/schedules?q=status:active%20schedule%2042": "Schedules",
    "/runs": "Runs",
    "/runs?q=state:failed": "Runs",
    "/runs?q=since:1h": "Runs",
}
ROW = "[role=table][aria-label={label}] [data-id]"

# A run each 0.6 s in the past, so that a million of them are a week; one in a hundred failed. Ids sort by time.
SCHEDULES = """
WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < :count)
INSERT INTO schedules ({columns})
SELECT {values} FROM s CROSS JOIN (SELECT * FROM schedules LIMIT 1) AS one
"""
RUNS = """
WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < :count)
INSERT INTO runs ({columns})
SELECT {values} FROM s CROSS JOIN (SELECT * FROM runs LIMIT 1) AS one
"""
AGO = "strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', (:count - n) * 0.6)) || '000'"


def copied(database: sqlite3.Connection, table: str, statement: str, count: int, changes: dict[str, str]) -> None:
    """So many copies of the one row that is there, each with what makes it itself."""
    names = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    values = ", ".join(changes.get(name, f"one.{name}") for name in names)
    database.execute(statement.format(columns=", ".join(names), values=values), {"count": count})


def fill(path: Path, schedules: int, runs: int) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        copied(
            database, "schedules", SCHEDULES, schedules - 1,
            {"id": "printf('sch_00%030x', n)", "name": "'schedule ' || n", "next_at": "NULL", "gap_first": "NULL"},
        )  # fmt: skip
        copied(
            database, "runs", RUNS, runs - 1,
            {"id": "printf('run_00%030x', n)", "schedule_id": f"printf('sch_00%030x', 1 + n % {schedules - 1})",
             "state": "CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'success' END", "token": "NULL",
             **dict.fromkeys(("created_at", "started_at", "finished_at", "ready_at", "due_at", "attempt_at"), AGO)},
        )  # fmt: skip
        database.execute("ANALYZE")


@contextmanager
def serving(home: Path) -> Iterator[str]:
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("FOLIOT_", "DATABASE_URL"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "foliot", "up", "--home", str(home), "--port", "0", "--grpc-port", "off"],
        env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = "".join(process.stdout.readline() for _ in range(3))
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        if found is None:
            raise RuntimeError(f"it did not start: {said}")
        yield found[0]
    finally:
        process.terminate()
        process.communicate()


def seed(url: str) -> None:
    """The one schedule and the one run that the others are copies of."""
    schedule = foliot(url, "schedule", "create", "first", "--at", "2999-01-01T00:00:00Z", "--url", f"{url}/api/echo/x")
    run = foliot(url, "schedule", "run-now", schedule)
    # Until it has ended.
    foliot(url, "run", "logs", run, "--follow")


def foliot(url: str, *words: str) -> str:
    """What a command made or spoke of: the first id of its answer, if there is one."""
    command = [sys.executable, "-m", "foliot", *words, "--json"]
    said = subprocess.run(command, env=os.environ | {"FOLIOT_URL": url}, capture_output=True, text=True, check=True)
    found = re.search(r'"id": ?"(\w+)"', said.stdout)
    return found[1] if found else ""


def opened(page: Page, url: str, label: str) -> float:
    """From an empty page to the first row."""
    page.goto("about:blank")
    began = perf_counter()
    page.goto(url, wait_until="commit")
    page.locator(ROW.format(label=label)).first.wait_for()
    return perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    report = Report("dashboard")
    chromium = os.environ.get("FOLIOT_TEST_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory(prefix="foliot-bench-") as scratch:
        home = Path(scratch) / "home"
        with serving(home) as url:
            seed(url)
        began = perf_counter()
        fill(home / "foliot.db", given.schedules, given.runs)
        report.note(f"{given.schedules:,} schedules and {given.runs:,} runs in {perf_counter() - began:.0f} s")
        with serving(home) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page()
            page.set_default_timeout(30_000)
            for path, label in PAGES.items():
                opened(page, url + path, label)
                for _ in range(given.repeats):
                    report.add(path, seconds=opened(page, url + path, label))
                report.goal(f"{path} within {GOAL:g} s", met=median(report.figures[path]["seconds"]) < GOAL)
            browser.close()
    report.show()
    report.write(given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
