"""The transforms that come along: what each makes of its items, and what it says of those it cannot handle."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import orjson
import pytest

from foliot import Item, StepContext, Transform
from foliot.core.egress import OutgoingRequest, OutgoingResponse
from foliot.features.pipelines.chain.run import ChainFailed, is_permanent
from foliot.features.pipelines.steps.feeds import FeedFetcher, SitemapFetcher
from foliot.features.pipelines.steps.fetchers import HttpFetcher
from foliot.features.pipelines.steps.parsers import ArticleExtractor, HtmlParser, JsonParser, PriceExtractor
from foliot.testing import GivenPages, stream
from tests.features.pipelines.pipeline_streams import made

PAGES = Path(__file__).parents[2] / "pages"

SITE = "http://site.test"


def answer(body: bytes, headers: dict[str, str], status: int = 200) -> OutgoingResponse:
    return OutgoingResponse(status=status, headers=headers, body=body, truncated=False, elapsed=timedelta())


def moved(to: str) -> OutgoingResponse:
    return answer(b"", {"Location": to}, 302)


# --- HttpFetcher ------------------------------------------------------------------------------------------------------


async def test_http_fetches_its_urls_and_then_those_of_its_items_in_order() -> None:
    pages = GivenPages({f"{SITE}/{name}": f"page {name}" for name in "abcd"})
    fetcher = made(HttpFetcher, urls=[f"{SITE}/a", f"{SITE}/b"], concurrency=3)

    found = await stream(fetcher, items=[{"url": f"{SITE}/c", "id": 3}, {"url": f"{SITE}/d", "id": 4}], egress=pages)

    assert [item["body"] for item in found.items] == ["page a", "page b", "page c", "page d"]
    assert found.items[2] == {
        "url": f"{SITE}/c",
        "id": 3,
        "status": 200,
        "content_type": "text/html; charset=utf-8",
        "body": "page c",
    }


async def test_http_counts_what_it_cannot_fetch_and_goes_on() -> None:
    pages = GivenPages({f"{SITE}/a": "a", f"{SITE}/gone": (404, "no")})
    fetcher = made(HttpFetcher, urls=[f"{SITE}/gone", f"{SITE}/away", f"{SITE}/a"])

    found = await stream(fetcher, items=[{"id": 1}], egress=pages, on_error="skip")

    assert [item["url"] for item in found.items] == [f"{SITE}/a"]
    assert found.failed == 3
    assert [line for line in found.log if "left out" in line] == [
        f"warning: HttpFetcher: left out: {SITE}/gone: the server answered 404",
        f"warning: HttpFetcher: left out: {SITE}/away: the test gives no page {SITE}/away",
        "warning: HttpFetcher: left out: 1: has no URL in its field 'url'",
    ]


@pytest.mark.parametrize(("status", "permanent"), [(404, True), (403, True), (429, False), (503, False)])
async def test_whether_a_failed_fetch_may_be_tried_again_is_said_by_its_status(status: int, permanent: bool) -> None:
    with pytest.raises(ChainFailed) as failed:
        await stream(made(HttpFetcher, urls=f"{SITE}/a"), egress=GivenPages({f"{SITE}/a": (status, "")}))

    assert is_permanent(failed.value.cause) is permanent


async def test_http_follows_redirects_and_takes_no_secret_to_another_host() -> None:
    pages = GivenPages(
        {f"{SITE}/a": moved("/b"), f"{SITE}/b": moved("http://other.test/c"), "http://other.test/c": "there"}
    )
    fetcher = made(HttpFetcher, urls=f"{SITE}/a", headers={"X-Key": {"secret": "key"}})

    found = await stream(fetcher, egress=pages, secrets={"key": "hunter2"})

    assert found.items[0]["url"] == "http://other.test/c"
    assert [request.headers.get("X-Key") for request in pages.asked] == ["hunter2", "hunter2", None]


async def test_http_gives_up_on_a_page_that_only_leads_on() -> None:
    with pytest.raises(ChainFailed, match="redirected more than 10 times"):
        await stream(made(HttpFetcher, urls=f"{SITE}/a"), egress=GivenPages({f"{SITE}/a": moved("/a")}))


async def test_a_secret_that_is_not_there_ends_the_run_and_says_how_to_set_it() -> None:
    fetcher = made(HttpFetcher, urls=f"{SITE}/a", headers={"X-Key": {"secret": "key"}})

    with pytest.raises(ChainFailed, match="there is no secret 'key': set it with foliot secret set key"):
        await stream(fetcher, egress=GivenPages({f"{SITE}/a": "a"}), on_error="skip")


async def test_http_keeps_no_more_requests_under_way_than_it_is_told() -> None:
    class Slow(GivenPages):
        now, most = 0, 0

        async def send(self, request: OutgoingRequest) -> OutgoingResponse:
            Slow.now += 1
            Slow.most = max(Slow.most, Slow.now)
            await asyncio.sleep(0.001)
            Slow.now -= 1
            return await super().send(request)

    urls = [f"{SITE}/{number}" for number in range(20)]
    await stream(made(HttpFetcher, urls=urls, concurrency=3), egress=Slow(dict.fromkeys(urls, "x")))

    assert Slow.most == 3


async def test_two_requests_to_the_same_host_begin_apart_from_each_other() -> None:
    begun: list[tuple[str, float]] = []

    class Timed(GivenPages):
        async def send(self, request: OutgoingRequest) -> OutgoingResponse:
            begun.append((request.url, asyncio.get_running_loop().time()))
            return await super().send(request)

    urls = [f"{SITE}/1", f"{SITE}/2", f"{SITE}/3", "http://other.test/1"]
    await stream(made(HttpFetcher, urls=urls, delay_seconds=0.05), egress=Timed(dict.fromkeys(urls, "x")))

    assert [url for url, _ in begun] == [urls[0], urls[3], urls[1], urls[2]]
    # The first may have been held up on its way.
    assert begun[3][1] - begun[0][1] >= 0.09


async def test_requests_under_way_are_cancelled_when_a_later_step_fails() -> None:
    class Hanging(GivenPages):
        ended = 0

        async def send(self, request: OutgoingRequest) -> OutgoingResponse:
            if request.url.endswith("/0"):
                return await super().send(request)
            try:
                await asyncio.Event().wait()
            finally:
                Hanging.ended += 1
            raise AssertionError

    class Break(Transform):
        async def handle(self, item: Item, ctx: StepContext) -> Item | None:
            ctx.give_up("enough")

    urls = [f"{SITE}/{number}" for number in range(5)]
    with pytest.raises(ChainFailed, match="enough"):
        await stream(made(HttpFetcher, urls=urls, concurrency=4), Break(), egress=Hanging(dict.fromkeys(urls, "x")))

    assert Hanging.ended == 3


async def test_text_in_another_encoding_is_read() -> None:
    page = answer('<meta charset="iso-8859-1"><h1>Smörgås</h1>'.encode("latin-1"), {"Content-Type": "text/html"})

    found = await stream(made(HttpFetcher, urls=f"{SITE}/a"), egress=GivenPages({f"{SITE}/a": page}))

    assert "Smörgås" in found.items[0]["body"]


JAPANESE = f"<html><body><h1>日本語の記事です</h1><p>{'これは古い符号化の頁です。' * 5}</p></body></html>"

RUSSIAN = f"<html><body><h1>Привет, мир</h1><p>{'Страница неверно называет свою кодировку. ' * 5}</p></body></html>"


@pytest.mark.parametrize(
    ("page", "written", "declared"),
    [
        (JAPANESE, "iso2022_jp", "text/html; charset=ISO-2022-JP"),
        (JAPANESE, "iso2022_jp", "text/html"),
        ('<meta charset="iso-2022-jp">' + JAPANESE, "iso2022_jp", "text/html"),
        (JAPANESE, "shift_jis", "text/html; charset=euc-jp"),
        (RUSSIAN, "windows-1251", "text/html; charset=utf-8"),
        ('<meta charset="utf-8">' + RUSSIAN, "windows-1251", "text/html"),
        (RUSSIAN, "utf-8", "text/html; charset=iso-8859-1"),
    ],
)
async def test_a_page_that_switches_by_escapes_or_mislabels_itself_is_read(
    page: str, written: str, declared: str
) -> None:
    site = GivenPages({f"{SITE}/a": answer(page.encode(written), {"Content-Type": declared})})

    found = await stream(
        made(HttpFetcher, urls=f"{SITE}/a"), made(HtmlParser, selectors={"title": "h1", "text": "p"}), egress=site
    )

    assert found.items[0]["title"] in ("日本語の記事です", "Привет, мир")
    assert page.count(found.items[0]["text"]) == 1


RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>
<item><title>One &amp; only</title><link>/one</link><guid isPermaLink="false">g1</guid>
<pubDate>Mon, 06 Sep 2027 00:01:00 +0200</pubDate>
<category>a</category><category>b</category><description>Short</description></item>
<item><title>Two</title><link>http://other.test/two</link></item></channel></rss>"""

