"""Steps of pipelines and a real site on loopback: what they fetch, where they may not go, and what they post."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest

from foliot.features.pipelines.chain.run import ChainFailed, is_permanent
from foliot.features.pipelines.steps.feeds import FeedFetcher, SitemapFetcher
from foliot.features.pipelines.steps.fetchers import HttpFetcher
from foliot.features.pipelines.steps.parsers import HtmlParser
from foliot.features.pipelines.steps.sinks import CsvSink, WebhookSink
from foliot.net.client import HttpEgress
from foliot.testing import stream
from tests.site import Site, a_site


@pytest.fixture
def site() -> Iterator[Site]:
    with a_site(5) as made:
        here = made.url.rstrip("/")
        links = "".join(f"<item><title>Page {n}</title><link>{here}/p/{n}</link></item>" for n in range(1, 4))
        made.given["/feed"] = (
            200,
            {"Content-Type": "application/rss+xml"},
            f"<rss version='2.0'><channel>{links}</channel></rss>",
        )
        places = "".join(f"<url><loc>{here}/p/{n}</loc></url>" for n in range(1, 5))
        made.given["/sitemap.xml"] = (200, {"Content-Type": "application/xml"}, f"<urlset>{places}</urlset>")
        made.given["/moved"] = (302, {"Location": "/p/1"}, "")
        made.given["/inside"] = (302, {"Location": "http://127.0.0.2:9/secret"}, "")
        yield made


@pytest.fixture
async def local() -> AsyncIterator[HttpEgress]:
    """As in local mode: this machine may be called."""
    egress = HttpEgress(loopback=True)
    await egress.start()
    yield egress
    await egress.close()


@pytest.fixture
async def guarded(site: Site) -> AsyncIterator[HttpEgress]:
    """As with accounts: only the site is allowed of all that is private."""
    egress = HttpEgress(allow=[f"127.0.0.1:{site.server_port}"])
    await egress.start()
    yield egress
    await egress.close()


async def test_a_feed_becomes_a_table(site: Site, local: HttpEgress, tmp_path: Path) -> None:
    found = await stream(
        FeedFetcher(urls=[f"{site.url}feed"]),
        HttpFetcher(),
        HtmlParser.model_validate({"selectors": {"number": "h1", "home": "a::attr(href)"}}),
        CsvSink(path="pages.csv", columns=["title", "number", "home"]),
        egress=local,
        out=tmp_path,
    )

    assert [step["out"] for step in found.steps] == [3, 3, 3, 3]
    assert (tmp_path / "pages.csv").read_text().splitlines() == [
        "title,number,home",
        *(f"Page {n},{n},{site.url}" for n in range(1, 4)),
    ]


async def test_a_sitemap_leads_to_its_pages(site: Site, local: HttpEgress) -> None:
    found = await stream(SitemapFetcher(urls=[f"{site.url}sitemap.xml"]), HttpFetcher(concurrency=2), egress=local)

    assert [item["status"] for item in found.items] == [200] * 4
    assert sum(count for path, count in site.asked.items() if path.startswith("/p/")) == 4


async def test_every_step_of_a_redirect_is_checked(site: Site, guarded: HttpEgress) -> None:
    found = await stream(HttpFetcher(urls=[f"{site.url}moved"]), egress=guarded)
    with pytest.raises(ChainFailed, match="may not be called") as failed:
        await stream(HttpFetcher(urls=[f"{site.url}inside"]), egress=guarded)

    assert found.items[0]["url"] == f"{site.url}p/1"
    assert failed.value.step == "HttpFetcher"


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/", "http://169.254.169.254/latest", "file:///etc/hostname", "http://[::1]/", "gopher://a"],
)
async def test_steps_go_nowhere_inside(url: str, guarded: HttpEgress) -> None:
    found = await stream(HttpFetcher(urls=[url]), egress=guarded, on_error="skip")

    assert (found.items, found.failed) == ([], 1)


async def test_a_webhook_sink_goes_nowhere_inside_either(guarded: HttpEgress) -> None:
    with pytest.raises(ChainFailed) as failed:
        await stream(WebhookSink(url="http://127.0.0.1:1/"), items=[{"id": 1}], egress=guarded)

    assert is_permanent(failed.value.cause)


async def test_items_are_posted(local: HttpEgress) -> None:
    with a_target() as (url, taken):
        found = await stream(WebhookSink(url=url, batch_size=2), items=[{"id": n} for n in range(3)], egress=local)

    assert [[item["id"] for item in body["items"]] for _, body in taken] == [[0, 1], [2]]
    assert len({headers["Idempotency-Key"] for headers, _ in taken}) == 2
    assert [item["id"] for item in found.items] == [0, 1, 2]


@contextmanager
def a_target() -> Iterator[tuple[str, list[tuple[Any, Any]]]]:
    """Takes what is posted."""
    taken: list[tuple[Any, Any]] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append((dict(self.headers), orjson.loads(body)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Taking) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", taken
        finally:
            server.shutdown()
            thread.join()
