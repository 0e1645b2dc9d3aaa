"""The newcomer's first five minutes: my own schedule fired, I saw its log, I broke it, I mended it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.acceptance.house import SECONDS, House
from tests.browser.asking import told
from tests.browser.conftest import Open, a_house

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def closed() -> Iterator[str]:
    """An address where nothing listens, and nothing will while the test lasts."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/"


@pytest.fixture
def house(browser: Browser, tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path / "home", "--demo") as made:
        yield made


def test_the_first_five_minutes(house: House, tab: Open, closed: str) -> None:
    page = tab(house).go("/")
    expect(page.get_by_label("Demo", exact=True)).to_contain_text(re.compile("Demo data is on: 1[2-9] schedules"))

    _mend_what_fails(page, house)
    _make_a_schedule(page, house)
    _see_it_fire(page, house)
    letters = _badge(page)
    letter = _break_it(page, closed, letters)
    _put_it_right(page, house, letter, letters)
    _take_a_key(page)


def test_the_demo_goes_with_one_click_also_from_under_a_reader(house: House, tab: Open) -> None:
    run = told(house, "/api/runs", q="schedule:quick-check", limit=1)["items"][0]["id"]
    reader = tab(house)
    reader.forgiven.append("404")
    reading = reader.go(f"/runs/{run}")
    expect(_state(reading, "success")).to_be_visible()
    other = tab(house)
    other.forgiven.append("404")
    page = other.go("/")
    page.get_by_role("button", name="Remove demo").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove demo").click()
    expect(page.get_by_label("Demo", exact=True)).to_have_count(0)

    # As a browser tells a page that its reader is back.
    reading.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    expect(reading.get_by_role("alert")).to_contain_text("This run has been deleted")
    expect(_state(reading, "success")).to_be_visible()
    expect(reading.get_by_role("button", name=re.compile("^Replay"))).to_be_disabled()
    reading.reload()
    expect(reading.get_by_text(f"No run {run}")).to_be_visible()


def _mend_what_fails(page: Page, house: House) -> None:
    """The failing run, why it failed, its log, and the same again."""
    heading = page.get_by_role("heading", name=re.compile("^Needs attention"))
    attention = page.locator("section").filter(has=heading)
    expect(attention.get_by_role("link", name="37 dead letters")).to_be_visible()
    attention.get_by_role("link", name="nightly-prices", exact=True).click()

    why = page.get_by_label("Why it failed")
    expect(why).to_contain_text("429 Too Many Requests")
    expect(why).to_contain_text("all 3 attempts")
    why.get_by_role("button", name="Jump to error").click()
    expect(page).to_have_url(re.compile(r"#L\d+$"))
    said = page.url.rsplit("#L", 1)[1]
    expect(page.get_by_role("log").locator(f'[data-seq="{said}"]')).to_contain_text("429")

    failed = page.url
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page).not_to_have_url(failed)
    expect(page.get_by_text("Replayed as run_")).to_be_visible()
    expect(_state(page, "success")).to_be_visible()
    run = told(house, f"/api/runs/{_run_on(page.url)}")
    assert (run["state"], run["parent_id"]) == ("success", _run_on(failed))


def _make_a_schedule(page: Page, house: House) -> None:
    """In words, to the receiver that is there for first tries."""
    page.keyboard.press("n")
    expect(page.get_by_role("radio", name="Call a webhook")).to_be_checked()
    expect(page.get_by_label("URL")).to_have_value(f"{house.environ['FOLIOT_URL']}/api/echo/hello")
    page.get_by_label("Name", exact=True).fill("mine")
    preview = page.get_by_role("heading", name="Preview").locator("xpath=ancestor::section[1]")
    page.get_by_label("When (plain English)").fill("every minute")
    expect(page.get_by_label("Cron", exact=True)).to_have_value("* * * * *")
    expect(preview.get_by_role("row")).to_have_count(7)
    # A minute is long for a test.
    page.get_by_label("When (plain English)").fill("every 2 seconds")
    expect(page.get_by_label("Cron", exact=True)).to_have_value("*/2 * * * * *")
    page.locator("summary", has_text="Retries").click()
    page.get_by_label("Retries", exact=True).fill("1")
    page.get_by_label("First delay (s)").fill("4")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("mine")
    page.get_by_role("button", name="Copy as").click()
    # What was just done, and what can be done next.
    said, url = page.get_by_label("Copy as"), house.environ["FOLIOT_URL"]
    expect(said).to_contain_text(re.compile(rf'"name":"mine".*"cron_expr":"\*/2.*{url}/api/schedules(?!/)', re.DOTALL))
    said.get_by_role("button", name="Run now").click()
    expect(said).to_contain_text(f"{url}/api/schedules/sch_")
    page.keyboard.press("Escape")