ATOM = """<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Atom</title>
<entry><title>Three</title><id>urn:3</id><link href="http://site.test/three"/><updated>2027-01-01T10:00:00Z</updated>
<author><name>Ann</name></author><content type="html">&lt;p&gt;Long&lt;/p&gt;</content></entry></feed>"""


# --- FeedFetcher, SitemapFetcher --------------------------------------------------------------------------------------


async def test_a_feed_becomes_an_item_for_each_entry() -> None:
    pages = GivenPages({f"{SITE}/rss": RSS, f"{SITE}/atom": ATOM})

    found = await stream(made(FeedFetcher, urls=[f"{SITE}/rss", f"{SITE}/atom"]), egress=pages)

    one, two, three = found.items
    assert one == {
        "url": f"{SITE}/one",
        "title": "One & only",
        "id": "g1",
        "summary": "Short",
        "content": None,
        "author": None,
        "published_at": "2027-09-05T22:01:00Z",
        "updated_at": None,
        "tags": ["a", "b"],
        "feed_url": f"{SITE}/rss",
        "feed_title": "News",
    }
    assert (two["url"], two["id"]) == ("http://other.test/two", "http://other.test/two")
    assert (three["author"], three["content"]) == ("Ann", "<p>Long</p>")
    assert three["updated_at"] == "2027-01-01T10:00:00Z"


