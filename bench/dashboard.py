"""How long each page of the dashboard takes to show its first rows or its picture, with a million runs behind it.

python bench/dashboard.py [--database URL] [--schedules 5000] [--runs 1000000] [--repeats 5] [--json PATH]

A real `foliot up` on a database of its own, filled set-based, and Debian's Chromium in front of it. Each page is opened
once to have its scripts, then from an empty page and with a server that has answered everything it was asked before.
`seconds` lie between going there and the first row or picture; `server` is the longest that one of the page's questions
took until then, and `processor` what the server spent.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

from database import bench_database
from filling import fill
from measuring import Report, cpu_seconds
from playwright.sync_api import Page, sync_playwright
from sqlalchemy import make_url

GOAL = 1.0
"""Seconds."""
ROW = "[role=table][aria-label='{}'] [data-id]"
PICTURE = "[role=img][aria-label*='{}']"
PAGES = {
    # The last of what it shows: the ruler of a day back and a day ahead.
    "/": PICTURE.format("Runs of the last 24 hours"),
    "/schedules": ROW.format("Schedules"),
    "/schedules?q=status:active%20orders%2042": ROW.format("Schedules"),
    "/schedules/{schedule}": "[aria-label='Runs per day over the last year'] svg",
    # A day that had runs links to them.
    "/calendar": "main a[aria-label*=' run']",
    "/calendar?view=week": PICTURE.format(" marks"),
    "/calendar?view=day": PICTURE.format(" marks"),
    "/runs": ROW.format("Runs"),
    "/runs?q=state:failed": ROW.format("Runs"),
    "/runs?q=since:1h": ROW.format("Runs"),
    "/runs?q=kind:crawl": ROW.format("Runs"),
    "/runs?q=answer": ROW.format("Runs"),
    "/runs/{run}": "main h1",
    "/crawls": "main a[href*='/crawls/']",
    "/dead-letters": "section[aria-label*=' × ']",
    "/queues": "main >> text=scraping",
    "/activity": "main ul.divide-y > li",
}
SERVER = """() => Math.max(0, ...performance.getEntriesByType('resource')
    .filter((one) => /\\/(api|jobs)\\//.test(one.name) && one.responseEnd)
    .map((one) => one.responseEnd - one.requestStart)) / 1000"""


@contextmanager
def serving(home: Path, url: str) -> Iterator[tuple[str, int]]:
    """A server on this database: where it listens, and its process."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("FOLIOT_", "DATABASE_URL"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "foliot", "up", "--home", str(home), "--port", "0", "--grpc-port", "off"],
        env=environ | {"DATABASE_URL": url}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = "".join(process.stdout.readline() for _ in range(3))
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        if found is None:
            raise RuntimeError(f"it did not start: {said}")
        yield found[0], process.pid
    finally:
        process.terminate()
        process.communicate()


def seed(url: str) -> dict[str, str]:
    """The one schedule and the one run that the others are copies of."""
    schedule = foliot(url, "schedule", "create", "first", "--at", "2999-01-01T00:00:00Z", "--url", f"{url}/api/echo/x")
    run = foliot(url, "schedule", "run-now", schedule)
    # Until it has ended.
    foliot(url, "run", "logs", run, "--follow")
    return {"schedule": schedule, "run": run}


def foliot(url: str, *words: str) -> str:
    """What a command made or spoke of: the first id of its answer, if there is one."""
    command = [sys.executable, "-m", "foliot", *words, "--json"]
    said = subprocess.run(command, env=os.environ | {"FOLIOT_URL": url}, capture_output=True, text=True, check=True)
    found = re.search(r'"id": ?"(\w+)"', said.stdout)
    return found[1] if found else ""


def opened(page: Page, url: str, shown: str) -> tuple[float, float]:
    """From an empty page to the first row, and what the server took of it."""
    began = perf_counter()
    page.goto(url, wait_until="commit")
    page.locator(shown).first.wait_for()
    seconds = perf_counter() - began
    return seconds, page.evaluate(SERVER)


def rest(pid: int) -> None:
    """Until the server has nothing left to do: leaving a page does not end what it asked for."""
    for _ in range(100):
        before = cpu_seconds([pid])
        sleep(0.3)
        after = cpu_seconds([pid])
        if before is None or after is None or after - before < 0.03:
            return


def measure(report: Report, url: str, pid: int, ids: dict[str, str], repeats: int) -> None:
    chromium = os.environ.get("FOLIOT_TEST_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(30_000)
        for path, shown in PAGES.items():
            address = url + path.format(**ids)
            opened(page, address, shown)
            for _ in range(repeats):
                page.goto("about:blank")
                rest(pid)
                before = cpu_seconds([pid])
                seconds, server = opened(page, address, shown)
                after = cpu_seconds([pid])
                spent = None if before is None or after is None else after - before
                report.add(path, seconds=seconds, server=server, processor=spent)
            report.goal(f"{path} within {GOAL:g} s", met=median(report.figures[path]["seconds"]) < GOAL)
        browser.close()


@asynccontextmanager
async def filled(given: argparse.Namespace, scratch: Path, report: Report) -> AsyncIterator[tuple[str, dict[str, str]]]:
    """The database, with everything in it."""
    url = given.database or f"sqlite+aiosqlite:///{scratch}/bench.db"
    async with bench_database(url) as made:
        report.note(f"on {made.dialect}")
        with serving(scratch, url) as (address, _):
            ids = await asyncio.to_thread(seed, address)
        began = perf_counter()
        await fill(url, given.schedules, given.runs)
        report.note(f"{given.schedules:,} schedules and {given.runs:,} runs in {perf_counter() - began:.0f} s")
        yield url, ids


async def run(given: argparse.Namespace, report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="foliot-bench-") as scratch:
        async with filled(given, Path(scratch), report) as (url, ids):
            with serving(Path(scratch), url) as (address, pid):
                await asyncio.to_thread(measure, report, address, pid, ids, given.repeats)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", help="its name must contain 'bench'; a SQLite file unless said")
    parser.add_argument("--schedules", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    name = "sqlite" if given.database is None else make_url(given.database).get_backend_name()
    report = Report("dashboard" if name == "sqlite" else f"{name}-dashboard")
    asyncio.run(run(given, report))
    report.show()
    report.write(given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
