"""The example spider on a real site, in a real Scrapy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crawling import crawl
from tests.site import Site, a_site

LOCAL = {"FOLIOT_EGRESS_LOOPBACK": "1"}

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def site() -> Iterator[Site]:
    with a_site(40) as made:
        yield made


def test_a_page_is_described_as_search_engines_see_it(site: Site, tmp_path: Path) -> None:
    site.given["/"] = (
        200,
        {},
        """<html><head><title> A house
            of pages </title>
        <META NAME="Description" content="All about
            houses"><meta name="robots" content="noindex"><link rel="Canonical" href="/home"></head>
        <body><h1>One</h1><h2>Two <em>words</em></h2><h2>Three</h2><h1> </h1>
        <a href="/p/1#part">in</a><a href="/p/1">again</a><a href="https://elsewhere.test/x">out</a>
        <a href="mailto:a@b.test">mail</a><a href="http://[broken">broken</a><a href="/gone">gone</a></body></html>""",
    )
    done = crawl(tmp_path, settings=LOCAL, start_urls=site.url, depth="1", unheard_of="yes")

    page = done.pages[site.url]
    assert page == {
        "url": site.url,
        "status": 200,
        "depth": 0,
        "redirected_from": [],
        "title": "A house of pages",
        "description": "All about houses",
        "robots": "noindex",
        "canonical": f"{site.url}home",
        "headings": {"h1": ["One"], "h2": ["Two words", "Three"], "h3": []},
        "links": {
            "internal": [f"{site.url}p/1", f"{site.url}gone"],
            "external": ["https://elsewhere.test/x"],
        },
        "cached": False,
    }
    assert done.pages[f"{site.url}gone"]["status"] == 404
    assert done.stat("finish_reason") == "finished"


def test_it_goes_as_deep_as_it_is_told_and_asks_each_page_once(site: Site, tmp_path: Path) -> None:
    done = crawl(tmp_path, settings=LOCAL, start_urls=f"{site.url}, {site.url}p/39", depth="1")

    assert set(done.pages) == {site.url, f"{site.url}p/39", *(f"{site.url}p/{number}" for number in range(1, 20))}
    assert {path for path, times in site.asked.items() if times > 1} == set()


def test_a_redirect_away_from_the_site_is_not_followed_further(site: Site, tmp_path: Path) -> None:
    with a_site(5, host="127.0.0.2") as other:
        site.given["/p/1"] = (302, {"Location": other.url}, "")
        done = crawl(tmp_path, settings=LOCAL, start_urls=site.url, depth="2")

    assert not any(url.startswith(other.url) for url in done.pages)
    assert set(other.asked) <= {"/", "/robots.txt"}


def test_a_depth_that_is_none_is_said_in_words(tmp_path: Path) -> None:
    done = crawl(tmp_path, settings=LOCAL, start_urls="http://127.0.0.1:1/", depth="deep")

    assert "depth: must be a whole number, 0 or more, got 'deep'" in done.log + done.told
