"""Pages from real hosts, read by real processes: each becomes an article, or an error in words; none is waited for."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from foliot import __version__
from foliot.cluster import machine
from foliot.cluster.page_reader import SILENCE, ProcessDied
from foliot.cluster.process_pool import Child, ProcessPool, reader_pool
from foliot.engine.model.run import Fence
from foliot.features.articles.fetch.extractor_pool import ExtractorPool, FetchedPage
from foliot.features.articles.fetch.scraper import PageScraper
from foliot.features.articles.model import ClaimedArticle, ExtractedPage
from foliot.features.fetching.answer import LONGEST_PAUSE
from foliot.features.fetching.fetcher import PageFetcher
from foliot.features.fetching.model import NO_WORD, FetchFailure, PageMoved, PageUnchanged, RobotsRules, host_of
from foliot.net.client import HttpEgress
from foliot.testing import StoppedClock
from tests.certificates import self_signed
from tests.features.articles.newsstand import Answer, Newsstand, answer, moved, newsstand, story
from tests.net.outside import names

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOW = datetime(2027, 1, 4, 12, tzinfo=UTC)
READERS = 2
SLOW = "<html><body><p " + " ".join(f"a{at}" for at in range(100_000)) + ">text</p>"
"""Takes its reader minutes."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[ProcessPool]:
    """One for all tests: a process takes a while to start."""
    made = reader_pool(machine.ReaderCapacity(READERS, 1024 * machine.MEBIBYTE))
    assert made.warm_up is not None
    await made.call(made.warm_up, SILENCE, timedelta(seconds=60))
    yield made
    await made.close()


def a_scraper(egress: HttpEgress, pool: ProcessPool, *, fetch: float = 60, read: float = 60) -> PageScraper:
    return PageScraper(
        fetcher=PageFetcher(egress=egress, timeout=timedelta(seconds=fetch)),
        readers=ExtractorPool(pool=pool, many=READERS, patience=timedelta(seconds=read)),
        clock=StoppedClock(NOW),
    )


@asynccontextmanager
async def scraping(pool: ProcessPool, **limits: float) -> AsyncIterator[tuple[PageScraper, Newsstand]]:
    """In local mode, where this machine may be called."""
    async with newsstand() as stand, HttpEgress(loopback=True) as egress:
        yield a_scraper(egress, pool, **limits), stand


def wanted(url: str, **given: Any) -> ClaimedArticle:
    host = url.partition("://")[2].partition("/")[0]
    return ClaimedArticle(
        fence=Fence("art_1", 1, "tok_1"), tenant_id="acme", url=url, host=host, attempt=1, start_at=NOW, **given
    )


async def followed(scraper: PageScraper, url: str, **given: Any) -> ExtractedPage | PageUnchanged | FetchFailure:
    """Where each answer leads, one turn after the other, as the engine does."""
    asked = wanted(url, **given)
    while isinstance(found := await scraper.scrape(asked), PageMoved):
        asked = replace(asked, url=found.url, host=host_of(found.url), moves=asked.moves + 1)
    return found


async def scraped(scraper: PageScraper, url: str, **given: Any) -> ExtractedPage:
    found = await followed(scraper, url, **given)
    assert isinstance(found, ExtractedPage), found
    return found


async def missed(scraper: PageScraper, url: str, **given: Any) -> FetchFailure:
    found = await followed(scraper, url, **given)
    assert isinstance(found, FetchFailure), found
    assert found.problem.message.endswith("."), "in words"
    assert not any(word in found.problem.message for word in ("Errno", "Traceback", "Exception", "object at"))
    return found


# --- fetching ---------------------------------------------------------------------------------------------------------


async def test_many_pages_of_a_host_come_through_one_connection(pool: ProcessPool) -> None:
    async with scraping(pool) as (scraper, stand):
        for number in range(10):
            stand.paths[f"/{number}"] = answer(story(f"Story {number}"))
            assert (await scraped(scraper, stand.url(f"/{number}"))).title == f"Story {number}"

        assert len(stand.asked) == 10
        assert stand.connections == 1


async def test_we_say_who_we_are(pool: ProcessPool) -> None:
    async with scraping(pool) as (scraper, stand):
        stand.paths["/a"] = answer(story())
        await scraped(scraper, stand.url("/a"))
        await scraper.robots(wanted(stand.url("/a")))

        assert [headers["user-agent"] for _, headers in stand.asked] == [f"Foliot/{__version__}"] * 2
        assert not {name for _, headers in stand.asked for name in headers} & {"cookie", "referer", "authorization"}


