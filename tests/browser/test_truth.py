"""What is seen is what the API says, and every number leads to the list that proves it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.acceptance.house import House
from tests.browser.asking import run_now, soon, told, webhook
from tests.browser.conftest import Open

pytestmark = pytest.mark.timeout(240)


def count(house: House, q: str) -> dict[str, Any]:
    found: dict[str, Any] = told(house, "/api/runs/count", q=q)
    return found


def grouped(number: int) -> str:
    """As a page writes it."""
    return f"{number:,}"


def query(link: Locator) -> str:
    """The filter that a link carries."""
    return parse_qs(urlsplit(link.get_attribute("href") or "").query)["q"][0]


def settled(page: Page, heading: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def test_the_overview_counts_what_the_api_counts(demo: House, tab: Open) -> None:
    page = tab(demo).go("/")
    said = count(demo, "since:24h")
    card = page.get_by_role("heading", name=re.compile(r"^Runs, last 24")).locator("xpath=..")
    link = card.get_by_role("link")

    expect(link).to_have_text(grouped(said["count"]))
    assert count(demo, query(link))["count"] == said["count"]
    link.click()
    expect(page.get_by_text(f"{grouped(said['count'])} matching")).to_be_visible()


def test_what_needs_attention_is_what_the_api_says(demo: House, tab: Open) -> None:
    said = told(demo, "/api/attention")["items"]
    page = tab(demo).go("/")

    expect(page.get_by_role("heading", name=f"Needs attention ({len(said)})")).to_be_visible()
    for one in said:
        item = page.get_by_role("listitem").filter(has=page.get_by_role("link", name=one["title"], exact=True))
        expect(item.first).to_contain_text(one["reason"])


def test_each_chip_of_the_runs_has_its_count_and_its_list(demo: House, tab: Open) -> None:
    page = tab(demo).go("/runs?q=until:1h")
    said = count(demo, "until:1h")
    chips = page.get_by_label("By state")

    expect(chips.get_by_role("button", name=f"All {grouped(said['count'])}")).to_be_visible()
    for state, number in said["by_state"].items():
        expect(chips.get_by_role("button", name=f"{state.replace('_', ' ')} {grouped(number)}")).to_be_visible()
    chips.get_by_role("button", name=re.compile("^failed|failed \\d")).click()
    expect(page).to_have_url(re.compile("state:failed"))
    rows = page.get_by_label("Runs", exact=True).locator("[data-id]")
    expect(rows).to_have_count(said["by_state"]["failed"])
    expected = [one["id"] for one in told(demo, "/api/runs", q="state:failed until:1h", limit=50)["items"]]
    assert rows.evaluate_all("rows => rows.map((row) => row.dataset.id)") == expected


def test_dead_letters_and_their_badge_are_counted_alike(demo: House, tab: Open) -> None:
    page = tab(demo).go("/dead-letters")
    groups = told(demo, "/api/dead-letters/groups")
    letters = sum(one["count"] for one in groups["items"])
    settled(page, "Dead letters")

    link = page.get_by_role("link", name=re.compile(r"\d+ in \d+ group"))
    expect(link).to_contain_text(f"{letters} in {groups['total']}")
    assert count(demo, query(link))["count"] == letters
    badge = page.get_by_role("navigation", name="Pages").get_by_role("link", name=re.compile("^Dead letters"))
    expect(badge).to_contain_text(str(letters))
    for one in groups["items"]:
        expect(page.get_by_role("region", name=f"{one['count']} × {one['message']}")).to_be_visible()


def test_queues_show_what_waits_and_lead_there(own: House, tab: Open) -> None:
    told(own, "/api/queues/manual/pause", {"reason": "to count"})
    schedule = webhook(own, "waits", "http://127.0.0.1:9/")
    for _ in range(3):
        run_now(own, schedule)
    page = tab(own).go("/queues")

    row = page.get_by_label("Queues", exact=True).locator("[data-id=manual]")
    waiting = row.get_by_role("link").first
    expect(waiting).to_have_text("3", use_inner_text=True)
    said = next(one for one in told(own, "/api/queues")["items"] if one["name"] == "manual")
    assert said["depth"] == count(own, query(waiting))["count"] == 3
    waiting.click()
    expect(page.get_by_label("Runs", exact=True).locator("[data-id]")).to_have_count(3)


def test_the_history_of_a_queue_is_kept_by_the_server(own: House, tab: Open) -> None:
    opened = tab(own)
    page = opened.page
    history = soon(
        page, lambda: told(own, "/api/queues/history", range="24h"), lambda said: said["slots"][-1] is not None
    )
    assert history["slots"][-1] == 100

    opened.go("/queues?queue=default")
    page.get_by_role("group", name="Range").get_by_role("button", name="7 d").click()

    expect(page).to_have_url(re.compile("range=7d"))
    expect(page.get_by_role("img", name="Slots busy, of 100 in all queues")).to_be_visible()
    page.get_by_role("button", name="View as table").click()
    # One hour was sampled: it has a row, and the hours before have none.
    expect(page.locator("table tbody tr")).to_have_count(1)
