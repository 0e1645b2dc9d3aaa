"""An article that changed, as its reader shows it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from tests.acceptance.house import House
from tests.browser.conftest import NARROW, WIDE, Open, overflow, serious

pytestmark = pytest.mark.timeout(240)

SAID = [f"Paragraph {one} says at some length what people on the market think of the weather." for one in range(8)]


class Edited(ThreadingHTTPServer):
    """A site of one page, which somebody edits."""

    daemon_threads = True
    title = "Market news"
    paragraphs = SAID


class _Page(BaseHTTPRequestHandler):
    server: Edited

    def do_GET(self) -> None:
        known = self.path == "/news"
        text = "".join(f"<p>{one}</p>" for one in self.server.paragraphs)
        page = f"<html><head><title>{self.server.title}</title></head><body><article>{text}</article></body></html>"
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(page.encode() if known else b"")

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def a_site() -> Iterator[Edited]:
    with Edited(("127.0.0.1", 0), _Page) as made:
        serving = threading.Thread(target=made.serve_forever)
        serving.start()
        try:
            yield made
        finally:
            made.shutdown()
            serving.join()


def test_a_reader_shows_what_has_changed_as_text(own: House, tab: Open) -> None:
    with a_site() as site:
        asked = ("articles", "submit", f"http://127.0.0.1:{site.server_port}/news", "--follow", "--ignore-cache")
        own.foliot(*asked)
        site.title = "Market news, corrected"
        changed = SAID[3].replace("weather", "prices")
        added = "Then an editor added a sentence with &lt;b&gt;marks&lt;/b&gt; that are not to be obeyed by anybody."
        site.paragraphs = [*SAID[:3], changed, *SAID[4:7], added]
        job = own.foliot(*asked)["job_id"]

    for theme, size in (("light", WIDE), ("dark", NARROW)):
        page = tab(own, theme=theme, size=size).go(f"/crawls/{job}")
        row = page.get_by_label("Articles", exact=True).locator("[data-id]")
        expect(row).to_contain_text("changed")
        row.click()
        reader = page.get_by_role("dialog", name="Market news, corrected")
        expect(reader).to_contain_text("Paragraph 0 says")
        toggle = reader.get_by_role("button", name="Changes since")
        toggle.click()
        expect(toggle).to_have_attribute("aria-pressed", "true")
        text = reader.get_by_role("group", name="Text")
        expect(reader.get_by_role("group", name="Title").locator("ins")).to_contain_text("corrected")
        expect(text.locator("del").first).to_have_text("removed: weather.")
        expect(text.locator("ins").first).to_have_text("added: prices.")
        expect(text.locator("ins").last).to_contain_text("<b>marks</b>")
        expect(text.locator("b")).to_have_count(0)
        assert (overflow(page), serious(page)) == (0, [])
        toggle.click()
        expect(reader.locator("ins")).to_have_count(0)
