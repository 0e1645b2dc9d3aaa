"""A watch by the dashboard alone: a value of a page is chosen, and its changes are seen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.house import House
from tests.browser.asking import told
from tests.browser.conftest import NARROW, Open, Tab, overflow, serious
from tests.services import wait_until

pytestmark = pytest.mark.timeout(240)
Picture = Callable[[Page, str], Path]


class Shop(ThreadingHTTPServer):
    """A shop of one product, whose price a test changes."""

    daemon_threads = True
    price = "29.90 EUR"


class _Product(BaseHTTPRequestHandler):
    server: Shop

    def do_GET(self) -> None:
        known = self.path == "/kettle"
        body = (
            f"<title>Shop</title><h1>Kettle</h1><p class='price'>{self.server.price}</p><p>In stock &lt;b&gt;now</p>"
            if known
            else ""
        )
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """The test reads no log."""


@contextmanager
def shop() -> Iterator[Shop]:
    with Shop(("127.0.0.1", 0), _Product) as made:
        serving = threading.Thread(target=made.serve_forever)
        serving.start()
        try:
            yield made
        finally:
            made.shutdown()
            serving.join()


def visit(house: House, watch: str, times: int) -> None:
    """Visit the page now, and wait until it was visited so many times."""
    told(house, f"/api/watches/{watch}/visit", {})

    def visits() -> int:
        (page,) = told(house, f"/api/watches/{watch}/pages")["items"]
        return int(page["visits"])

    assert wait_until(lambda: visits() >= times, seconds=30)


def _choose_price(page: Page, url: str) -> None:
    """Fill the editor in by choosing the price in the page's text."""
    page.get_by_role("button", name="New watch").first.click()
    page.get_by_label("Name", exact=True).fill("Kettle")
    page.get_by_label("URLs, one per line").fill(url)
    page.get_by_role("button", name="Visit the first page").click()
    page.get_by_role("list", name="Text of the page").get_by_role("button", name="29.90 EUR").click()
    page.get_by_role("region", name="Selectors").get_by_role("button", name="Use as field").first.click()
    expect(page.get_by_label("Name of field 1")).to_have_value("price")
    expect(page.get_by_label("Type of field 1")).to_have_value("price")
    expect(page.get_by_label("Selector of field 1", exact=True)).to_have_value("p.price")


def test_a_watch_is_made_by_choosing_a_value_and_shows_what_changed(own: House, tab: Open, picture: Picture) -> None:
    with shop() as site:
        window = tab(own)
        window.forgiven.append("422")
        page = window.go("/watches")
        expect(page.get_by_text("No watches")).to_be_visible()
        _choose_price(page, f"http://127.0.0.1:{site.server_port}/kettle")
        page.get_by_label("Condition").fill("prise < 25")
        page.get_by_role("button", name="Visit again").click()
        expect(page.get_by_role("alert").filter(has_text="prise")).to_be_visible()
        page.get_by_label("Condition").fill("price < 25")
        page.get_by_role("button", name="Visit again").click()
        expect(page.get_by_text("The condition is not true for the page as it is now.")).to_be_visible()
        picture(page, "editor")
        assert serious(page) == []
        page.get_by_role("button", name="Create watch").click()
        expect(page.get_by_role("heading", name="Kettle")).to_be_visible()
        (watch,) = told(own, "/api/watches")["items"]
        for number, price in enumerate(("29.90 EUR", "27.00 EUR", "24.00 EUR"), start=1):
            site.price = price
            visit(own, watch["id"], number)
    _look_at_history(page, picture)
    _look_at_narrow_pages(tab(own, size=NARROW, theme="dark"), watch["id"])


def _look_at_history(page: Page, picture: Picture) -> None:
    page.reload()
    expect(page.get_by_role("img", name="price over time")).to_be_visible()
    page.get_by_role("tab", name="Changes (2)").click()
    expect(page.get_by_text("price: 27.00 EUR → 24.00 EUR")).to_be_visible()
    picture(page, "watch")
    assert serious(page) == []
    page.get_by_text("price: 27.00 EUR → 24.00 EUR").click()
    expect(page.get_by_text("3 visits, 2 found a change")).to_be_visible()
    expect(page.locator("ins", has_text="24.00 EUR")).to_be_visible()
    picture(page, "page")
    page.go_back()
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_text("1 of the last 2 changes count")).to_be_visible()
    page.get_by_label("Condition").fill("drops(price, 5%)")
    expect(page.get_by_text("2 of the last 2 changes count")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("drops(price, 5%)")).to_be_visible()


def _look_at_narrow_pages(small: Tab, watch: str) -> None:
    for path in ("/watches", "/watches?tab=changes", f"/watches/{watch}", f"/watches/{watch}/edit"):
        small.go(path)
        expect(small.page.get_by_role("heading").first).to_be_visible()
        assert overflow(small.page) == 0, path


def test_a_text_is_compared_line_by_line(own: House, tab: Open, picture: Picture) -> None:
    with shop() as site:
        url = f"http://127.0.0.1:{site.server_port}/kettle"
        timed = {"type": "interval", "interval_seconds": 86_400}
        watch = told(own, "/api/watches", {"name": "Text", "urls": [url], "schedule": timed})["id"]
        for number, price in enumerate(("29.90 EUR", "<script>alert(1)</script>19.90 EUR"), start=1):
            site.price = price.replace("<", "&lt;")
            visit(own, watch, number)
    (listed,) = told(own, f"/api/watches/{watch}/pages")["items"]
    page = tab(own).go(f"/watches/{watch}/pages/{listed['id']}")
    expect(page.locator("ins", has_text="19.90")).to_be_visible()
    expect(page.get_by_text("<script>alert(1)</script>", exact=False).first).to_be_visible()
    page.get_by_role("button", name="Side by side").click()
    expect(page.locator("del", has_text="29.90")).to_be_visible()
    picture(page, "text")
    assert serious(page) == []
