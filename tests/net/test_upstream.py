"""Requests through an upstream proxy: the guard decides on the target first, and the proxy hears an address alone."""

from __future__ import annotations

import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.core.egress import EgressFailed, EgressRefused
from foliot.core.errors import Invalid
from foliot.net.allow import EgressRules
from foliot.net.client import HttpEgress
from foliot.net.failures import Unreachable
from foliot.net.guard import EgressGuard
from foliot.net.tcp import TcpEgress
from foliot.net.upstream import UpstreamFailed, UpstreamProxy
from tests.certificates import signed
from tests.net.outside import get, names, serving
from tests.net.upstream_proxies import proxying

SCHEMES = pytest.mark.parametrize("scheme", ["http", "socks5"])


@SCHEMES
@pytest.mark.parametrize(("login", "written"), [("", ""), ("kim:p@ss word", "kim:p%40ss%20word")])
async def test_a_request_goes_through_the_proxy_to_the_checked_address(scheme: str, login: str, written: str) -> None:
    async with (
        serving() as target,
        proxying(scheme, login=login) as proxy,
        HttpEgress(loopback=True, resolver=names(["127.0.0.1"])) as egress,
    ):
        for _ in range(2):
            answer = await egress.send(get(f"http://shop.test:{target.port}/a", proxy=proxy.url(written)))
            assert answer.body == b"ok"

    assert proxy.asked == [f"127.0.0.1:{target.port}"], "one connection, by address"
    assert b"Host: shop.test" in target.requests[0]


@SCHEMES
async def test_tls_is_with_the_target_and_not_with_the_proxy(scheme: str, tmp_path: Path) -> None:
    root, chain = signed(tmp_path, "shop.test", ends=timedelta(days=1))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(chain)
    trusting = ssl.create_default_context(cafile=root)
    async with (
        serving(tls=server) as target,
        proxying(scheme) as proxy,
        HttpEgress(loopback=True, resolver=names(["127.0.0.1"]), tls=trusting) as egress,
    ):
        answer = await egress.send(get(f"https://shop.test:{target.port}/", proxy=proxy.url()))

    assert answer.status == 200
    assert len(proxy.asked) == 1


@SCHEMES
async def test_the_guard_refuses_a_target_before_the_proxy_hears_of_it(scheme: str) -> None:
    async with (
        proxying(scheme) as proxy,
        HttpEgress(
            allow=[f"127.0.0.1:{proxy.port}"],
            resolver=names(["10.0.0.8"], ["169.254.169.254"], ["93.184.216.34", "::1"]),
        ) as egress,
    ):
        for url in ("http://169.254.169.254/", "http://10.0.0.8/", "http://[::1]/", "http://localhost/"):
            with pytest.raises(EgressRefused):
                await egress.send(get(url, proxy=proxy.url()))
        for _ in range(3):
            with pytest.raises(Unreachable):
                await egress.send(get("http://rebound.test/", proxy=proxy.url()))

    assert proxy.asked == []


async def test_a_proxy_must_be_allowed_like_a_target() -> None:
    async with proxying("socks5") as proxy, HttpEgress(resolver=names(["10.0.0.8"])) as egress:
        with pytest.raises(EgressRefused, match="upstream proxy"):
            await egress.send(get("http://93.184.216.34/", proxy=proxy.url()))
        with pytest.raises(EgressFailed, match="gave no connection"):
            await egress.send(get("http://93.184.216.34/", proxy="http://inner.test:8080"))

    assert proxy.asked == []


@SCHEMES
async def test_a_proxy_that_refuses_is_named_and_its_password_is_not(scheme: str) -> None:
    async with (
        serving() as target,
        proxying(scheme, login="kim:right") as shut,
        proxying(scheme, refuses=True) as refusing,
        HttpEgress(loopback=True) as egress,
    ):
        for url in (shut.url("kim:wrong-word"), shut.url(""), refusing.url(), "http://127.0.0.1:1"):
            with pytest.raises(UpstreamFailed) as failed:
                await egress.send(get(f"http://127.0.0.1:{target.port}/", proxy=url))
            assert failed.value.code == "proxy_failed"
            assert "wrong-word" not in f"{failed.value} {failed.value.detail}"

    assert target.connections == 0


async def test_connections_are_not_shared_between_proxies() -> None:
    async with (
        serving() as target,
        proxying("http") as one,
        proxying("socks5") as other,
        HttpEgress(loopback=True) as egress,
    ):
        for proxy in (one.url(), other.url(), None, one.url()):
            await egress.send(get(f"http://127.0.0.1:{target.port}/", proxy=proxy))

    assert (len(one.asked), len(other.asked), target.connections) == (1, 1, 3)


@SCHEMES
async def test_a_tcp_connection_leads_through_the_proxy_under_the_narrower_rules_of_the_target(scheme: str) -> None:
    rules = EgressRules.read(loopback=True, allow=[], ports=[])
    async with serving() as target, proxying(scheme) as proxy:
        tcp = TcpEgress(guard=EgressGuard(rules))
        narrow = rules.for_page("127.0.0.1", target.port)
        sock = await tcp.open("127.0.0.1", target.port, "acme", rules=narrow, upstream=proxy.url())
        sock.close()
        with pytest.raises(EgressRefused):
            await tcp.open("127.0.0.1", proxy.port, "acme", rules=narrow, upstream=proxy.url())
        tcp.close()

    assert proxy.asked == [f"127.0.0.1:{target.port}"]


@pytest.mark.parametrize(
    "url", ["ftp://proxy:1", "http://", "socks5://proxy:99999", "http://proxy/path", "socks5://a" + "b" * 300 + "@p:1"]
)
def test_what_is_no_proxy_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        UpstreamProxy.read(url)
    assert "b" * 20 not in str(refused.value)
