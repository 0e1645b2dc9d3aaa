"""A real browser in front of a real Foliot. No page may ask another host for anything, or complain in its console."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Route, expect, sync_playwright

from foliot.web import DIST
from tests.acceptance.house import House
from tests.services import absent

VARIABLE = "FOLIOT_TEST_CHROMIUM"
NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
AXE = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
ZONE = "Europe/Stockholm"
PATIENCE = 20_000
WIDE, NARROW = (1440, 900), (390, 844)
GONE = ("ERR_CONNECTION_", "ERR_SOCKET_NOT_CONNECTED", "ERR_EMPTY_RESPONSE", "ERR_CONTENT_LENGTH_MISMATCH", "WebSocket")
"""What Chromium complains of while the server is away, depending on how far a request had come."""
PICTURES = os.environ.get("FOLIOT_TEST_PICTURES")
"""A directory that keeps what the browser showed; without it, a temporary one of the test run."""


class Missing(Exception):
    """What these tests need, and how to get it."""


def _chromium() -> str:
    found = os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        absent(Missing(f"needs Chromium: apt-get install chromium (or name a browser in {VARIABLE})"))
    return found


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """For this folder: while it lives, an event loop runs in this thread, and no async test could."""
    # Generous: the machine that runs the tests may have other things to do.
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as made:
        yield made


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser to start, where there is also a dashboard to look at."""
    if not (DIST / "index.html").is_file():
        absent(Missing("needs the dashboard: make dashboard"))
    return _chromium()


@pytest.fixture(scope="package")
def browser(playwright: Playwright, chromium: str) -> Iterator[Browser]:
    # Debian's, run as whoever runs the tests: root has no sandbox of its own.
    started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    yield started
    started.close()


@contextmanager
def a_house(home: Path, *flags: str, **environ: str) -> Iterator[House]:
    made = House(home)
    try:
        # Many tests call the same port at which nobody listens, and want to see each attempt fail.
        given = {"FOLIOT_BREAKER_FAILURES": "0"} | environ
        made.start("up", "--port", "0", *flags, lines=3, **given)
        yield made
    finally:
        made.clear()


@pytest.fixture(scope="package")
def demo(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Everything the demo shows; tests read it, and change only what they have made themselves."""
    with a_house(tmp_path_factory.mktemp("demo") / "home", "--demo") as made:
        yield made


@pytest.fixture(scope="package")
def busy(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One with the tasks of chores.py; tests add to it, and say what is theirs."""
    tasks = {"FOLIOT_TASKS": "tests.browser.chores", "PYTHONPATH": str(Path(__file__).parents[2])}
    with a_house(tmp_path_factory.mktemp("busy") / "home", **tasks) as made:
        yield made


@pytest.fixture
def own(browser: Browser, tmp_path: Path) -> Iterator[House]:
    """A Foliot in which nothing has happened yet."""
    with a_house(tmp_path / "home") as made:
        yield made


@dataclass
class Tab:
    """One page of the dashboard, and what went wrong on it."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    forgiven: list[str] = field(default_factory=list)
    """What a test breaks on purpose: parts of complaints that are no surprise."""
    slow: list[Route] = field(default_factory=list)
    """Requests that a test holds back."""

    def go(self, path: str) -> Page:
        self.page.goto(self.url + path)
        return self.page

    def watch(self) -> None:
        self.page.on("console", self._complain)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self._leaves(request.url))

    def _complain(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            # The text of a refused request has its status alone.
            self.complaints.append(f"{said.text} ({said.location['url']})")

    def _leaves(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.netloc != urlsplit(self.url).netloc:
            self.foreign.append(url)

    def unforgiven(self) -> list[str]:
        return [one for one in self.complaints if not any(part in one for part in self.forgiven)]


Open = Callable[..., Tab]


@pytest.fixture
def tab(browser: Browser) -> Iterator[Open]:
    """Opens a tab on a house: `tab(demo, size=NARROW, theme="dark")`. Each is looked at when the test is over."""
    opened: list[Tab] = []

    def make(
        house: House, *, size: tuple[int, int] = WIDE, theme: str = "light", zone: str = ZONE, finger: bool = False
    ) -> Tab:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if theme == "dark" else "light",
            timezone_id=zone,
            reduced_motion="reduce",
            has_touch=finger,
            is_mobile=finger,
        )
        context.set_default_timeout(PATIENCE)
        made = Tab(context.new_page(), house.environ["FOLIOT_URL"])
        made.watch()
        opened.append(made)
        return made

    yield make
    for one in opened:
        one.page.context.close()
    assert [text for one in opened for text in one.unforgiven()] == [], "a page complained"
    assert [url for one in opened for url in one.foreign] == [], "a page asked another host"


@pytest.fixture
def picture(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Page, str], Path]:
    """Keeps what a page shows."""

    def keep(page: Page, name: str) -> Path:
        place = Path(PICTURES) if PICTURES else tmp_path
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{re.sub(r'[^a-z0-9-]+', '-', name.lower()).strip('-')}.png"
        page.screenshot(path=path)
        return path

    return keep


def serious(page: Page) -> list[str]:
    """What axe finds on the page that would keep somebody from using it."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations")
    return [
        f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def overflow(page: Page) -> int:
    """How far the page can be pushed sideways."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
