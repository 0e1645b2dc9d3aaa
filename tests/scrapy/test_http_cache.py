"""The cache that spiders share, in a real Redis, through real crawls."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from scrapy.http import HtmlResponse, Response
from scrapy.settings import Settings

from foliot.scrapy.http_cache import DamagedEntry, ResponsePacker
from tests.crawling import Crawl, crawl
from tests.redis_server import NoRedis, RedisServer
from tests.services import absent
from tests.site import Site, a_site

pytestmark = pytest.mark.timeout(180)

PASSWORD = "s3cret"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    made = RedisServer(tmp_path_factory.mktemp("redis"))
    try:
        made.start()
    except NoRedis as missing:
        absent(missing)
    yield made
    made.stop()


@pytest.fixture
def redis(server: RedisServer) -> Iterator[Redis]:
    with Redis.from_url(server.url) as client:
        client.flushdb()
        client.config_set("maxmemory", "0")
        yield client


@pytest.fixture
def site() -> Iterator[Site]:
    with a_site(5) as made:
        yield made


def walk(home: Path, site: Site, url: str, arguments: dict[str, Any] | None = None, **settings: object) -> Crawl:
    given = {"FOLIOT_EGRESS_LOOPBACK": "1", "FOLIOT_CACHE_URL": url, "ROBOTSTXT_OBEY": False} | settings
    return crawl(home, settings=given, start_urls=site.url, depth="1", **(arguments or {}))


def test_what_was_fetched_is_not_fetched_again_unless_the_crawl_wants_it_fresh(
    site: Site, server: RedisServer, redis: Redis, tmp_path: Path
) -> None:
    first = walk(tmp_path, site, server.url, FOLIOT_CACHE_COMPRESSION="zstd", HTTPCACHE_EXPIRATION_SECS=77)
    keys: Any = redis.keys("*")
    assert {key.rpartition(b":")[0] for key in keys} == {b"foliot:http::DiscoveryBot:seo"}
    assert all(0 < int(redis.ttl(key)) <= 77 for key in keys)  # type: ignore[arg-type, unused-ignore]

    second = walk(tmp_path, site, server.url, {"ignore_cache": "false"})
    assert [page["cached"] for page in first.items + second.items] == [False] * 5 + [True] * 5
    assert set(site.asked.values()) == {1}
    assert plain(second) == plain(first)

    site.given["/"] = (200, {}, "<title>New</title>")
    fresh = walk(tmp_path, site, server.url, {"ignore_cache": "true"})
    after = walk(tmp_path, site, server.url)
    assert [(page["title"], page["cached"]) for page in fresh.items + after.items] == [("New", False), ("New", True)]
    assert max(int(redis.ttl(key)) for key in keys) > 77  # type: ignore[arg-type, unused-ignore]


def plain(done: Crawl) -> list[str]:
    """What was found, however it came."""
    return sorted(str({name: value for name, value in page.items() if name != "cached"}) for page in done.items)


def test_tenants_do_not_see_what_was_fetched_for_others_and_large_pages_are_not_kept(
    site: Site, server: RedisServer, redis: Redis, tmp_path: Path
) -> None:
    site.given["/p/1"] = (200, {}, f"<title>Large</title>{'x' * 5000}")
    walk(tmp_path, site, server.url, FOLIOT_CACHE_SCOPE="acme", FOLIOT_CACHE_LARGEST=4000)
    assert len(redis.keys("*")) == 4  # type: ignore[arg-type, unused-ignore]

    other = walk(tmp_path, site, server.url, FOLIOT_CACHE_SCOPE="globex")

    assert [page["cached"] for page in other.items] == [False] * 5


def test_without_redis_the_crawl_goes_on_and_says_so_once(site: Site, tmp_path: Path) -> None:
    done = walk(tmp_path, site, f"redis://bot:{PASSWORD}@127.0.0.1:1/0")

    assert len(done.items) == 5
    assert done.log.count("the crawl continues without it") == 1
    assert "The cache at 127.0.0.1:1 is not available" in done.log
    assert PASSWORD not in done.log + done.told
    assert done.stat("log_count/ERROR") is None


def test_a_redis_that_is_full_is_still_read_and_damaged_entries_are_fetched_again(
    site: Site, server: RedisServer, redis: Redis, tmp_path: Path
) -> None:
    walk(tmp_path, site, server.url)
    spoiled: Any = redis.keys("*")
    for key in spoiled[:2]:
        redis.set(key, b"\x80\x04cposix\nsystem\n")
    redis.config_set("maxmemory", "1")
    done = walk(tmp_path, site, server.url)

    assert sorted(page["cached"] for page in done.items) == [False, False, True, True, True]
    assert done.log.count("the crawl continues without it") == 1
    assert done.stat("httpcache/retrieve_error") is None


def test_without_an_address_nothing_is_cached_and_it_is_said(site: Site, tmp_path: Path) -> None:
    done = walk(tmp_path, site, "")

    assert len(done.items) == 5
    assert "Nothing is cached: set FOLIOT_CACHE_URL or REDIS_URL" in done.log


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("FOLIOT_CACHE_COMPRESSION", "lzma", "must be zlib, zstd or none, got 'lzma'"),
        ("FOLIOT_CACHE_LARGEST", "big", "must be a whole number, got 'big'"),
        ("FOLIOT_IGNORE_CACHE", "maybe", "must be true or false, got 'maybe'"),
    ],
)
def test_a_setting_that_cannot_be_read_is_named(name: str, value: str, said: str) -> None:
    from foliot.scrapy import RedisCacheStorage

    with pytest.raises(ValueError, match=f"{name}: {said}"):
        RedisCacheStorage(Settings({name: value}))


# --- how a response lies there ----------------------------------------------------------------------------------------


def a_page() -> Response:
    headers = {"Content-Type": "text/html; charset=latin-1", "Set-Cookie": ["a=1", "b=\xff"], "X": b"\xfe\x00"}
    return HtmlResponse("http://a.test/?q=\u00e4", status=404, headers=headers, body=b"<title>\xe4</title>")


@pytest.mark.parametrize("compression", ["zlib", "zstd", "none"])
def test_a_response_comes_out_as_it_went_in(compression: str) -> None:
    page, packer = a_page(), ResponsePacker(compression, 1000)
    packed = packer.pack(page)
    assert packed is not None
    found = packer.unpack(packed)

    assert type(found) is HtmlResponse
    assert (found.url, found.status, found.body) == (page.url, page.status, page.body)
    assert found.headers == page.headers
    assert found.text == "<title>\u00e4</title>"


@pytest.mark.parametrize("compression", ["zlib", "zstd", "none"])
def test_every_cut_and_every_foreign_byte_is_a_damaged_entry_and_nothing_worse(compression: str) -> None:
    packer = ResponsePacker(compression, 1000)
    packed = packer.pack(a_page())
    assert packed is not None
    for end in range(len(packed)):
        cut = packed[:end]
        if compression == "none" and end > len(packed) - len(a_page().body):
            continue  # a shorter body: without a checksum only the compressed forms can tell
        try:
            packer.unpack(cut)
        except DamagedEntry:
            continue
        assert compression == "none"
    for place in range(len(packed)):
        broken = bytearray(packed)
        broken[place] ^= 0xFF
        try:
            packer.unpack(bytes(broken))
        except DamagedEntry:
            continue


@pytest.mark.parametrize("compression", ["zlib", "zstd"])
def test_an_entry_that_grows_beyond_all_measure_is_not_unpacked(compression: str) -> None:
    packed = ResponsePacker(compression, 64 << 20).pack(Response("http://a.test/", body=bytes(32 << 20)))
    assert packed is not None

    tracemalloc.start()
    with pytest.raises(DamagedEntry):
        ResponsePacker(compression, 1 << 20).unpack(packed)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 16 << 20
