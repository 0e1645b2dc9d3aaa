"""Live updates while a page is open: nothing moves under the pointer, and nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.acceptance.house import House
from tests.browser.asking import ended, run_now, run_task, soon, told, webhook
from tests.browser.conftest import GONE, Open, a_house

pytestmark = pytest.mark.timeout(240)

RATE = 10
LINES = "[data-seq]"
PLACES = "rows => rows.slice(0, 12).map((row) => [row.dataset.id, row.getBoundingClientRect().top])"


@contextmanager
def arriving(house: House) -> Iterator[None]:
    """Ten runs each second, to the echo receiver."""
    made = [
        webhook(house, f"each second {number}", f"{house.environ['FOLIOT_URL']}/api/echo/x", type="interval",
                run_at=None, interval_seconds=1)
        for number in range(RATE)
    ]  # fmt: skip
    try:
        yield
    finally:
        for one in made:
            told(house, f"/api/schedules/{one}", method="DELETE")


def rows(page: Page, label: str = "Runs") -> Locator:
    return page.get_by_label(label, exact=True).locator("[data-id]")


def live(page: Page) -> Locator:
    return page.get_by_role("status").filter(has_text=re.compile("^(Live|Reconnecting|Offline|Connecting)"))


def waiting(page: Page) -> Locator:
    return page.get_by_role("button", name=re.compile(r"▲ [\d,+]+ new"))


def test_a_list_stands_still_while_ten_runs_a_second_arrive(busy: House, tab: Open) -> None:
    opened = tab(busy)
    with arriving(busy):
        soon(opened.page, lambda: told(busy, "/api/runs/count")["count"], lambda made: made > 2 * RATE)
        page = opened.go("/runs")
        expect(rows(page).nth(11)).to_be_visible()
        page.mouse.move(600, 500)
        page.keyboard.press("/")
        # What came until the pointer was there is still let in.
        expect(waiting(page)).to_be_visible()
        before = rows(page).evaluate_all(PLACES)
        page.keyboard.type("state:success kind:web", delay=80)
        expect(waiting(page)).to_have_text("▲ 50+ new")

        assert rows(page).evaluate_all(PLACES) == before, "rows moved"
        expect(page.get_by_role("combobox", name="Filter")).to_have_value("state:success kind:web")
        page.keyboard.type("hook")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("kind:webhook"))
        expect(waiting(page)).to_be_visible()
    soon(page, lambda: told(busy, "/api/runs/count", q="state:queued,running")["count"], lambda left: left == 0)
    asked = told(busy, "/api/runs", q="state:success kind:webhook", limit=10)["items"]
    expect(waiting(page)).to_be_visible()
    newest = asked[0]["id"]

    def let_in() -> str | None:
        if waiting(page).count():
            waiting(page).click()
        return rows(page).first.get_attribute("data-id")

    assert soon(page, let_in, lambda first: first == newest) == newest
    shown = rows(page).evaluate_all("rows => rows.slice(0, 10).map((row) => row.dataset.id)")
    assert shown == [one["id"] for one in asked], "something is lost"


def test_a_log_is_read_in_peace_while_it_grows(busy: House, tab: Open) -> None:
    run = run_task(busy, "write_slowly", count=3000, pause=0.02)
    page = tab(busy).go(f"/runs/{run}")
    log = page.get_by_role("log")
    expect(page.get_by_text(re.compile("following · "))).to_be_visible()
    expect(log.get_by_text("tick 120", exact=True)).to_be_visible()
    log.hover()
    page.mouse.wheel(0, -400)
    expect(page.get_by_text("not following")).to_be_visible()
    places = "rows => rows.map((row) => [row.dataset.seq, row.getBoundingClientRect().top])"
    inside = log.locator(LINES)
    before = dict(inside.evaluate_all(places))
    expect(page.get_by_role("button", name=re.compile(r"▼ \d\d+ new lines"))).to_be_visible()
    after = dict(inside.evaluate_all(places))

    kept = before.keys() & after.keys()
    assert kept
    assert {seq: after[seq] for seq in kept} == {seq: before[seq] for seq in kept}, "lines moved"
    page.keyboard.press("f")
    expect(page.get_by_text(re.compile("following · "))).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("ended", exact=True)).to_be_visible()
    total = told(busy, f"/api/runs/{run}/logs", limit=1)
    expect(log.locator(f"[data-seq='{total['last_seq']}']")).to_be_visible()
    expect(page.get_by_label("Search the log")).to_have_attribute("placeholder", f"Search {total['total']:,} lines")


def test_eight_tabs_are_live_at_once(busy: House, tab: Open) -> None:
    """Browsers allow six connections to a host; a stream per tab would leave two of them waiting."""
    schedule = webhook(busy, "for eight", f"{busy.environ['FOLIOT_URL']}/api/echo/x")
    first = tab(busy)
    first.go(f"/runs?q=schedule:{schedule}")
    others = [first.page.context.new_page() for _ in range(7)]
    for page in others:
        page.goto(first.page.url)
    for page in (first.page, *others):
        expect(live(page)).to_have_text("Live")
        expect(page.get_by_text("No runs match this filter")).to_be_visible()
    run = run_now(busy, schedule)
    for page in (first.page, *others):
        expect(rows(page)).to_have_count(1)
        assert rows(page).first.get_attribute("data-id") == run


def test_offline_and_back(browser: Browser, tmp_path: Path, tab: Open) -> None:
    with a_house(tmp_path / "home") as house:
        schedule = webhook(house, "before and after", f"{house.environ['FOLIOT_URL']}/api/echo/x")
        opened = tab(house)
        opened.forgiven += GONE
        first = run_now(house, schedule)
        page = opened.go("/runs")
        expect(rows(page)).to_have_count(1)
        expect(live(page)).to_have_text("Live")

        (process,) = house.processes
        process.kill()
        process.wait()
        expect(live(page)).to_have_text(re.compile("Reconnecting"))
        expect(live(page)).to_have_text(re.compile(r"Offline – data from \d\d:\d\d:\d\d, retrying in \d+ s"))
        assert rows(page).first.get_attribute("data-id") == first, "what was known stays"

        house.start("up", "--port", house.port, lines=3)
        second = run_now(house, schedule)
        expect(live(page)).to_have_text("Live")
        # After a gap the list is read anew; a run that came later waits above it.
        expect(waiting(page).or_(rows(page).nth(1))).to_be_visible()
        if rows(page).count() == 1:
            waiting(page).click()
        expect(rows(page)).to_have_count(2)
        assert rows(page).first.get_attribute("data-id") == second


def test_a_page_that_was_not_loaded_before_the_server_went_says_so(browser: Browser, tmp_path: Path, tab: Open) -> None:
    with a_house(tmp_path / "home") as house:
        opened = tab(house)
        opened.forgiven += ["ERR_", "WebSocket", "Cannot reach"]
        opened.page.route("**/assets/Calendar-*.js", lambda route: route.abort())
        page = opened.go("/runs")
        expect(live(page)).to_have_text("Live")
        (process,) = house.processes
        process.kill()
        process.wait()
        page.get_by_role("link", name="Calendar").click()
        expect(page.get_by_role("alert")).to_contain_text("This page could not load while the server is offline")
        expect(page.get_by_role("navigation", name="Pages")).to_be_visible()

        page.unroute("**/assets/Calendar-*.js")
        house.start("up", "--port", house.port, lines=3)
        expect(page.get_by_role("heading", level=1)).to_have_text("Calendar")


def test_another_zone_changes_every_clock(busy: House, tab: Open) -> None:
    schedule = webhook(busy, "by the clock", f"{busy.environ['FOLIOT_URL']}/api/echo/x", timezone="Europe/Stockholm")
    page = tab(busy).page
    page.goto(busy.environ["FOLIOT_URL"])
    run = ended(busy, page, run_now(busy, schedule))
    page.goto(f"{busy.environ['FOLIOT_URL']}/runs/{run['id']}")
    log = page.get_by_role("log").locator(LINES)
    line = told(busy, f"/api/runs/{run['id']}/logs")["items"][0]
    for zone, mark in (("Europe/Stockholm", "CES?T"), ("Asia/Tokyo", "JST|UTC\\+9")):
        if zone != "Europe/Stockholm":
            page.get_by_role("button", name=re.compile("time zone", re.IGNORECASE)).click()
            page.get_by_placeholder("City, abbreviation or offset").fill("Tokyo")
            page.keyboard.press("Enter")
        expect(log.first).to_contain_text(f"{local(line['at'], zone):%H:%M:%S}")
        for moment in ("started_at", "finished_at"):
            clock = f"{local(run[moment], zone):%H:%M:%S}"
            expect(page.get_by_text(re.compile(f"^{moment[:-3]}.*{clock} ({mark})"))).to_be_visible()
        expect(page.get_by_text(re.compile(f"^times in ({mark})"))).to_be_visible()
        expect(page.get_by_role("navigation", name="Pages")).to_contain_text(
            re.compile(f"\\d\\d:\\d\\d:\\d\\d ({mark})")
        )
    page.reload()
    expect(log.first).to_contain_text(f"{local(line['at'], 'Asia/Tokyo'):%H:%M:%S}")
    page.goto(f"{busy.environ['FOLIOT_URL']}/schedules/{schedule}")
    expect(page.get_by_text(re.compile("JST|UTC\\+9")).first).to_be_visible()


def local(at: str, zone: str) -> datetime:
    return datetime.fromisoformat(at).astimezone(ZoneInfo(zone))
