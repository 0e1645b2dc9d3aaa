"""What is wrong, hostile or too large has an answer that was thought of."""

from __future__ import annotations

import re

import orjson
import pytest
from playwright.sync_api import Page, expect

from foliot.features.tasks.run.call import LARGEST
from tests.acceptance.house import House
from tests.browser.asking import ended, run_task, told
from tests.browser.chores import TRAP
from tests.browser.conftest import Open

pytestmark = pytest.mark.timeout(240)


def unharmed(page: Page) -> bool:
    """Nothing that came from outside was made into an element, and none of it ran."""
    return bool(page.evaluate("!('pwned' in window) && !document.querySelector('#made, img[src*=nowhere]')"))


def test_a_filter_with_a_typo_says_where_and_what_was_meant(busy: House, tab: Open) -> None:
    opened = tab(busy)
    opened.forgiven.append("422")
    page = opened.go("/runs")
    box = page.get_by_role("combobox", name="Filter")
    box.fill("kind:webhook stat:failed")
    box.press("Enter")

    said = page.get_by_role("alert")
    expect(said).to_contain_text("stat")
    assert said.locator("pre").inner_text().splitlines()[1].index("^") == len("kind:webhook ")
    expect(box).to_have_value("kind:webhook stat:failed")
    said.get_by_role("button", name=re.compile("^Use")).click()
    expect(box).to_have_value("kind:webhook state:failed")
    expect(said).to_have_count(0)


def test_a_cron_with_a_typo_has_a_caret_and_a_suggestion(busy: House, tab: Open) -> None:
    opened = tab(busy)
    opened.forgiven.append("422")
    page = opened.go("/schedules/new")
    cron = page.get_by_label("Cron", exact=True)
    cron.fill("61 2 * * *")

    said = page.get_by_role("alert")
    expect(said).to_contain_text("61")
    caret = said.locator("pre").inner_text().splitlines()[1]
    assert (caret.index("^"), caret.count("^")) == (0, 2)
    # And beside the times that it would have, which are in sight wherever the form is scrolled to.
    preview = page.locator("section").filter(has=page.get_by_role("heading", name="Preview"))
    expect(preview).to_contain_text("'61' is not within 0-59")
    page.get_by_label("Name", exact=True).fill("never saved")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(cron).to_be_focused()
    assert told(busy, "/api/schedules", q="never saved")["items"] == []
    said.get_by_role("button", name="1 2 * * *").click()
    expect(cron).to_have_value("1 2 * * *")
    expect(said).to_have_count(0)


def test_words_that_nobody_understands_are_pointed_at(busy: House, tab: Open) -> None:
    opened = tab(busy)
    opened.forgiven.append("422")
    page = opened.go("/schedules/new")
    page.get_by_label("When (plain English)").fill("every tuseday at 9")

    said = page.get_by_role("alert")
    expect(said.locator("pre")).to_contain_text("^")
    said.get_by_role("button", name="every tuesday at 9").click()
    expect(page.get_by_label("Cron", exact=True)).to_have_value("0 9 * * 2")


def test_a_log_is_text_whatever_it_holds(busy: House, tab: Open) -> None:
    opened = tab(busy)
    opened.forgiven.append("422")
    run = ended(busy, opened.page, run_task(busy, "set_a_trap"))
    page = opened.go(f"/runs/{run['id']}")
    log = page.get_by_role("log")

    expect(log.get_by_text(TRAP)).to_be_visible()
    long = log.locator("[data-seq]").nth(1)
    expect(long).to_contain_text("red and xxx")
    assert "\x1b" not in long.inner_text()
    assert long.get_by_text("red", exact=True).evaluate("e => getComputedStyle(e).color") != long.evaluate(
        "e => getComputedStyle(e).color"
    )
    page.keyboard.press("w")
    long.get_by_text("red", exact=True).click()
    expect(page.get_by_label(re.compile(r"^Line \d+"))).to_contain_text("16,0")
    page.get_by_role("tab", name="Result").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("<script>")
    assert unharmed(page)
    page.goto(f"{busy.environ['FOLIOT_URL']}/runs?q={TRAP[:40]}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
    assert unharmed(page)


def test_names_from_outside_are_text_too(busy: House, tab: Open) -> None:
    document = {"name": TRAP[:200], "type": "oneoff", "run_at": "2999-01-01T00:00:00Z", "description": TRAP}
    made = told(busy, "/api/schedules", document | {"action": {"kind": "webhook", "url": "http://127.0.0.1:9/"}})
    page = tab(busy).go(f"/schedules/{made['id']}")

    expect(page.get_by_role("heading", level=1)).to_contain_text("<script>")
    page.goto(f"{busy.environ['FOLIOT_URL']}/schedules")
    expect(page.get_by_role("link", name=re.compile("<script>")).first).to_be_visible()
    assert unharmed(page)
    told(busy, f"/api/schedules/{made['id']}", method="DELETE")


def test_a_result_of_fifty_mebibytes_does_not_hurt(busy: House, tab: Open) -> None:
    opened = tab(busy)
    run = ended(busy, opened.page, run_task(busy, "return_much", mebibytes=50))
    page = opened.go(f"/runs/{run['id']}?tab=result")

    panel = page.get_by_role("tabpanel")
    expect(panel.get_by_role("note")).to_contain_text("The result is too large to keep: 50.1 MB")
    expect(panel).to_contain_text(run["result"]["start"][:500])
    expect(panel).not_to_contain_text("truncated")
    assert len(panel.inner_text()) < 10_000
    assert run["result"]["bytes"] > 50 * 1024 * 1024


def test_a_result_as_large_as_can_be_is_shown_bit_by_bit(busy: House, tab: Open) -> None:
    opened = tab(busy)
    run = ended(busy, opened.page, run_task(busy, "return_exactly", size=LARGEST))
    assert len(orjson.dumps(run["result"])) == LARGEST
    page = opened.go(f"/runs/{run['id']}?tab=result")
    shown = page.get_by_role("tabpanel").locator("pre")

    expect(page.get_by_text("The first 64.0 KB of")).to_be_visible()
    assert shown.evaluate("e => e.textContent.length") == 64 * 1024
    expect(page.get_by_role("note")).to_have_count(0)
    page.get_by_role("button", name="Show more").click()
    expect(page.get_by_text("The first 64.0 KB of")).to_have_count(0)
    assert orjson.loads(shown.evaluate("e => e.textContent")) == run["result"]
    over = ended(busy, page, run_task(busy, "return_exactly", size=LARGEST + 1))
    assert over["result"]["bytes"] == LARGEST + 1, "one byte more is cut"


def test_what_is_not_there_is_said_so(busy: House, tab: Open) -> None:
    opened = tab(busy)
    opened.forgiven.append("404")
    page = opened.go("/runs/run_01a1e32d09777466ac16d7e3dd3fae31")
    expect(page.get_by_text("No run run_01a1e32d")).to_be_visible()
    page = opened.go("/nowhere/at/all")
    expect(page.get_by_role("heading")).to_be_visible()
