"""A log of two hundred thousand lines: its end at once, any line by its address, and a search that counts truly."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from foliot.engine.model.run import EventLine, EventType
from foliot.engine.sql.log_chunks import CHUNK_LINES, pack
from tests.acceptance.house import SECONDS, House
from tests.browser.asking import ended, run_task, soon, told
from tests.browser.conftest import Open

pytestmark = pytest.mark.timeout(240)

LINES = 200_000
EVERY = 1000
AT = datetime(2026, 11, 16, 12, tzinfo=UTC)
FIRST = 3
"""Before it, the run has said that it was queued and that it runs."""


def test_a_log_of_two_hundred_thousand_lines(busy: House, tab: Open) -> None:
    opened = tab(busy)
    run = ended(busy, opened.page, run_task(busy, "write_slowly", count=1))["id"]
    lengthen(busy, run)
    page = opened.go(f"/runs/{run}")
    log = page.get_by_role("log")

    expect(log.get_by_text(f"line {LINES} needle", exact=True)).to_be_visible()
    search = page.get_by_label("Search the log")
    expect(search).to_have_attribute("placeholder", f"Search {LINES:,} lines")
    assert log.locator("[data-seq]").count() < 300, "only what is seen is drawn"

    page.keyboard.press("/")
    page.keyboard.type("needle")
    status = page.get_by_role("status")
    expect(status.filter(has_text=f"{LINES // EVERY} matches")).to_be_visible()
    page.keyboard.press("Enter")
    expect(status.filter(has_text=f"1 of {LINES // EVERY}")).to_be_visible()
    expect(log.locator("[data-seq]").filter(has_text=f"line {EVERY} needle")).to_be_visible()
    page.keyboard.press("Shift+Enter")
    expect(log.locator("[data-seq]").filter(has_text=f"line {LINES} needle")).to_be_visible()

    middle = told(busy, f"/api/runs/{run}/logs", grep="line 100000 ", limit=1)["items"][0]["seq"]
    page = opened.page.context.new_page()
    page.goto(f"{busy.environ['FOLIOT_URL']}/runs/{run}#L{middle}")
    line = page.get_by_role("log").locator(f"[data-seq='{middle}']")
    expect(line).to_be_in_viewport()
    expect(line).to_contain_text("line 100000 needle")
    expect(page.get_by_label(f"Line {middle}")).to_be_visible()
    page.get_by_role("log").hover()
    # Further up than what was fetched with it.
    earlier = page.get_by_role("log").get_by_text(re.compile("^line 994"))

    def up() -> bool:
        page.mouse.wheel(0, -3000)
        return earlier.first.is_visible()

    assert soon(page, up, bool)
    page.get_by_role("button", name=re.compile("Go to the end")).click()
    expect(page.get_by_role("log").get_by_text(f"line {LINES} needle", exact=True)).to_be_visible()


def lengthen(house: House, run: str) -> None:
    """As if the run had written all of them; really doing it takes long, and lines that come too fast are dropped."""
    said = [
        EventLine(AT, EventType.LOG, "info", f"line {number}{' needle' if number % EVERY == 0 else ''}")
        for number in range(1, LINES + 1)
    ]
    parts = [said[start : start + CHUNK_LINES] for start in range(0, LINES, CHUNK_LINES)]
    firsts = range(FIRST, FIRST + LINES, CHUNK_LINES)
    chunks = [
        (run, first, "default", first + len(part) - 1, pack(part)) for first, part in zip(firsts, parts, strict=True)
    ]
    last = FIRST + LINES
    with closing(sqlite3.connect(house.home / "foliot.db", timeout=SECONDS)) as database, database:
        database.execute("DELETE FROM log_chunks WHERE run_id = ?", (run,))
        database.executemany(
            "INSERT INTO log_chunks (run_id, first_seq, tenant_id, last_seq, data) VALUES (?, ?, ?, ?, ?)", chunks
        )
        database.execute("UPDATE runs SET event_seq = ?, final_seq = ? WHERE id = ?", (last, last, run))
        database.execute("UPDATE attempts SET ended_seq = ? WHERE run_id = ?", (last, run))