async def test_a_page_that_has_not_changed_is_not_sent_again(pool: ProcessPool) -> None:
    async with scraping(pool) as (scraper, stand):
        stand.paths["/a"] = answer(story(), 'ETag: "v1"', "Last-Modified: Mon, 04 Jan 2027 10:00:00 GMT")
        first = await scraped(scraper, stand.url("/a"))
        stand.paths["/a"] = b"HTTP/1.1 304 Not Modified\r\n\r\n"
        again = await scraper.scrape(wanted(stand.url("/a"), etag=first.etag, last_modified=first.last_modified))

        assert isinstance(again, PageUnchanged)
        asked = stand.asked[-1][1]
        assert (asked["if-none-match"], asked["if-modified-since"]) == ('"v1"', "Mon, 04 Jan 2027 10:00:00 GMT")


async def test_a_moved_page_is_followed(pool: ProcessPool) -> None:
    async with scraping(pool) as (scraper, stand):
        stand.paths |= {"/old": moved("/newer"), "/newer": moved("new?a=1"), "/new?a=1": answer(story("Moved"))}
        found = await scraped(scraper, stand.url("/old"))

        assert found.title == "Moved"
        assert found.canonical_url == stand.url("/new?a=1")


async def test_a_page_that_leads_inside_is_not_followed_there(pool: ProcessPool) -> None:
    """The first host is one that the operator allows; where it sends us to is checked like any other address."""
    async with newsstand("127.0.0.2") as stand, newsstand("127.0.0.3") as sink:
        ports, resolver = [stand.port, sink.port], names(["127.0.0.2"], ["127.0.0.3"])
        async with HttpEgress(allow="127.0.0.2/32", ports=ports, resolver=resolver) as egress:
            scraper, url = a_scraper(egress, pool), f"http://news.test:{stand.port}/a"
            for where, code in (
                (sink.url("/secret"), "address_refused"),
                (f"http://inside.test:{sink.port}/secret", "target_unreachable"),
                ("file:///etc/passwd", "bad_redirect"),
                ("javascript:alert(1)", "bad_redirect"),
            ):
                resolver.asked = 0
                stand.paths["/a"] = moved(where)
                assert (await missed(scraper, url)).problem.code == code, where

        assert len(stand.asked) == 4
        assert sink.connections == 0


async def test_a_name_that_leads_inside_is_not_called(pool: ProcessPool) -> None:
    async with newsstand() as sink, HttpEgress(ports=[sink.port], resolver=names(["127.0.0.1"])) as egress:
        found = await missed(a_scraper(egress, pool), f"http://news.test:{sink.port}/a")

        assert found.problem.code == "target_unreachable"
        assert sink.connections == 0


async def test_a_page_that_moves_for_ever_is_given_up(pool: ProcessPool) -> None:
    async with scraping(pool) as (scraper, stand):
        stand.paths |= {"/a": moved("/b"), "/b": moved("/a")}
        found = await missed(scraper, stand.url("/a"))

        assert (found.problem.code, found.permanent) == ("too_many_redirects", True)
        assert len(stand.asked) == 11


async def test_a_host_says_what_it_allows(pool: ProcessPool) -> None:
    async with scraping(pool) as (scraper, stand):
        rules = "User-agent: *\nDisallow: /private\nCrawl-delay: 2\n"
        stand.paths["/robots.txt"] = answer(rules, "Content-Type: text/plain")
        stand.paths |= {"/open": answer(story()), "/door": moved("/private/a"), "/private/a": answer(story())}
        allowed = await scraper.robots(wanted(stand.url("/open")))

        assert allowed == RobotsRules(rules, timedelta(seconds=2))
        await scraped(scraper, stand.url("/open"), robots=rules)
        for path in ("/private/a", "/door"):
            found = await missed(scraper, stand.url(path), robots=rules)
            assert (found.problem.code, found.permanent) == ("robots_disallowed", True)
        assert [path for path, _ in stand.asked] == ["/robots.txt", "/open", "/door"]


async def test_a_host_without_rules_allows_everything_and_one_in_trouble_nothing(pool: ProcessPool) -> None:
    async with scraping(pool) as (scraper, stand):
        assert await scraper.robots(wanted(stand.url("/a"))) == RobotsRules("")

        stand.paths["/robots.txt"] = answer(b"", status="503 Service Unavailable")
        found = await scraper.robots(wanted(stand.url("/a")))
        assert found == RobotsRules(NO_WORD, pause=timedelta(seconds=10))
        unheard = await scraper.scrape(replace(wanted(stand.url("/a")), robots=NO_WORD))
        assert isinstance(unheard, FetchFailure)
        assert (unheard.problem.code, unheard.permanent) == ("robots_unavailable", False)


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>")
    for _ in range(100):
        writer.write(b"<p>and on and on</p>" * 20_000)
        await writer.drain()


