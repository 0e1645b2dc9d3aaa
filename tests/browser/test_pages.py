"""Every page, light and dark, wide and narrow: it is there, everybody can use it, and it does not run off the side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.house import House
from tests.browser.conftest import NARROW, WIDE, Open, overflow, serious

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
    "endpoints": "/endpoints",
    "queues": "/queues",
    "audit-log": "/audit-log",
    "settings": "/settings",
    "system": "/settings/system",
    "welcome": "/welcome",
}
LOOKS: list[tuple[Literal["light", "dark"], tuple[int, int]]] = [("light", WIDE), ("dark", NARROW)]


@pytest.fixture(scope="module")
def things(demo: House) -> dict[str, str]:
    """One of each that a page is about."""
    failed = demo.foliot("run", "list", "--status", "failed,dead_letter", "--limit", "1")["items"][0]
    return {
        "run": failed["id"],
        "schedule": failed["schedule_id"],
        "job": demo.foliot("articles", "list")["jobs"][0]["job_id"],
    }


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
        assert page.get_by_text("being built").count() == 0
