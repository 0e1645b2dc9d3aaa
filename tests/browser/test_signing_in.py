"""A Foliot that asks who is there: by a token, by a link, and again when the time is over; roles have their buttons."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.house import House
from tests.browser.asking import soon, told, webhook
from tests.browser.conftest import Open, a_house, serious

pytestmark = pytest.mark.timeout(240)

SECRET = "a secret that only these tests know, and nobody else"


@pytest.fixture(scope="module")
def secured(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with a_house(tmp_path_factory.mktemp("secured") / "home", FOLIOT_JWT_SECRET=SECRET) as made:
        made.environ["FOLIOT_JWT_SECRET"] = SECRET
        made.environ["FOLIOT_TOKEN"] = token(made, "admin", "1h")
        webhook(made, "guarded", "https://shop.test/")
        yield made


def token(house: House, role: str, ttl: str) -> str:
    done = house.run("token", "--tenant", "acme", "--user", f"a-{role}", "--role", role, "--ttl", ttl)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def sign_in(page: Page, credential: str) -> None:
    page.get_by_label("API key or token").fill(credential)
    page.get_by_role("button", name="Sign in").click()


def _pressed(page: Page, key: str) -> str:
    """What the page is called after a key; one that comes before the page is ready goes unheard."""
    page.keyboard.press(key)
    page.wait_for_timeout(500)
    return page.get_by_role("heading", level=1).first.inner_text()


def test_a_token_opens_the_page_that_was_wanted(secured: House, tab: Open) -> None:
    opened = tab(secured)
    opened.forgiven.append("401")
    page = opened.go("/schedules?q=guarded")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to foliot")
    sign_in(page, "not a token")
    expect(page.get_by_role("alert")).to_contain_text("not valid")
    sign_in(page, secured.environ["FOLIOT_TOKEN"])

    expect(page).to_have_url(re.compile(r"/schedules\?q=guarded$"))
    expect(page.get_by_role("link", name="guarded", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="New schedule")).to_be_visible()
    assert page.evaluate("document.cookie") == "", "a script can read the credential"
    assert secured.environ["FOLIOT_TOKEN"] not in page.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}])"
    )
    page.get_by_role("button", name="Signed in as a-admin").click()
    page.get_by_role("menuitem", name="Sign out", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to foliot")


def test_a_link_signs_in_once_and_a_viewer_sees_why_buttons_are_disabled(secured: House, tab: Open) -> None:
    schedule = told(secured, "/api/schedules", q="guarded")["items"][0]["id"]
    secured.environ["FOLIOT_TOKEN"], admin = token(secured, "viewer", "1h"), secured.environ["FOLIOT_TOKEN"]
    try:
        link = secured.foliot("login-link")["url"]
    finally:
        secured.environ["FOLIOT_TOKEN"] = admin
    opened = tab(secured)
    page = opened.page
    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    assert "code=" not in page.url
    page = opened.go(f"/schedules/{schedule}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("guarded")
    for name in ("Run now", "Pause", "Edit"):
        button = page.get_by_role("button", name=name)
        expect(button).to_be_disabled()
        expect(button).to_have_attribute("title", re.compile(r"Your role \(viewer\) does not allow this"))
    page.keyboard.press("r")
    page.keyboard.press("e")
    page = opened.go("/schedules")
    expect(page.get_by_role("link", name="guarded", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="New schedule")).to_be_disabled()
    page = opened.go("/schedules/new")
    expect(page.get_by_text("You cannot create schedules")).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    assert told(secured, "/api/runs/count")["count"] == 0

    again = tab(secured)
    again.forgiven.append("401")
    again.page.goto(link)
    expect(again.page.get_by_role("alert")).to_contain_text("has been used or has expired")


def test_a_person_is_invited_with_a_role_by_a_link_that_works_once(secured: House, tab: Open) -> None:
    host = tab(secured)
    page = host.go("/settings/members")
    host.forgiven.append("401")
    sign_in(page, secured.environ["FOLIOT_TOKEN"])
    page.get_by_role("button", name="Invite").click()
    page.get_by_label("Name", exact=True).fill("eva")
    page.get_by_label("Role").select_option("operator")
    assert serious(page) == []
    page.get_by_role("button", name="Create link").click()
    link = page.get_by_label("Invitation link").inner_text()

    guest = tab(secured)
    guest.page.goto(link)
    expect(guest.page.get_by_role("heading", level=1)).to_have_text("Overview")
    expect(guest.page.get_by_role("button", name="Signed in as key:eva")).to_be_visible()
    expect(guest.go("/schedules").get_by_role("button", name="New schedule")).to_be_enabled()
    late = tab(secured)
    late.forgiven.append("401")
    late.page.goto(link)
    expect(late.page.get_by_role("alert")).to_contain_text("has been used or has expired")


def test_a_key_that_ends_in_mid_page_asks_again_and_nothing_is_lost(secured: House, tab: Open) -> None:
    opened = tab(secured)
    opened.forgiven += ["401", "WebSocket"]
    page = opened.go("/runs?q=kind:webhook")
    key = told(secured, "/api/keys", {"name": "short-lived", "role": "operator"})
    sign_in(page, key["key"])
    expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
    soon(page, lambda: _pressed(page, "n"), lambda heading: "New schedule" in heading)
    page.get_by_label("Name", exact=True).fill("half written")
    page.get_by_label("URL").fill("https://shop.test/")

    ended = page.get_by_role("dialog", name="Your session has ended")
    typed = page.get_by_label("When (plain English)")
    told(secured, f"/api/keys/{key['id']}", method="DELETE")

    minutes = itertools.count(2)

    def type_on() -> bool:
        """Each word is shown to the server, until it says that the time is over."""
        if not ended.is_visible():
            typed.fill(f"every {next(minutes)} minutes")
        return ended.is_visible()

    soon(page, type_on, bool)
    sign_in(page, token(secured, "operator", "1h"))
    expect(ended).to_have_count(0)
    expect(page.get_by_label("Name", exact=True)).to_have_value("half written")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("half written")