async def dripping(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>")
    for _ in range(1000):
        writer.write(b"<p>slowly</p>")
        await writer.drain()
        await asyncio.sleep(0.05)


async def cut(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<html>")
    await writer.drain()


BOMB = answer(gzip.compress(bytes(64 * 1024 * 1024)), "Content-Encoding: gzip")
WALL = (
    "<html><body><h1>Members only</h1><p>Sign in to read on.</p>"
    '<form><input name="user"><input type="password" name="pass"></form></body></html>'
)

BAD: dict[str, tuple[Answer, str, bool]] = {
    "not found": (answer(b"", status="404 Not Found"), "http_404", True),
    "gone": (answer(b"", status="410 Gone"), "http_410", True),
    "forbidden": (answer(b"no", status="403 Forbidden"), "http_403", True),
    "unauthorised": (answer(b"no", status="401 Unauthorized"), "http_401", True),
    "crowded": (answer(b"", "Retry-After: 7", status="429 Too Many Requests"), "http_429", False),
    "broken host": (answer(b"", status="500 Internal Server Error"), "http_500", False),
    "away": (answer(b"", status="503 Service Unavailable"), "http_503", False),
    "odd status": (answer(b"", status="799 What"), "http_799", True),
    "a document": (answer(b"%PDF-1.7", "Content-Type: application/pdf"), "not_html", True),
    "binary": (answer(bytes(range(256)) * 10, "Content-Type: text/html"), "not_html", True),
    "empty": (answer(b" \n "), "empty_page", True),
    "no text": (answer("<html><body><div id=app></div><script>go()</script></body></html>"), "no_text", True),
    "a million tags": (answer("<div>" * 1_000_000 + "<p>deep</p>"), "unreadable", True),
    "a login wall": (answer(WALL), "sign_in", True),
    "endless": (endless, "too_large", True),
    "a bomb": (BOMB, "too_large", True),
    "damaged": (answer(gzip.compress(b"<p>text</p>" * 99)[:20], "Content-Encoding: gzip"), "damaged", True),
    "cut off": (cut, "bad_response", False),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "bad_response", False),
    "to nowhere": (moved("http://[oops/"), "bad_redirect", True),
}


@pytest.mark.parametrize("name", BAD)
async def test_each_bad_page_has_an_error_in_words(pool: ProcessPool, name: str) -> None:
    given, code, permanent = BAD[name]
    async with scraping(pool) as (scraper, stand):
        stand.paths["/a"] = given
        found = await missed(scraper, stand.url("/a"))

    assert (found.problem.code, found.permanent) == (code, permanent)
    assert found.retry_after == (timedelta(seconds=7) if name == "crowded" else None)


async def test_a_page_that_drips_is_given_up_in_time(pool: ProcessPool) -> None:
    async with scraping(pool, fetch=0.5) as (scraper, stand):
        stand.paths["/a"] = dripping
        found = await missed(scraper, stand.url("/a"))

        assert (found.problem.code, found.permanent) == ("target_timeout", False)


async def test_nobody_at_home(pool: ProcessPool) -> None:
    async with newsstand() as stand:
        url = stand.url("/a")
    async with HttpEgress(loopback=True) as egress:
        found = await missed(a_scraper(egress, pool), url)

    assert (found.problem.code, found.permanent) == ("target_unreachable", False)


async def test_a_certificate_that_nobody_vouches_for_is_refused(pool: ProcessPool, tmp_path: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(self_signed(tmp_path / "self.pem"))
    async with newsstand(tls=tls) as stand, HttpEgress(loopback=True) as egress:
        found = await missed(a_scraper(egress, pool), stand.url("/a"))

        assert (found.problem.code, found.permanent) == ("tls_failed", True)
        assert stand.asked == []


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "content_type", "word"),
    [
        (story(text="Größe").encode("cp1252"), "text/html; charset=windows-1252", "Größe"),
        (story(text="Größe").encode(), "text/html; charset=iso-8859-1", "Größe"),
        (b"\xef\xbb\xbf" + story(text="Größe").encode(), "text/html; charset=koi8-r", "Größe"),
        (story(text="Привет, мир").encode("cp1251"), "text/html; charset=utf-8", "Привет, мир"),
        (story(text="日本語の文章").encode("utf-16"), "text/html", "日本語の文章"),
        (story(text="日本語の文章").encode("iso2022_jp"), "text/html; charset=iso-2022-jp", "日本語の文章"),
        (story(text="x\x00y &#0; &#xD800; z").encode(), "text/html", "z"),
        (b"Plain text, as it is.\n\nNothing more.", "text/plain", "Nothing more."),
        ((story(text="unclosed <b>bold <i>and").replace("</p>", "").replace("</article>", "")).encode(), "", "bold"),
    ],
    ids=["named", "UTF-8 named latin", "mark", "named wrongly", "wide", "escapes", "unkept", "plain", "broken"],
)
async def test_bytes_become_text(pool: ProcessPool, body: bytes, content_type: str, word: str) -> None:
    async with scraping(pool) as (scraper, stand):
        stand.paths["/a"] = answer(body, f"Content-Type: {content_type}")
        found = await scraped(scraper, stand.url("/a"))

    assert word in (found.content or "")
    assert "\x00" not in (found.content or "")


