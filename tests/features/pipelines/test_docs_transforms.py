"""The page on the steps of pipelines: every one is there with all it takes, and its example runs."""

from __future__ import annotations

import ast
import gc
import re
import sqlite3
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from foliot.features.pipelines.chain.check import build_steps
from foliot.features.pipelines.chain.context import Transform
from foliot.features.pipelines.model import StepSpec
from foliot.features.pipelines.wiring import load
from foliot.testing import GivenPages, Streamed, stream

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "pipelines-transforms.md").read_text()
KNOWN = load([])

FEED = """<rss version="2.0"><channel><title>News</title>
<item><title>New prices</title><link>/a</link></item>
<item><title>Weather</title><link>/b</link></item></channel></rss>"""
SITEMAP = """<urlset><url><loc>https://shop.example/products/1</loc></url>
<url><loc>https://shop.example/about</loc></url></urlset>"""
LIST = '<div class="product"><h2>One</h2><a href="/one">x</a><i class="colour">red</i></div>'
ARTICLE = (ROOT / "tests" / "pages" / "news-en.html").read_text()
WEB: dict[str, str | tuple[int, str]] = {
    "https://shop.example/one": '<b class="price-now">12,50 €</b>',
    "https://shop.example/two": "<p>two</p>",
    "https://shop.example/list": LIST,
    "https://shop.example/api": '{"data": {"products": [{"id": 1, "offer": {"price": 2}}]}}',
    "https://shop.example/sitemap.xml": SITEMAP,
    "https://news.example/feed.xml": FEED,
    "https://news.example/a": ARTICLE,
    "https://news.example/b": ARTICLE,
    "https://hooks.example/news": (202, ""),
}


def sections() -> Mapping[str, str]:
    """What the page says of each, by its name."""
    part = PAGE.partition("\n## Built in\n")[2].partition("\n## Your own\n")[0]
    found = re.split(r"^### (\w+)\n", part, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def chain(name: str) -> list[Transform]:
    """The example of one, as a file would have it."""
    (block,) = re.findall(r"```yaml\n(.*?)```", sections()[name], re.DOTALL)
    steps = yaml.safe_load(block)
    specs = [StepSpec(cls=step["class"], name=step["class"], kwargs=step.get("kwargs", {})) for step in steps]
    assert name in [spec.cls for spec in specs]
    return build_steps(specs, KNOWN)


async def run(name: str, out: Path) -> Streamed:
    return await stream(*chain(name), egress=GivenPages(WEB), secrets={"shop-token": "Bearer x"}, out=out)


def test_every_transform_has_its_section() -> None:
    assert sorted(sections()) == KNOWN.names()


@pytest.mark.parametrize("name", KNOWN.names())
def test_every_kwarg_has_its_row_and_no_other_has(name: str) -> None:
    rows = re.findall(r"^\| (`.*?`) \|", sections()[name], re.MULTILINE)
    known = KNOWN.get(name)

    assert known is not None
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(known.model_fields)


@pytest.mark.parametrize(
    ("name", "fields", "count"),
    [
        ("HttpFetcher", {"url", "status", "content_type", "body"}, 2),
        ("FeedFetcher", {"url", "title", "published_at", "feed_title"}, 2),
        ("SitemapFetcher", {"url", "lastmod", "sitemap"}, 1),
        ("HtmlParser", {"url", "name", "colours"}, 1),
        ("JsonParser", {"id", "price"}, 1),
        ("ArticleExtractor", {"title", "content", "language"}, 2),
        ("PriceExtractor", {"price", "currency", "price_source"}, 1),
        ("Filter", {"title"}, 1),
        ("Deduplicate", {"url"}, 2),
        ("WebhookSink", {"url"}, 2),
        ("JsonlSink", {"url"}, 2),
        ("CsvSink", {"url"}, 2),
        ("SqlSink", {"url"}, 2),
    ],
)
async def test_the_example_of_each_runs(name: str, fields: set[str], count: int, tmp_path: Path) -> None:
    found = await run(name, tmp_path)

    assert len(found.items) == count
    assert all(fields <= set(item) for item in found.items)


async def test_the_examples_of_the_sinks_write(tmp_path: Path) -> None:
    for name in ("JsonlSink", "CsvSink", "SqlSink"):
        await run(name, tmp_path)

    assert (tmp_path / "news" / "2027-01-04.jsonl").read_text().count("\n") == 2
    assert (tmp_path / "news.csv").read_text().splitlines()[1] == "New prices;https://news.example/a"
    with sqlite3.connect(tmp_path / "news.db") as db:
        assert db.execute("SELECT count(*) FROM entries").fetchone() == (2,)
    db.close()


@pytest.mark.parametrize("name", ["ArticleExtractor", "HtmlParser", "PriceExtractor"])
async def test_what_bounds_a_reader_does_not_bound_whoever_tries_a_pipeline(name: str, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS), gc.get_threshold()

    await run(name, tmp_path)

    assert (resource.getrlimit(resource.RLIMIT_AS), gc.get_threshold()) == before


@pytest.mark.parametrize("name", ["MongoSink", "DiscordSink"])
def test_the_examples_that_need_a_server_can_be_made(name: str) -> None:
    assert type(chain(name)[-1]).__name__ == name


async def test_ones_own_transforms_do_what_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples")
    known = load(["transforms"])
    try:
        own = sys.modules["transforms"]
        shown, tried = re.findall(r"```python\n(.*?)```", PAGE.partition("\n## Your own\n")[2], re.DOTALL)

        assert known.faults() == ()
        assert shown.strip() in (ROOT / "examples" / "transforms.py").read_text()
        await execute(tried, {"Discount": own.Discount})
        pairs = await stream(own.Pairs(), items=[{"n": 1}, {"n": 2}, {"n": 3}], on_error="skip")
        assert (pairs.items, pairs.failed) == ([{"first": {"n": 1}, "second": {"n": 2}}], 1)
    finally:
        sys.modules.pop("transforms", None)


async def execute(code: str, names: dict[str, Any]) -> None:
    """Run what a page shows, with `await` at its top."""
    made = eval(compile(code, "page", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if made is not None:
        await made
