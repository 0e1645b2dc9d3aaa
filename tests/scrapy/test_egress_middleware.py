"""Where a spider may go: Foliot's rules hold for real requests of a real Scrapy, whatever a page says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crawling import Crawl, crawl
from tests.scrapyd_server import TESTBOT
from tests.site import Site, a_site

INSIDE = "127.0.0.9"

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def outside() -> Iterator[Site]:
    """Stands for the internet: the operator named it, as `outside.test`."""
    with a_site(3) as site:
        yield site


@pytest.fixture
def inside() -> Iterator[Site]:
    """What nobody may reach: it must not be asked even once."""
    with a_site(3, host=INSIDE) as site:
        yield site
        assert not site.asked, "a forbidden address was dialled"


def walk(home: Path, outside: Site, inside: Site, start: str = "", **settings: object) -> Crawl:
    """In secured mode; both ports are open, so that only the addresses decide."""
    allowed = {
        "FOLIOT_EGRESS_ALLOW": f"outside.test:{outside.server_port},127.0.0.1:{inside.server_port}",
        "FOLIOT_EGRESS_PORTS": f"{outside.server_port},{inside.server_port}",
        "RETRY_TIMES": 0,
    }
    names = {
        "outside.test": [["127.0.0.1"]],
        "inside.test": [[INSIDE]],
        "mixed.test": [["127.0.0.1", INSIDE]],
    }
    start = start or f"http://outside.test:{outside.server_port}/"
    return crawl(home, settings=allowed | settings, names=names, start_urls=start, depth="2")


def test_links_lead_nowhere_they_may_not(outside: Site, inside: Site, tmp_path: Path) -> None:
    port = inside.server_port
    for number, place in enumerate(
        [INSIDE, "inside.test", "localhost", "[::1]", "2130706441", "0x7f.9", "a@inside.test"]
    ):
        # Same site by its letter, so that the spider follows: each is a redirect from a page of the allowed one.
        outside.given[f"/to/{number}"] = (302, {"Location": f"http://{place}:{port}/"}, "")
    links = "".join(f'<a href="/to/{number}">x</a>' for number in range(7))
    outside.given["/"] = (200, {}, f"<title>Start</title>{links}")

    done = walk(tmp_path, outside, inside)

    assert [page["title"] for page in done.items] == ["Start"]
    assert done.stat("foliot/egress/refused") >= 6
    assert f"Refused <GET http://{INSIDE}:{port}/>: it must point to a public address" in done.log
    assert "DNS lookup failed" in done.log, "a name that leads inside looks like one that nobody knows"
    assert f"inside.test resolves to {INSIDE}" in done.told, "the operator learns why"
    assert "inside.test leads" not in done.log


@pytest.mark.parametrize("resolver", ["CachingThreadedResolver", "CachingHostnameResolver"])
def test_a_start_that_leads_inside_is_refused(outside: Site, inside: Site, tmp_path: Path, resolver: str) -> None:
    start = f"http://inside.test:{inside.server_port}/,http://{INSIDE}:{inside.server_port}/"
    done = walk(tmp_path, outside, inside, start, TWISTED_DNS_RESOLVER=f"scrapy.resolver.{resolver}")

    assert done.items == []
    assert done.stat("log_count/ERROR") >= 1


def test_one_bad_address_among_good_ones_spoils_the_name(outside: Site, inside: Site, tmp_path: Path) -> None:
    start = f"http://mixed.test:{inside.server_port}/"
    done = walk(tmp_path, outside, inside, start, TWISTED_DNS_RESOLVER="scrapy.resolver.CachingHostnameResolver")

    assert done.items == []
    assert f"mixed.test resolves to {INSIDE}" in done.told


def test_the_address_that_was_looked_at_is_the_one_that_is_dialled(outside: Site, inside: Site, tmp_path: Path) -> None:
    """A name that flips between one lookup and the next wins nothing: each lookup is judged by what it answers."""
    port = inside.server_port
    settings = {
        "FOLIOT_EGRESS_ALLOW": f"127.0.0.1:{port}",
        "FOLIOT_EGRESS_PORTS": str(port),
        "DNSCACHE_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "RETRY_TIMES": 3,
    }
    names = {"flips.test": [["127.0.0.1"], [INSIDE]]}

    done = crawl(tmp_path, settings=settings, names=names, start_urls=f"http://flips.test:{port}/", depth="0")

    # The first answer is allowed and nobody listens there; the others are not.
    assert done.items == []
    assert f"flips.test resolves to {INSIDE}" in done.told
    assert "DNS lookup failed" in done.log


def test_only_the_web_is_gone_to(outside: Site, inside: Site, tmp_path: Path) -> None:
    done = walk(tmp_path, outside, inside, "file:///etc/hostname,ftp://127.0.0.9/x,data:text/html;<title>x</title>")

    assert done.items == []
    assert done.log.count("it must start with http:// or https://") >= 3


def test_a_proxy_is_used_only_when_the_operator_named_it(outside: Site, inside: Site, tmp_path: Path) -> None:
    class_path = "tests.proxied.ThroughProxy"
    through = {"DOWNLOADER_MIDDLEWARES": f'{{"foliot.scrapy.EgressMiddleware": 10000, "{class_path}": 500}}'}

    done = walk(tmp_path, outside, inside, PROXY=f"http://inside.test:{inside.server_port}", **through)

    assert done.items == []
    assert "a proxy that FOLIOT_EGRESS_ALLOW does not name" in done.log
    assert walk(tmp_path, outside, inside, PROXY=f"http://outside.test:{outside.server_port}", **through).items


def test_a_handler_that_looks_names_up_by_itself_is_held_to_the_rules_too(
    outside: Site, inside: Site, tmp_path: Path
) -> None:
    own = {"DOWNLOAD_HANDLERS": '{"http": "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler"}'}

    assert len(walk(tmp_path, outside, inside, **own).items) == 3
    done = walk(tmp_path, outside, inside, f"http://inside.test:{inside.server_port}/", **own)

    assert done.items == []
    assert "its target could not be reached" in done.log


def test_what_answered_from_elsewhere_is_thrown_away(outside: Site, tmp_path: Path) -> None:
    """The second wall: even when the resolver was bypassed, nothing of the answer reaches the spider."""
    settings = {
        "FOLIOT_EGRESS_PORTS": str(outside.server_port),
        "DOWNLOADER_MIDDLEWARES": '{"tests.proxied.Deaf": 10000}',
        "ROBOTSTXT_OBEY": False,
    }
    names = {"inside.test": [["127.0.0.1"]]}
    done = crawl(
        tmp_path, settings=settings, names=names, start_urls=f"http://inside.test:{outside.server_port}/", depth="0"
    )

    assert outside.asked["/"] == 1
    assert done.items == []
    assert "its target could not be reached" in done.log


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("FOLIOT_EGRESS_ALLOW", "10.0.0.1/8", "is not a network such as 10.0.0.0/8"),
        ("FOLIOT_EGRESS_LOOPBACK", "perhaps", "FOLIOT_EGRESS_LOOPBACK: must be true or false, got 'perhaps'"),
    ],
)
def test_a_rule_that_cannot_be_read_lets_nothing_out(
    outside: Site, inside: Site, tmp_path: Path, name: str, value: str, said: str
) -> None:
    done = walk(tmp_path, outside, inside, **{name: value})

    assert (done.items, sum(outside.asked.values())) == ([], 0)
    assert said in done.log + done.told


def test_the_guard_weighs_little(tmp_path: Path) -> None:
    """A spider's process is not to carry the whole of Foliot."""
    import subprocess
    import sys

    heavy = (
        "sqlalchemy, fastapi, pydantic, celery, grpc, redis, foliot.db, foliot.servers, foliot.engine, foliot.commands"
    )
    code = f"import sys, foliot.scrapy; print([name for name in {heavy.split(', ')!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=TESTBOT)

    assert done.stdout.strip() == "[]"