async def test_a_feed_gives_no_more_than_its_limit() -> None:
    found = await stream(made(FeedFetcher, urls=f"{SITE}/rss", limit=1), egress=GivenPages({f"{SITE}/rss": RSS}))

    assert [item["title"] for item in found.items] == ["One & only"]


@pytest.mark.parametrize("body", ["<html><body>No feed</body></html>", "", "{feed}", "file://{feed}"])
async def test_what_is_no_feed_is_refused_and_never_opened_as_a_path(body: str, tmp_path: Path) -> None:
    feed = tmp_path / "feed.xml"
    feed.write_text(RSS)
    pages = GivenPages({f"{SITE}/a": body.format(feed=feed)})

    found = await stream(made(FeedFetcher, urls=f"{SITE}/a"), egress=pages, on_error="skip")

    assert (found.items, found.failed) == ([], 1)
    assert "this is not a feed" in found.log[0]


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1 if n else str()};" * 10}">' for n in range(9))
    + "<!ENTITY f SYSTEM 'file:///etc/hostname'>]>"
)


async def test_entities_of_a_feed_are_not_unfolded() -> None:
    feed = f"{BOMB}<rss version='2.0'><channel><item><title>x&a8;&f;</title><link>/a</link></item></channel></rss>"

    found = await stream(made(FeedFetcher, urls=f"{SITE}/a"), egress=GivenPages({f"{SITE}/a": feed}), on_error="skip")

    assert all(len(str(item)) < 1000 for item in found.items)


