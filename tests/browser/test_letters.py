"""Dead letters: muted and heard of again, edited and sent again, discarded; what the page says is what happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.acceptance.house import House
from tests.browser.asking import ended, run_now, told, webhook
from tests.browser.conftest import Open, a_house

pytestmark = pytest.mark.timeout(180)


class Picky(BaseHTTPRequestHandler):
    """Takes what has a sku, and nothing else."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200 if b'"sku"' in body else 422)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def picky() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Picky)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def house(browser: Browser, picky: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with a_house(tmp_path_factory.mktemp("letters") / "home") as made:
        yield made


def letters(house: House, page: Page, name: str, url: str, *bodies: object) -> list[str]:
    """A letter for each of these bodies, of a schedule of this name."""
    found = []
    for body in bodies:
        action = {"kind": "webhook", "url": url, "body": body}
        found.append(run_now(house, webhook(house, name, url, action=action)))
    assert {ended(house, page, run)["state"] for run in found} == {"dead_letter"}
    return found


def group(page: Page, name: str) -> Locator:
    link = page.get_by_role("link", name=name, exact=True)
    return page.get_by_role("region").filter(has=link.first)


def badge(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Pages").get_by_role("link", name=re.compile("^Dead letters"))


def test_a_muted_group_is_folded_away_and_counted_apart(own: House, tab: Open, picky: str) -> None:
    page = tab(own).go("/")
    letters(own, page, "mute-me", picky, {"say": 1}, {"say": 2})
    letters(own, page, "hear-me", picky.replace("127.0.0.1", "localhost"), {})
    page.goto(f"{own.environ['FOLIOT_URL']}/dead-letters")
    expect(page.get_by_text("3 in 2 groups")).to_be_visible()

    group(page, "mute-me").get_by_role("button", name="Mute…").click()
    dialog = page.get_by_role("dialog", name="Mute this group")
    dialog.get_by_role("button", name="4 h", exact=True).click()
    dialog.get_by_label("Reason").fill("they are mending it")
    dialog.get_by_role("button", name="Mute for 4 h").click()

    expect(page.get_by_text("1 in 1 group")).to_be_visible()
    expect(badge(page)).to_have_text(re.compile(r"1muted: 2$"))
    fold = page.locator("summary", has_text="1 muted group, 2 letters")
    expect(group(page, "mute-me")).to_have_count(0)
    fold.click()
    expect(group(page, "mute-me")).to_contain_text("Muted by local")
    expect(group(page, "mute-me")).to_contain_text("they are mending it")
    overview = tab(own).go("/")
    expect(overview.get_by_role("link", name="1 dead letter", exact=True)).to_be_visible()

    group(page, "mute-me").get_by_role("button", name="Unmute").click()
    expect(page.get_by_text("3 in 2 groups")).to_be_visible()
    expect(fold).to_have_count(0)
    expect(overview.get_by_role("link", name="3 dead letters", exact=True)).to_be_visible()


def test_a_group_that_needs_an_edit_is_edited_and_sent_again(house: House, tab: Open, picky: str) -> None:
    page = tab(house).go("/dead-letters?q=schedule:edit-me")
    ids = letters(house, page, "edit-me", f"{picky}edit", *[{"price": 1}] * 3)
    mine = group(page, "edit-me")
    expect(mine).to_contain_text("needs edit")

    mine.get_by_role("button", name="Edit & replay").first.click()
    dialog = page.get_by_role("dialog", name="Edit and replay dead letters")
    expect(dialog.get_by_role("button", name="Replay 3")).to_be_disabled()
    change = dialog.get_by_label("Edit each one")
    change.fill('{"method": "SHOUT"}')
    expect(dialog).to_contain_text("3 will be rejected")
    expect(dialog).to_contain_text("patch.method")
    change.fill('{"body": {"sku": 991}')
    expect(dialog.get_by_role("alert")).to_contain_text("Invalid JSON")
    change.fill('{"body": {"sku": 991}}')
    expect(dialog).to_contain_text("The edit changes 3, and none will be rejected")
    expect(dialog).to_contain_text("2 are duplicates of the same request")
    dialog.get_by_role("button", name="Replay 3").click()
    expect(dialog).to_contain_text("3 success")
    dialog.get_by_role("button", name="Done").click()

    expect(mine).to_have_count(0)
    for one in ids:
        replay = told(house, f"/api/runs/{told(house, f'/api/runs/{one}')['resolved_by']}")
        assert (replay["state"], replay["action"]["body"]) == ("success", {"price": 1, "sku": 991})


def test_one_letter_is_edited_from_its_own_page_and_settled_by_that(house: House, tab: Open, picky: str) -> None:
    page = tab(house).go("/")
    (letter,) = letters(house, page, "edit-one", f"{picky}one", {"price": 1})
    page.goto(f"{house.environ['FOLIOT_URL']}/runs/{letter}")

    expect(page.get_by_label("Why it failed").get_by_role("button", name="Edit & replay")).to_be_visible()
    page.keyboard.press("e")
    dialog = page.get_by_role("dialog", name="Edit and replay")
    box = dialog.get_by_label("Parameters (JSON)")
    box.fill(box.input_value().replace('"price": 1', '"sku": 5'))
    dialog.get_by_role("button", name="Replay", exact=True).click()

    expect(page).not_to_have_url(re.compile(letter))
    expect(page.locator("main").get_by_text("success", exact=True).first).to_be_visible()
    settled = told(house, f"/api/runs/{letter}")["resolved_by"]
    assert told(house, f"/api/runs/{settled}")["action"]["body"] == {"sku": 5}


def test_letters_are_discarded_by_their_number_and_leave_every_page_at_once(
    house: House, tab: Open, picky: str
) -> None:
    page, other = tab(house).go("/dead-letters?q=schedule:throw-away"), tab(house).go("/dead-letters")
    ids = letters(house, page, "throw-away", f"{picky}away", {}, {})
    expect(group(other, "throw-away")).to_be_visible()
    before = int(re.sub(r"\D", "", badge(other).inner_text()))

    group(page, "throw-away").get_by_role("button", name="Discard…").click()
    dialog = page.get_by_role("dialog")
    confirm = dialog.get_by_role("button", name="Discard 2")
    expect(confirm).to_be_disabled()
    dialog.get_by_label("Type 2 to confirm").fill("2")
    confirm.click()

    expect(group(other, "throw-away")).to_have_count(0)
    if before > 2:
        expect(badge(other)).to_have_text(re.compile(rf"(?<!\d){before - 2}(?!\d)"))
    assert {told(house, f"/api/runs/{one}")["resolved_by"] for one in ids} == {"discarded"}


def test_letters_can_be_taken_home(house: House, tab: Open, picky: str) -> None:
    page = tab(house).go("/dead-letters?q=schedule:take-home")
    (letter,) = letters(house, page, "take-home", f"{picky}home", {"price": 7})

    page.get_by_role("button", name="Export").click()
    with page.expect_download() as coming:
        page.get_by_role("menuitem", name="NDJSON").click()

    lines = coming.value.path().read_text().splitlines()
    assert len(lines) == 1
    assert letter in lines[0]
