"""Everything without a pointer."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.house import House
from tests.browser.asking import told
from tests.browser.conftest import Open

pytestmark = pytest.mark.timeout(240)


def active(page: Page) -> str | None:
    """The row under the cursor."""
    found: str | None = page.evaluate("document.querySelector('[data-active]')?.dataset.id ?? null")
    return found


def focused(page: Page) -> str:
    """What has the focus, by its name."""
    named = "e => e?.ariaLabel || e?.labels?.[0]?.innerText || e?.innerText || ''"
    return str(page.evaluate(f"({named})(document.activeElement)")).strip()


def tab_to(page: Page, name: str, limit: int = 40) -> None:
    for _ in range(limit):
        page.keyboard.press("Tab")
        if re.fullmatch(name, focused(page), re.DOTALL):
            return
    raise AssertionError(f"no {name} within {limit} presses of Tab; the focus is on {focused(page)!r}")


def test_lists_pages_and_the_sheet(demo: House, tab: Open) -> None:
    page = tab(demo).go("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(page.get_by_role("heading", level=1)).to_have_text("Schedules")
    rows = page.get_by_label("Schedules", exact=True).locator("[data-id]")
    expect(rows.first).to_be_visible()

    page.keyboard.press("j")
    page.keyboard.press("j")
    second = active(page)
    assert second == rows.nth(1).get_attribute("data-id")
    page.keyboard.press("k")
    assert active(page) == rows.nth(0).get_attribute("data-id")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("Shift+X")
    expect(page.get_by_role("region", name="Selection")).to_contain_text("2 selected")
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Selection")).to_have_count(0)

    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet).to_contain_text("select up to here")
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    assert active(page) == second, "keys act below a dialog"
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/schedules/{second}$"))


def test_a_filter_is_typed_with_help_and_keys_rest_meanwhile(demo: House, tab: Open) -> None:
    page = tab(demo).go("/runs")
    expect(page.get_by_label("Runs", exact=True).locator("[data-id]").first).to_be_visible()
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Filter")
    expect(box).to_be_focused()
    page.keyboard.type("sta")
    expect(page.get_by_role("option", name=re.compile("^state:"))).to_be_visible()
    page.keyboard.press("Tab")
    expect(box).to_have_value("state:")
    # At once: whoever knows what will be offered does not wait to see it.
    page.keyboard.type("fail")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("state:failed"))
    expect(page.get_by_text(re.compile(r"^3 matching$"))).to_be_visible()


def test_a_suggestion_for_fewer_letters_is_not_taken(demo: House, tab: Open) -> None:
    opened = tab(demo)
    # Only the question without a letter is ever answered.
    opened.page.route(re.compile(r"/api/suggest\?.*prefix=\w"), lambda _: None)
    page = opened.go("/runs")
    page.get_by_role("combobox", name="Filter").focus()
    page.keyboard.type("schedule:")
    expect(page.get_by_role("option", name=re.compile("^health-check"))).to_be_visible()
    page.keyboard.type("mon")
    page.keyboard.press("Tab")
    expect(page).to_have_url(re.compile("schedule:month-end"))


def test_the_palette_finds_and_goes(demo: House, tab: Open) -> None:
    page = tab(demo).go("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    # Slowly, so that what was found for the first letters is there while the last ones are typed.
    page.keyboard.type("stock-sync", delay=250)
    expect(page.get_by_role("option", name=re.compile("stock-sync")).first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("stock-sync")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").get_by_role("combobox")).to_be_focused()
    # What was found for "qu" is another thing, and not gone to.
    page.keyboard.type("qu")
    expect(page.get_by_role("option", name=re.compile("quick-check")).first).to_be_visible()
    page.keyboard.type("eues")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Queues & workers")


def test_a_schedule_is_made_and_deleted_by_keys_alone(demo: House, tab: Open) -> None:
    page = tab(demo).go("/schedules")
    expect(page.get_by_label("Schedules", exact=True).locator("[data-id]").first).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_role("heading", level=1)).to_contain_text("New schedule")
    expect(page.get_by_label("URL")).not_to_have_value("")
    tab_to(page, "Name")
    page.keyboard.press("Control+a")
    page.keyboard.type("by keys alone")
    tab_to(page, re.escape("When (plain English)"))
    page.keyboard.press("Control+a")
    page.keyboard.type("every day at 02:30")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("by keys alone")
    made = told(demo, "/api/schedules", q="by keys alone")["items"][0]
    assert made["cron_expr"] == "30 2 * * *"

    page.keyboard.press("p")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.keyboard.type("for a while")
    page.keyboard.press("Enter")
    expect(page.get_by_role("note")).to_contain_text("for a while")

    tab_to(page, "More actions")
    page.keyboard.press("Enter")
    # The first that can be chosen: a paused schedule has no next instant to skip.
    expect(page.locator("[role=menuitem]:focus")).to_be_visible()
    page.keyboard.press("End")
    expect(page.get_by_role("menuitem").last).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Delete by keys alone")).to_be_visible()
    page.keyboard.type("by keys alone")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/schedules$"))
    assert told(demo, "/api/schedules", q="by keys alone")["items"] == []


def test_a_dialog_gives_the_focus_back(demo: House, tab: Open) -> None:
    page = tab(demo).go("/dead-letters")
    for name in ("Mute…", "Edit & replay", "Discard…"):
        opener = page.get_by_role("button", name=name, exact=True).first
        opener.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(opener).to_be_focused()