async def test_characters_that_nobody_keeps_are_left_out(pool: ProcessPool) -> None:
    data = r'{"@type": "NewsArticle", "headline": "A \ud800 B", "author": {"@type": "Person", "name": "C\u0000 D"}}'
    page = story().replace("</head>", f'<script type="application/ld+json">{data}</script></head>')
    async with scraping(pool) as (scraper, stand):
        stand.paths["/a"] = answer(page)
        found = await scraped(scraper, stand.url("/a"))

    assert "\x00" not in (found.author or "")
    assert (found.title or "").encode()


async def test_a_long_article_is_kept_whole(pool: ProcessPool) -> None:
    async with scraping(pool) as (scraper, stand):
        long = "Sentence after sentence, it goes on and on, as long ones do. " * 10_000
        stand.paths["/a"] = answer(story(text=f"{long} The end of it."))
        found = await scraped(scraper, stand.url("/a"))

    assert "The end of it." in (found.content or "")


async def busy(pool: ProcessPool, count: int) -> list[Child]:
    """The processes that read, as soon as there are so many."""
    async with asyncio.timeout(60):
        while len(found := [child for child in pool._all if child not in pool._idle]) < count:
            await asyncio.sleep(0.02)
    return found


async def test_a_page_that_hangs_its_reader_costs_that_page_only(pool: ProcessPool) -> None:
    """Two readers and more slow pages than readers: whoever waits behind them is not blamed for it."""
    async with scraping(pool, read=2) as (scraper, stand):
        stand.paths["/slow"] = answer(SLOW)
        stand.paths["/a"] = answer(story())
        slow = [asyncio.create_task(missed(scraper, stand.url("/slow"))) for _ in range(READERS + 1)]
        await busy(pool, READERS)
        good = [asyncio.create_task(scraped(scraper, stand.url("/a"))) for _ in range(5)]
        async with asyncio.timeout(120):
            outcomes = await asyncio.gather(*slow)
            assert {found.problem.code for found in outcomes} == {"unreadable"}
            assert all(found.permanent for found in outcomes)
            assert len(await asyncio.gather(*good)) == 5


async def test_a_page_that_kills_its_reader_costs_that_page_only(pool: ProcessPool) -> None:
    async with scraping(pool) as (scraper, stand):
        stand.paths["/slow"] = answer(SLOW)
        stand.paths["/a"] = answer(story())
        await scraped(scraper, stand.url("/a"))
        dying = asyncio.create_task(missed(scraper, stand.url("/slow")))
        child = (await busy(pool, 1))[0]
        await scraped(scraper, stand.url("/a"))
        # As the system does when memory runs out.
        os.kill(child.process.pid, signal.SIGKILL)
        found = await dying

        assert (found.problem.code, found.permanent) == ("unreadable", False)
        assert "reader" in found.problem.message
        await asyncio.gather(*(scraped(scraper, stand.url("/a")) for _ in range(4)))


class DyingReaders:
    """Every page crashes its process."""

    async def read(self, page: FetchedPage) -> dict[str, Any]:
        raise ProcessDied("the process was ended by signal 9")


async def test_a_host_whose_pages_keep_killing_their_readers_waits(pool: ProcessPool) -> None:
    async with scraping(pool) as (made, stand):
        stand.paths["/bomb"] = answer(story("Bomb"))
        clock = StoppedClock(NOW)
        scraper = replace(made, clock=clock, readers=cast("Any", DyingReaders()))

        assert (await missed(scraper, stand.url("/bomb"))).pause is None, "another page may have used the memory"
        second = await missed(scraper, stand.url("/bomb"))
        assert (second.permanent, second.pause) == (False, LONGEST_PAUSE)
        clock.advance(3600)
        assert (await missed(scraper, stand.url("/bomb"))).pause is None
