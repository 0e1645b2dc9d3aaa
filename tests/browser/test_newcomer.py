"""The newcomer's first five minutes: my own schedule fired, I saw its log, I broke it, I mended it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.acceptance.house import SECONDS, House
from tests.browser.asking import told
from tests.browser.conftest import Open, a_house

pytestmark = pytest.mark.timeout(240)


class Receiver(ThreadingHTTPServer):
    """Has its port from the start, and nobody listens there until it opens."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering, bind_and_activate=False)
        self.server_bind()
        self.url = f"http://127.0.0.1:{self.server_port}/"
        self.opened = False

    def open(self) -> None:
        self.opened = True
        self.server_activate()
        Thread(target=self.serve_forever, daemon=True).start()


class Answering(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def closed() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    if made.opened:
        made.shutdown()
    made.server_close()


@pytest.fixture(scope="module")
def house(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with a_house(tmp_path_factory.mktemp("newcomer") / "home", "--demo") as made:
        yield made


def test_the_first_five_minutes(house: House, tab: Open, closed: Receiver) -> None:
    page = tab(house).go("/")
    expect(page.get_by_label("Demo", exact=True)).to_contain_text("Demo data is on")

    _mend_what_fails(page)
    _make_a_schedule(page, house)
    _see_it_fire(page, house)
    letters = _badge(page)
    _break_it(page, closed, letters)
    _put_it_right(page, closed, letters)
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
    expect(reading.get_by_role("alert")).to_contain_text("deleted while you looked at it")
    expect(_state(reading, "success")).to_be_visible()
    expect(reading.get_by_role("button", name=re.compile("^Replay"))).to_be_disabled()
    reading.reload()
    expect(reading.get_by_text(f"No run {run}")).to_be_visible()


def _mend_what_fails(page: Page) -> None:
    """The failing run, why it failed, its log, and the same again."""
    attention = page.get_by_role("region", name=re.compile("Needs attention")).or_(page.locator("main"))
    attention.get_by_role("link", name="nightly-prices", exact=True).first.click()

    why = page.get_by_label("Why it failed")
    expect(why).to_contain_text("429 Too Many Requests")
    expect(why).to_contain_text("attempt 3 of 3")
    why.get_by_role("button", name="Jump to the error").click()
    expect(page).to_have_url(re.compile(r"#L\d+$"))
    expect(page.get_by_role("log").locator("[data-seq]").first).to_be_visible()

    failed = page.url
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page).not_to_have_url(failed)
    expect(_state(page, "success")).to_be_visible()
    expect(page.get_by_text("Replayed as run_")).to_be_visible()


def _make_a_schedule(page: Page, house: House) -> None:
    """In words, to the receiver that is there for first tries."""
    page.keyboard.press("n")
    expect(page.get_by_role("radio", name="Call a webhook")).to_be_checked()
    expect(page.get_by_label("URL")).to_have_value(f"{house.environ['FOLIOT_URL']}/api/echo/hello")
    page.get_by_label("Name", exact=True).fill("mine")
    preview = page.get_by_role("heading", name="Preview").locator("xpath=ancestor::section[1]")
    page.get_by_label("Say it").fill("every minute")
    expect(page.get_by_label("Cron", exact=True)).to_have_value("* * * * *")
    expect(preview.get_by_role("row")).to_have_count(7)
    # A minute is long for a test.
    page.get_by_label("Say it").fill("every 2 seconds")
    expect(page.get_by_label("Cron", exact=True)).to_have_value("*/2 * * * * *")
    page.locator("summary", has_text="Retries").click()
    page.get_by_label("Retries", exact=True).fill("1")
    page.get_by_label("First delay, s").fill("4")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("mine")
    page.get_by_role("button", name="Copy as").click()
    expect(page.get_by_label("Copy as")).to_contain_text("curl")
    page.keyboard.press("Escape")


def _see_it_fire(page: Page, house: House) -> None:
    """A tick slides in; what was asked and answered can be read, and the terminal says the same."""
    fired = page.get_by_role("link", name=re.compile("success.*fired .* lag"))
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


def _break_it(page: Page, closed: Receiver, letters: int) -> None:
    """Nothing listens there: it tries again, says when, and gives up."""
    _edit_url(page, closed.url, seldom=True)
    page.keyboard.press("r")
    page.get_by_role("button", name="Open run").click()
    expect(_state(page, "retrying")).to_be_visible()
    expect(page.get_by_text(re.compile(r"next attempt\s*in \d s"))).to_be_visible()
    expect(_state(page, "dead letter")).to_be_visible()
    expect(_nav(page, "Dead letters")).to_contain_text(re.compile(str(letters + 1)))


def _put_it_right(page: Page, closed: Receiver, letters: int) -> None:
    """The letter stays until its replay has succeeded; then it is gone, here and in the navigation."""
    _edit_url(page, f"{page.url.split('/runs/')[0]}/api/echo/hello")
    # A replay does what its letter did, so it is the receiver that must be there again.
    closed.open()
    _nav(page, "Dead letters").click()
    mine = page.get_by_role("region").filter(has=page.get_by_role("link", name="mine", exact=True))
    mine.get_by_role("button", name="Replay 1").click()
    dialog = page.get_by_role("dialog", name="Replay dead letters")
    expect(dialog).to_contain_text("1 would be sent to 127.0.0.1")
    dialog.get_by_role("button", name="Replay 1").click()
    expect(dialog.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "1")
    expect(dialog).to_contain_text("1 success")
    dialog.get_by_role("button", name="Done").click()
    expect(mine).to_have_count(0)
    expect(_nav(page, "Dead letters")).to_contain_text(str(letters))


def _take_a_key(page: Page) -> None:
    """Shown once, with a command that works as it is pasted."""
    page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/", 3)[2] + "/settings/keys")
    page.get_by_role("button", name="Create a key").click()
    dialog = page.get_by_role("dialog", name="Create an API key")
    dialog.get_by_label("Name").fill("deploys")
    dialog.get_by_role("button", name="Create the key").click()
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
        page.get_by_role("radio", name="By interval").click()
        expect(page.get_by_label("Unit")).to_have_value("hours")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name=re.compile("^Run now"))).to_be_visible()


def _state(page: Page, word: str) -> Locator:
    return page.locator("main").get_by_text(word, exact=True).first


def _nav(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation", name="Pages").get_by_role("link", name=re.compile(f"^{name}"))


def _badge(page: Page) -> int:
    expect(_nav(page, "Dead letters")).to_contain_text(re.compile(r"\d"))
    return int(re.sub(r"\D", "", _nav(page, "Dead letters").inner_text()))