def sitemap(kind: str, places: Iterable[str]) -> str:
    inner = {"urlset": "url", "sitemapindex": "sitemap"}[kind]
    entries = "".join(f"<{inner}><loc>{place}</loc><lastmod>2027-01-01</lastmod></{inner}>" for place in places)
    return f'<?xml version="1.0"?><{kind} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{kind}>'


async def test_a_sitemap_and_those_that_it_names_become_an_item_for_each_page() -> None:
    pages = GivenPages(
        {
            f"{SITE}/sitemap.xml": sitemap("sitemapindex", ["/a.xml", "/b.xml.gz", "/c.txt", "/a.xml"]),
            f"{SITE}/a.xml": sitemap("urlset", [f"{SITE}/1", f"{SITE}/2"]),
            f"{SITE}/b.xml.gz": gzip.compress(sitemap("urlset", [f"{SITE}/3"]).encode()),
            f"{SITE}/c.txt": f"{SITE}/4\n\nno url\n",
        }
    )

    found = await stream(made(SitemapFetcher, urls=f"{SITE}/sitemap.xml"), egress=pages)

    assert [item["url"] for item in found.items] == [f"{SITE}/{number}" for number in (1, 2, 3, 4)]
    assert found.items[0] == {
        "url": f"{SITE}/1",
        "lastmod": "2027-01-01",
        "changefreq": None,
        "priority": None,
        "sitemap": f"{SITE}/a.xml",
    }


async def test_a_large_sitemap_is_read_in_parts_and_a_limit_ends_it() -> None:
    pages = GivenPages({f"{SITE}/s": sitemap("urlset", [f"{SITE}/{number}" for number in range(12_000)])})

    whole = await stream(made(SitemapFetcher, urls=f"{SITE}/s"), egress=pages)
    part = await stream(made(SitemapFetcher, urls=f"{SITE}/s", limit=7), egress=pages)

    assert [item["url"] for item in whole.items] == [f"{SITE}/{number}" for number in range(12_000)]
    assert len(part.items) == 7


@pytest.mark.parametrize(
    "body",
    [
        "<html></html>",
        "not a sitemap",
        f"{BOMB}<b>&a8;&f;</b>",
        gzip.compress(b"0" * 40_000_000),
        b"\x1f\x8bbroken",
        b"\xff\xfe\x00",
    ],
)
async def test_what_is_no_sitemap_is_refused(body: str | bytes) -> None:
    found = await stream(
        made(SitemapFetcher, urls=f"{SITE}/s"), egress=GivenPages({f"{SITE}/s": body}), on_error="skip"
    )

    assert (found.items, found.failed) == ([], 1)


async def test_sitemaps_that_name_each_other_come_to_an_end() -> None:
    pages = GivenPages(
        {f"{SITE}/a": sitemap("sitemapindex", ["/b"]), f"{SITE}/b": sitemap("sitemapindex", ["/a", "/b"])}
    )

    assert (await stream(made(SitemapFetcher, urls=f"{SITE}/a"), egress=pages)).items == []
    assert len(pages.asked) <= 3


LIST = """<html><head><base href="/shop/"></head><body><h1> All <b>things</b> </h1>
<div class="p"><a href="one">One</a><i>1</i><i>2</i></div><div class="p"><a href="/two">Two</a></div></body></html>"""


# --- HtmlParser, JsonParser -------------------------------------------------------------------------------------------


async def test_html_reads_fields_by_css_and_leaves_the_page_out() -> None:
    parser = made(HtmlParser, selectors={"title": "h1", "own": "h1::text", "link": "a::attr(href)", "no": ".none"})

    found = await stream(parser, items=[{"url": f"{SITE}/x", "body": LIST, "id": 1}])

    assert found.items == [
        {
            "url": f"{SITE}/x",
            "id": 1,
            "title": "All things",
            "own": "All",
            "link": f"{SITE}/shop/one",
            "no": None,
        }
    ]


