"""Every page, light and dark, wide and narrow: it is there, everybody can use it, and it does not run off the side."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, Route, expect

from tests.acceptance.house import House
from tests.browser.conftest import NARROW, WIDE, Open, overflow, serious
from tests.cli.cli_server import invoke

PAGES = {
    "overview": "/",
    "schedules": "/schedules",
    "schedule": "/schedules/{schedule}",
    "editor": "/schedules/new",
    "calendar": "/calendar",
    "runs": "/runs",
    "run": "/runs/{run}",
    "crawls": "/crawls",
    "job": "/crawls/{job}",
    "pipelines": "/pipelines",
    "pipeline": "/pipelines/demo-prices",
    "dead-letters": "/dead-letters",
    "alerts": "/alerts",
    "alert": "/alerts/{alert}",
    "alert-rules": "/alerts?tab=rules",
    "channels": "/alerts?tab=channels",
    "monitors": "/monitors",
    "watches": "/watches",
    "watch-editor": "/watches/new",
    "hosts": "/hosts",
    "stored-pages": "/hosts?tab=pages",
    "endpoints": "/endpoints",
    "queues": "/queues",
    "audit-log": "/audit-log",
    "settings": "/settings",
    "keys": "/settings/keys",
    "secrets": "/settings/secrets",
    "members": "/settings/members",
    "system": "/settings/system",
    "welcome": "/welcome",
}
EMPTY = (
    "/schedules",
    "/runs",
    "/crawls",
    "/pipelines",
    "/dead-letters",
    "/alerts",
    "/alerts?tab=acknowledged",
    "/alerts?tab=history",
    "/alerts?tab=rules",
    "/alerts?tab=channels",
    "/monitors",
    "/watches",
    "/watches?tab=changes",
    "/hosts",
    "/hosts?tab=pages",
    "/endpoints",
    "/audit-log",
    "/settings/keys",
    "/settings/secrets",
)
"""Pages that have nothing to show where nothing has happened yet."""
ROWS_ON_A_SCREEN = 18
"""Of a list of runs below its chart, at a height of 900; the demo's strip takes the place of one more."""
CUT = """() => [...document.querySelectorAll("main *")].filter((one) => {
  if (one.children.length || !one.textContent.trim() || !one.getClientRects().length) return false;
  for (let box = one, up = 0; box && up < 3; box = box.parentElement, up += 1) {
    const { overflowX, position } = getComputedStyle(box);
    if (overflowX === "hidden" && position !== "absolute" && box.clientWidth && box.scrollWidth > box.clientWidth + 1)
      return true;
  }
  return false;
}).map((one) => one.textContent)"""
LOOKS: list[tuple[Literal["light", "dark"], tuple[int, int]]] = [("light", WIDE), ("dark", NARROW)]


@pytest.fixture(scope="module")
def things(demo: House) -> dict[str, str]:
    """One of each that a page is about."""
    failed = demo.foliot("run", "list", "--status", "failed,dead_letter", "--limit", "1")["items"][0]
    return {
        "run": failed["id"],
        "schedule": failed["schedule_id"],
        "alert": demo.foliot("alert", "list", "--limit", "1")["items"][0]["id"],
        "job": demo.foliot("articles", "list")["jobs"][0]["job_id"],
    }


@pytest.mark.parametrize(("theme", "size"), LOOKS)
def test_the_api_reference_is_for_everybody_and_leads_back(
    demo: House,
    tab: Open,
    picture: Callable[[Page, str], Path],
    theme: Literal["light", "dark"],
    size: tuple[int, int],
) -> None:
    page = tab(demo, size=size, theme=theme).go("/docs")
    # The first answer describes every route, which takes a loaded machine a while.
    expect(page.get_by_role("heading", name="Schedules", exact=True)).to_be_visible(timeout=45_000)
    picture(page, f"docs-{theme}-{size[0]}")
    assert overflow(page) <= 0
    # All routes look alike: a few of them are judged, and one is open.
    page.get_by_role("searchbox", name="Search").fill("preview")
    page.locator("details:visible > summary").first.click()
    page.evaluate("document.querySelectorAll('main [hidden]').forEach(route => route.remove())")
    assert serious(page) == []
    page.get_by_role("link", name="← Dashboard").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_the_frame_is_there_while_the_session_is_asked(demo: House, tab: Open) -> None:
    opened = tab(demo)

    def hold(route: Route) -> None:
        opened.slow.append(route)

    opened.page.route("**/api/session", hold)
    page = opened.go("/schedules")
    expect(page.get_by_role("status", name="Loading").get_by_text("Dead letters")).to_be_attached()
    for route in opened.slow:
        route.continue_()
    expect(page.get_by_role("heading", level=1)).to_have_text("Schedules")


def test_eighteen_rows_fit_on_a_screen(demo: House, tab: Open) -> None:
    page = tab(demo, size=WIDE).go("/runs")
    rows = page.get_by_role("table", name="Runs").get_by_role("row")
    expect(rows.nth(30)).to_be_attached()
    inside = [row for row in rows.all() if (box := row.bounding_box()) and box["y"] + box["height"] <= WIDE[1]]
    assert len(inside) - 1 >= ROWS_ON_A_SCREEN


def test_an_empty_page_names_the_next_step_and_a_command_that_exists(own: House, tab: Open) -> None:
    opened = tab(own)
    for path in EMPTY:
        box = opened.go(path).get_by_role("main").locator("code, span").filter(has_text=re.compile("foliot [a-z]+ "))
        text = box.last.inner_text().strip()

        words = shlex.split(text[text.index("foliot ") :])[1:]
        flags = [word for word in words if word.startswith("--")]
        helped = invoke(*words[: words.index(flags[0]) if flags else None], "--help")
        assert helped.code == 0, (path, text, helped.err)
        assert all(flag in helped.out for flag in flags), (path, text)
        assert overflow(opened.page) <= 0, path


def cut_numbers(page: Page) -> list[str]:
    """Texts with digits that are not shown in full. Names, messages and addresses may be cut: they have a title."""
    found: list[str] = page.evaluate(CUT)
    return [text for text in found if re.fullmatch(r"[\W\d]*\d[\W\d]*[a-z%]{0,3}", text.strip(), re.IGNORECASE)]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_for_everybody(
    demo: House, tab: Open, things: dict[str, str], name: str, picture: Callable[[Page, str], Path]
) -> None:
    opened = tab(demo)
    for theme, (width, height) in LOOKS:
        opened.page.emulate_media(color_scheme=theme)
        opened.page.set_viewport_size({"width": width, "height": height})
        page = opened.go(PAGES[name].format(**things))
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        picture(page, f"{name}-{theme}-{width}")

        assert serious(page) == [], (name, theme)
        assert overflow(page) <= 0, (name, width)
        assert cut_numbers(page) == [], (name, width)
        assert page.get_by_text("being built").count() == 0
