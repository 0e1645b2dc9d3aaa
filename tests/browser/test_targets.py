"""What a person does about a target of webhooks, and how they take an edit back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.house import House
from tests.browser.asking import ended, run_now, soon, told, webhook
from tests.browser.conftest import Open

pytestmark = pytest.mark.timeout(240)


def choose(page: Page, url: str, what: str) -> None:
    page.get_by_role("button", name=f"Actions for {url}").click()
    page.get_by_role("menuitem", name=what).click()


def test_a_target_is_tried_out_recovered_and_disabled(busy: House, tab: Open) -> None:
    target = "http://127.0.0.1:9/targets"
    schedule = webhook(busy, "towards the target", target)
    page = tab(busy).go("/endpoints")
    letter = run_now(busy, schedule)
    assert ended(busy, page, letter)["state"] == "dead_letter"
    page = tab(busy).go("/endpoints")
    expect(page.get_by_role("row").filter(has_text="/targets")).to_contain_text("none")

    choose(page, target, "Send test")
    page.get_by_role("button", name="View run").click()
    expect(page).to_have_url(re.compile("/runs/run_"))
    tried = ended(busy, page, page.url.rpartition("/")[2])
    assert (tried["state"], tried["schedule_id"], tried["attempt"]) == ("failed", None, 1)

    page = tab(busy).go("/endpoints")
    choose(page, target, "Recover failures…")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("1 dead letter", exact=True)).to_be_visible()
    expect(dialog.get_by_text("0 failed runs without a dead letter")).to_be_visible()
    dialog.get_by_role("button", name="Replay…").click()
    page.get_by_role("dialog").get_by_role("button", name="Replay 1").click()
    found = f"parent:{letter} origin:replay"
    soon(page, lambda: told(busy, "/api/runs", q=found)["items"], lambda items: len(items) == 1)
    page.keyboard.press("Escape")

    choose(page, target, "Disable…")
    page.get_by_role("dialog").get_by_role("button", name="Pause 1 schedule").click()
    paused = soon(page, lambda: told(busy, f"/api/schedules/{schedule}"), lambda one: one["status"] == "paused")
    assert paused["paused_by"] == "local"


def test_an_edit_is_taken_back_where_it_is_written_down(busy: House, tab: Open) -> None:
    schedule = webhook(busy, "before the edit", "http://127.0.0.1:9/edited")
    told(busy, f"/api/schedules/{schedule}", {"name": "after the edit", "priority": 9}, method="PATCH")
    opened = tab(busy)
    opened.forgiven.append("409")
    page = opened.go(f"/audit-log?thing=schedule&thing_id={schedule}")
    edit = page.get_by_role("listitem").filter(has_text="patch").filter(has_text="after the edit").first

    edit.get_by_role("button", name="Show changes").click()
    page.get_by_role("button", name="Revert…").click()
    page.get_by_role("dialog").get_by_role("button", name="Revert").click()

    expect(page.get_by_text("Reverted before the edit")).to_be_visible()
    now = told(busy, f"/api/schedules/{schedule}")
    assert (now["name"], now["priority"]) == ("before the edit", 5)

    page.get_by_role("button", name="Revert…").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Revert").click()
    expect(page.get_by_text("was changed since")).to_be_visible()
    expect(page.get_by_role("button", name="View").first).to_be_visible()
    assert told(busy, f"/api/schedules/{schedule}")["version"] == now["version"]