async def test_html_makes_an_item_of_each_element_and_lists_of_all() -> None:
    parser = made(
        HtmlParser, each=".p", selectors={"url": "a::attr(href)", "name": "a", "all": {"css": "i", "all": True}}
    )

    found = await stream(parser, items=[{"url": SITE, "body": LIST}])

    assert found.items == [
        {"url": f"{SITE}/shop/one", "name": "One", "all": ["1", "2"]},
        {"url": f"{SITE}/two", "name": "Two", "all": []},
    ]


async def test_html_fails_an_item_without_what_is_required_or_without_a_page() -> None:
    parser = made(HtmlParser, selectors={"title": "h2"}, required="title")

    found = await stream(parser, items=[{"id": 1, "body": LIST}, {"id": 2}, {"id": 3, "body": ""}], on_error="skip")

    assert (found.items, found.failed) == ([], 3)
    assert found.log[:2] == [
        "warning: HtmlParser: left out: 1: nothing was found for title",
        "warning: HtmlParser: left out: 2: has no text in its field 'body'",
    ]


async def test_json_makes_an_item_of_each_element() -> None:
    body = orjson.dumps({"data": {"list": [{"id": 1, "in": {"n": 2}}, {"id": 2}, 7]}}).decode()

    whole = await stream(made(JsonParser, path="data.list"), items=[{"url": SITE, "body": body}])
    some = await stream(made(JsonParser, path="data.list", fields={"n": "in.n"}, keep=True), items=[{"body": body}])
    one = await stream(made(JsonParser, path="data.list.1"), items=[{"body": body}])

    assert whole.items == [{"url": SITE, "id": 1, "in": {"n": 2}}, {"url": SITE, "id": 2}, {"url": SITE, "value": 7}]
    assert [item["n"] for item in some.items] == [2, None, None]
    assert one.items == [{"id": 2}]


async def test_json_fails_an_item_that_has_none_or_nothing_there() -> None:
    items = [{"id": 1, "body": "{"}, {"id": 2, "body": "{}"}, {"id": 3, "body": "[" * 100_000}]

    found = await stream(made(JsonParser, path="a.b"), items=items, on_error="skip")

    assert (found.items, found.failed) == ([], 3)


LISTS = """<h1>One <b>bold</b></h1><img alt="Picture" src="/a.png"><h2>Two</h2>
<ul><li>a<ul><li>inner</li></ul> z</li><li class="last">b</li></ul><svg xlink:href="#x"/>"""


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("h1::text, h2::text", ["One", "Two"]),
        ("h2, h1", ["One bold", "Two"]),
        ("img::attr(alt), h2, h1::text", ["One", "Picture", "Two"]),
        ("h1, h1, h1::text", ["One bold", "One"]),
        ("li::text", ["a z", "inner", "b"]),
        (":is(h1, h2)::text", ["One", "Two"]),
        ("svg::attr(xlink:href)", ["#x"]),
        ("//h1 | //h2", ["One bold", "Two"]),
        ("//h1/text()", ["One"]),
        ("//img/@src", [f"{SITE}/a.png"]),
        ("(//li)[last()]", ["b"]),
        ("//li[has-class('last')]", ["b"]),
        ("//li[contains(., 'inner')]/ul/li", ["inner"]),
        ("(count(//li))", ["3"]),
        ("(count(//li) > 2)", ["true"]),
        ("//li[not(following-sibling::li) and (text() = 'b' or @x = 're:test($y)')]", ["b"]),
        ("//comment() | //none", []),
    ],
)
async def test_selectors_may_be_lists_and_xpath(selector: str, found: list[str]) -> None:
    parser = made(HtmlParser, selectors={"all": {"css": selector, "all": True}, "first": selector})

    read = await stream(parser, items=[{"url": f"{SITE}/", "body": LISTS}])

    assert read.items[0]["all"] == found
    assert read.items[0]["first"] == (found[0] if found else None)


