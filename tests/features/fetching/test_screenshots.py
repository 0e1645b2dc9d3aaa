"""Screenshots of pages that a browser could not render are stored with what the pages were fetched for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from foliot.features.fetching.model import FetchFailure, FetchRequest, Page, PageSource
from foliot.features.fetching.render.screenshots import MOST
from foliot.net.allow import EgressRules
from tests.features.fetching.rendered import renderer, site, wanted
from tests.net.upstream_proxies import proxying

pytestmark = pytest.mark.slow


@dataclass
class Kept:
    """What was stored."""

    pages: list[tuple[Page, FetchRequest]] = field(default_factory=list)

    async def keep(self, page: Page, request: FetchRequest) -> str:
        self.pages.append((page, request))
        return f"pag_{len(self.pages)}"


async def test_a_page_that_fails_leaves_a_screenshot_that_its_error_names() -> None:
    kept = Kept()
    async with site({"/": "<h1>There is no price here</h1>"}) as shop, renderer(seconds=2, keeper=kept) as browsers:
        asked = replace(wanted(shop.url(), wait_for="#price"), source=PageSource("run", "run_1"))
        failures = [await browsers.render(asked) for _ in range(MOST + 1)]
        preview = await browsers.render(replace(asked, source=PageSource()))

    (page, request) = kept.pages[0]
    assert isinstance(failures[0], FetchFailure)
    assert failures[0].problem.message.endswith("A screenshot is stored as pag_1.")
    assert (page.status, page.headers["content-type"], request.source.id) == (0, "image/jpeg", "run_1")
    assert page.body.startswith(b"\xff\xd8\xff")
    assert request.options.keep == timedelta(days=7)
    assert len(kept.pages) == MOST, "further ones of the same run would show the same"
    assert isinstance(preview, FetchFailure)


async def test_a_browser_goes_through_the_proxy_of_the_host_and_its_scripts_reach_no_other_port() -> None:
    script = "<p>text</p><script>fetch('http://127.0.0.1:PORT/').catch(() => 0)</script>"
    rules = EgressRules.read(loopback=True, allow=[], ports=[])
    async with proxying("socks5", login="kim:hunter22") as proxy, site({"/": script}) as shop:
        shop.pages = {"/": script.replace("PORT", str(proxy.port))}
        async with renderer(rules=rules) as browsers:
            page = await browsers.render(replace(wanted(shop.url()), proxy=proxy.url()))

    assert isinstance(page, Page), page
    assert set(proxy.asked) == {f"127.0.0.1:{shop.port}"}
    assert browsers.counts.refused >= 1
