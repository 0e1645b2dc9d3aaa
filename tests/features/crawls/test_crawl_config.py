"""What a crawl's configuration may say, and what becomes of it on its way to Scrapyd."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.core.errors import Invalid, InvalidMany
from foliot.features.crawls.action.action import CrawlAction
from foliot.features.crawls.action.control import asked, jobid_of
from foliot.features.crawls.action.scrapyd_client import ScrapydNode
from foliot.features.crawls.action.scrapyd_nodes import ScrapydNodes
from foliot.features.expectations.usecases import DataJudge
from foliot.net.client import HttpEgress
from foliot.testing import StoppedClock

URL = "https://example.com/"


def action(*urls: str) -> CrawlAction:
    egress, clock = HttpEgress(), StoppedClock()
    nodes = ScrapydNodes([ScrapydNode.of(url) for url in urls], egress=egress, clock=clock)
    return CrawlAction(
        nodes=nodes, targets=egress, clock=clock, project="DiscoveryBot", data=DataJudge(store=None, clock=clock)
    )


def check(**config: Any) -> dict[str, Any]:
    return action("http://scrapyd.test:6800").check({"spider": "seo", **config})


def test_the_stored_form_says_what_was_given_and_the_project() -> None:
    stored = check(start_urls=[URL, URL], depth=2.0, params={"max_pages": 5}, min_items=1, max_errors=None)

    assert stored == {
        "spider": "seo",
        "project": "DiscoveryBot",
        "start_urls": [URL],
        "depth": 2,
        "params": {"max_pages": 5},
        "min_items": 1,
    }
    assert check(**stored) == stored, "what is stored can be read again"


def test_conditions_may_stand_among_the_params() -> None:
    assert check(params={"min_items": 3, "max_errors": 0, "a": 1}) == {
        "spider": "seo",
        "project": "DiscoveryBot",
        "start_urls": [],
        "params": {"a": 1},
        "min_items": 3,
        "max_errors": 0,
    }


@pytest.mark.parametrize(
    ("config", "field", "words"),
    [
        ({"spider": None}, "spider", "is required"),
        ({"spider": "a/b"}, "spider", "letters, digits"),
        ({"spider": ".."}, "spider", "letters, digits"),
        ({"spider": "a\nb"}, "spider", "letters, digits"),
        ({"spider": "\ud800"}, "spider", "letters, digits"),
        ({"spider": 7}, "spider", "must be text"),
        ({"project": "../x"}, "project", "letters, digits"),
        ({"start_urls": URL}, "start_urls", "must be a list"),
        ({"start_urls": [URL, "ftp://x"]}, "start_urls.1", "http://"),
        ({"start_urls": [URL, 7]}, "start_urls.1", "URL"),
        ({"start_urls": ["http://10.0.0.1/"]}, "start_urls.0", "public address"),
        ({"start_urls": ["http://example.com:22/"]}, "start_urls.0", "allowed port"),
        ({"start_urls": [f"{URL}{number}" for number in range(1001)]}, "start_urls", "at most 1000"),
        ({"start_urls": [f"{URL}{number}{'x' * 100}" for number in range(1000)]}, "start_urls", "64 KiB"),
        ({"depth": -1}, "depth", "from 0 to 1000"),
        ({"depth": "2"}, "depth", "whole number"),
        ({"params": []}, "params", "an object"),
        ({"params": {"a b": 1}}, "params", "names such as"),
        ({"params": {"_job": "x"}}, "params", "names such as"),
        ({"params": {"setting": "DOWNLOADER_MIDDLEWARES={}"}}, "params.setting", "set by Foliot"),
        ({"params": {"start_urls": "http://10.0.0.1"}}, "params.start_urls", "set by Foliot"),
        ({"params": {"x": "\0"}}, "params", "U+0000"),
        ({"params": {"x": "y" * 20_000}}, "params.x", "16 KiB"),
        ({"params": {f"x{number}": "y" * 16_000 for number in range(5)}}, "params", "64 KiB"),
        ({"params": {f"x{number}": 1 for number in range(101)}}, "params", "at most 100"),
        ({"min_items": -1}, "min_items", "whole number"),
        ({"min_items": 1, "params": {"min_items": 2}}, "min_items", "must not differ"),
        ({"params": {"max_errors": "none"}}, "params.max_errors", "whole number"),
        ({"start_url": [URL]}, "start_url", "did you mean 'start_urls'?"),
    ],
)
def test_what_is_wrong_is_named(config: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(Invalid) as wrong:
        check(**config)

    assert (wrong.value.field, words in str(wrong.value)) == (field, True), wrong.value


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidMany) as wrong:
        check(spider="", depth=-1, start_urls=["http://10.0.0.1/", "x"])

    assert [each.field for each in wrong.value.errors] == ["spider", "start_urls.0", "start_urls.1", "depth"]


def test_without_a_scrapyd_no_crawl_is_accepted_and_the_setting_is_named() -> None:
    with pytest.raises(Invalid, match="SCRAPYD_URL"):
        action().check({"spider": "seo"})


@pytest.mark.parametrize(("depth", "limit"), [(0, "-1"), (1, "1"), (7, "7")])
def test_depth_is_an_argument_and_a_setting(depth: int, limit: str) -> None:
    assert asked(check(depth=depth)) == ({"depth": str(depth)}, {"DEPTH_LIMIT": limit})


def test_without_depth_and_urls_the_spider_decides() -> None:
    assert asked(check()) == ({}, {})


def test_text_goes_as_it_is_and_everything_else_as_json() -> None:
    given = {"text": "1", "number": 1, "flag": True, "nothing": None, "list": ["ä"]}

    assert asked(check(params=given))[0] == {
        "text": "1",
        "number": "1",
        "flag": "true",
        "nothing": "null",
        "list": '["ä"]',
    }


def test_a_comma_in_a_url_does_not_make_two_of_it() -> None:
    assert asked(check(start_urls=[f"{URL}a,b", URL]))[0] == {"start_urls": f"{URL}a%2Cb,{URL}"}


def test_the_crawl_of_an_attempt_has_a_name_of_its_own() -> None:
    assert [jobid_of("run_1", attempt) for attempt in (1, 2, 3)] == ["run_1", "run_1-2", "run_1-3"]


@pytest.mark.parametrize(
    ("url", "shown", "place"),
    [
        ("http://bot:p%40ss@scrapyd:6800", "http://scrapyd:6800", "scrapyd:6800"),
        ("https://scrapyd.test/node1/", "https://scrapyd.test/node1", "scrapyd.test:443"),
        ("http://[::1]:6800", "http://[::1]:6800", "[::1]:6800"),
    ],
)
def test_a_node_shows_no_password(url: str, shown: str, place: str) -> None:
    node = ScrapydNode.of(url)

    assert (node.url, node.place) == (shown, place)
    assert "p@ss" not in repr(node)