def _see_it_fire(page: Page, house: House) -> None:
    """A tick slides in; what was asked and answered can be read, and the terminal says the same."""
    fired = page.get_by_role("link", name=re.compile("success.*took"))
    fired.first.click()
    expect(_state(page, "success")).to_be_visible()
    run = page.url.split("/runs/")[1].split("?")[0]
    page.get_by_role("tab", name="Attempts").click()
    expect(page.get_by_role("tabpanel")).to_contain_text('"status": 200')
    expect(page.get_by_role("tabpanel")).to_contain_text('"hello":"world"')
    page.get_by_role("tab", name="Payload").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("/api/echo/hello")
    page.get_by_role("tab", name="Log").click()
    lines = page.get_by_role("log").locator("[data-seq]")
    expect(lines).to_have_count(2)
    seen = [text.split("\n")[-1] for text in lines.all_inner_texts()]
    events = map(json.loads, house.run("run", "logs", run, "--json").stdout.splitlines())
    assert seen == [event["message"] for event in events if event["type"] == "log"]


def _break_it(page: Page, closed: str, letters: int) -> str:
    """Nothing listens there: it tries again, says when, and gives up. The letter's id."""
    _edit_url(page, closed, seldom=True)
    page.keyboard.press("r")
    page.get_by_role("button", name="View run").click()
    expect(_state(page, "retrying")).to_be_visible()
    expect(page.get_by_text(re.compile(r"next attempt\s*in \d s"))).to_be_visible()
    expect(_state(page, "dead letter")).to_be_visible()
    expect(_nav(page, "Dead letters")).to_have_text(_counting(letters + 1))
    return _run_on(page.url)


def _put_it_right(page: Page, house: House, letter: str, letters: int) -> None:
    """A replay follows the schedule as it is now, so that mending it is enough; the letter goes when it succeeds."""
    _edit_url(page, f"{house.environ['FOLIOT_URL']}/api/echo/hello")
    _nav(page, "Dead letters").click()
    groups = page.get_by_role("region").filter(has=page.get_by_role("button", name=re.compile("^Replay")))
    mine = groups.filter(has=page.get_by_role("link", name="mine", exact=True))
    expect(mine).to_have_count(1)
    others = groups.count() - 1
    assert others > 0
    mine.get_by_role("button", name="Replay 1").click()
    dialog = page.get_by_role("dialog", name="Replay dead letters")
    expect(dialog).to_contain_text("1 will be sent to 127.0.0.1 · no duplicates")
    expect(dialog).to_contain_text("Uses the current settings: version 3; it failed with version 2.")
    assert told(house, f"/api/runs/{letter}")["resolved_by"] is None
    dialog.get_by_role("button", name="Replay 1").click()
    expect(dialog.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "1")
    expect(dialog).to_contain_text("1 success")
    dialog.get_by_role("button", name="Done").click()
    expect(mine).to_have_count(0)
    expect(groups).to_have_count(others)
    expect(_nav(page, "Dead letters")).to_have_text(_counting(letters))
    replay = told(house, f"/api/runs/{told(house, f'/api/runs/{letter}')['resolved_by']}")
    assert (replay["state"], replay["origin"], replay["schedule_version"]) == ("success", "replay", 3)


def _take_a_key(page: Page) -> None:
    """Shown once, with a command that works as it is pasted."""
    page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/", 3)[2] + "/settings/keys")
    page.get_by_role("button", name="Create key").click()
    dialog = page.get_by_role("dialog", name="Create API key")
    dialog.get_by_label("Name").fill("deploys")
    dialog.get_by_role("button", name="Create key").click()
    codes = dialog.locator("code")
    expect(codes).to_have_count(3)
    _, export, curl = codes.all_inner_texts()
    done = subprocess.run(
        ["bash", "-c", f"{export}\n{curl}"], capture_output=True, text=True, timeout=SECONDS, check=True
    )
    assert "mine" in {one["name"] for one in json.loads(done.stdout)["items"]}


def _edit_url(page: Page, url: str, *, seldom: bool = False) -> None:
    page.get_by_role("heading", level=1).get_by_role("link", name="mine").click()
    expect(page).to_have_url(re.compile("/schedules/"))
    page.get_by_role("button", name=re.compile("^Edit( e)?$")).click()
    page.get_by_label("URL").fill(url)
    if seldom:
        # From here on it runs when it is told to, so that letters can be counted.
        page.get_by_role("radio", name="Interval").click()
        expect(page.get_by_label("Unit")).to_have_value("hours")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name=re.compile("^Run now"))).to_be_visible()


def _run_on(url: str) -> str:
    return re.split(r"[?#]", url.split("/runs/")[1])[0]


def _counting(letters: int) -> re.Pattern[str]:
    """The whole number, and none that it is a part of."""
    return re.compile(rf"(?<!\d){letters}(?!\d)")


def _state(page: Page, word: str) -> Locator:
    return page.locator("main").get_by_text(word, exact=True).first


def _nav(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation", name="Pages").get_by_role("link", name=re.compile(f"^{name}"))


def _badge(page: Page) -> int:
    expect(_nav(page, "Dead letters")).to_contain_text(re.compile(r"\d"))
    return int(re.sub(r"\D", "", _nav(page, "Dead letters").inner_text()))