async def test_an_xpath_may_be_named_as_one_and_find_the_items() -> None:
    parser = made(HtmlParser, each="//li/text()", selectors={"n": {"xpath": "count(.//li)"}, "own": "::text"})

    read = await stream(parser, items=[{"url": f"{SITE}/", "body": LISTS}])

    assert [(item["n"], item["own"]) for item in read.items] == [("1", "a z"), ("0", "inner"), ("0", "b")]


@pytest.mark.parametrize(
    ("selector", "complaint"),
    [
        ("h1::before", "is not a CSS selector: The pseudo-element ::before is unknown"),
        ("//h1[", "is not an XPath expression: Invalid expression"),
        ("//h1[re:test(., '(a+)+$')]", "is not an XPath expression: it has no function or prefix 're:test'"),
        ("//xlink:href", "is not an XPath expression: it has no function or prefix 'xlink:'"),
        ("//a[$b]", "is not an XPath expression: it has no function or prefix '$b'"),
        ("//h1[frob()]", "is not an XPath expression: it has no function or prefix 'frob'"),
        ("//*" * 51, "has 51 steps; at most 50 are allowed"),
        ("//a/following::b/preceding::c/following-sibling::d", "uses following or preceding axes 3 times"),
        ("//a[//b[//c[//d[//e]]]]", "nests predicates 4 deep; at most 3 levels are allowed"),
        ("b ~ b ~ b ~ b", "has 3 combinators ~; at most 2 are allowed"),
        (", ".join(["h1", " > ".join("a" * 52)]), "has 51 combinators; at most 50 are allowed"),
    ],
)
def test_a_selector_that_is_none_or_takes_too_long_is_refused(selector: str, complaint: str) -> None:
    for kind, kwargs in (
        (HtmlParser, {"selectors": {"a": selector}}),
        (HtmlParser, {"selectors": {"a": "h1"}, "each": selector}),
        (PriceExtractor, {"selectors": [selector]}),
    ):
        with pytest.raises(ValueError, match=re.escape(complaint)):
            made(kind, **kwargs)


def test_a_pick_is_css_or_xpath() -> None:
    for pick in ({"all": True}, {"css": "h1", "xpath": "//h1"}):
        with pytest.raises(ValueError, match="must have either css or xpath"):
            made(HtmlParser, selectors={"a": pick})


# --- ArticleExtractor, PriceExtractor ---------------------------------------------------------------------------------


async def test_an_article_is_read_off_its_page() -> None:
    item = {"url": f"{SITE}/a", "body": (PAGES / "news-en.html").read_text()}

    found = await stream(ArticleExtractor(), items=[item, {"url": f"{SITE}/b", "body": "<p></p>"}], on_error="skip")

    (article,) = found.items
    assert set(article) == {
        *("url", "title", "content", "author", "published_at", "language", "canonical_url", "image"),
    }
    assert article["language"] == "en-gb"
    assert len(article["content"]) > 500
    assert found.log == [f"warning: ArticleExtractor: left out: {SITE}/b: no article was found on the page"]


async def test_a_price_is_found_on_a_page_and_in_a_text() -> None:
    shop = {"id": 1, "body": (PAGES / "shop-en.html").read_text()}
    items = [shop, {"id": 2, "body": "<b class=x>12,50 €</b>"}, {"id": 3, "body": "1.299,00 €"}, {"id": 4, "body": "?"}]

    found = await stream(made(PriceExtractor, selectors=[".x"]), items=items, on_error="skip")

    assert found.items == [
        {"id": 1, "price": "129.00", "currency": "GBP", "price_source": "json_ld"},
        {"id": 2, "price": "12.50", "currency": "EUR", "price_source": "selector"},
        {"id": 3, "price": "1299.00", "currency": "EUR", "price_source": "text"},
    ]
    assert found.failed == 1
