"""The egress proxy against hostile targets and programs: one request per connection, and bounds of all else."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from foliot.net.allow import EgressRules
from foliot.net.client_hello import NoClientHello, read_client_hello
from foliot.net.guard import EgressGuard
from foliot.net.proxy import CONNECTIONS, EgressProxy, ProxyGrant
from foliot.net.tcp import TcpEgress
from tests.certificates import self_signed
from tests.net.outside import OK, hold, serving
from tests.net.test_proxy import basic, closed, get, proxy, refused, tcp, tunnel


@dataclass
class Flipping:
    """A name server that gives its answers in turn, the last one for ever."""

    answers: list[Sequence[str]]
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str, tenant_id: str) -> Sequence[str]:
        self.asked.append(host)
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


async def answers(url: str, request: str) -> bytes:
    """What comes back for these bytes until the proxy closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
    writer.write(request.replace("AUTH", f"Proxy-Authorization: {basic(url)}").encode())
    async with asyncio.timeout(10):
        data = await reader.read()
    await closed(writer)
    return data


# --- what a target may do ---------------------------------------------------------------------------------------------


async def test_a_target_that_keeps_its_connection_does_not_get_the_next_request_for_another_host() -> None:
    """A browser would send it cookies of the other host, and believe its answer."""
    lasting = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\nok"
    async with (
        serving(lasting) as hostile,
        serving() as other,
        proxy(tcp(loopback=True)) as server,
        server.client("acme") as url,
    ):
        first = f"GET http://127.0.0.1:{hostile.port}/ HTTP/1.1\r\nAUTH\r\n\r\n"
        second = f"GET http://127.0.0.1:{other.port}/secret HTTP/1.1\r\nAUTH\r\nCookie: a=b\r\n\r\n"
        answer = await answers(url, first + second)
    assert answer.count(b"HTTP/1.1 200 OK") <= 1
    assert b"keep-alive" not in answer.lower()
    assert len(hostile.requests) <= 1
    assert not any(b"secret" in each or b"Cookie" in each for each in hostile.requests)
    assert other.connections == 0


async def test_the_answer_says_that_the_connection_ends_and_keeps_what_is_not_about_it() -> None:
    answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nconnection: Keep-Alive\r\nSet-Cookie: a=b\r\n\r\nbody"

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    async with serving(once) as target, proxy(tcp(loopback=True)) as server, server.client("acme") as url:
        got = await answers(url, f"GET http://127.0.0.1:{target.port}/ HTTP/1.1\r\nAUTH\r\n\r\n")
    assert got == b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nConnection: close\r\n\r\nbody"


async def test_an_upgrade_to_a_websocket_is_neither_asked_for_nor_passed_on() -> None:
    upgrade = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    async with serving(upgrade) as target, proxy(tcp(loopback=True)) as server, server.client("acme") as url:
        head = f"GET http://127.0.0.1:{target.port}/ HTTP/1.1\r\nAUTH\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        answer = await answers(url, head + "\r\n")
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert b"upgrade" not in target.requests[0].lower()


async def test_an_answer_that_is_no_http_is_not_passed_on() -> None:
    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n\r\n")

    async with serving(nonsense) as target, proxy(tcp(loopback=True)) as server, server.client("acme") as url:
        answer = await answers(url, f"GET http://127.0.0.1:{target.port}/ HTTP/1.1\r\nAUTH\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert b"ESMTP" not in answer


async def test_a_name_is_looked_up_once_for_each_connection_and_judged_each_time() -> None:
    names = Flipping([["127.0.0.2"], ["127.0.0.1"]])
    async with serving(address="127.0.0.2") as allowed, serving(port=allowed.port) as inside:
        rules = EgressRules.read(loopback=False, allow=["127.0.0.2/32"], ports=[allowed.port])
        egress = TcpEgress(guard=EgressGuard(rules), resolve=names)
        async with proxy(egress) as server, server.client("acme") as url:
            assert await get(f"http://flips.test:{allowed.port}/", url) == (200, "ok")
            assert (await get(f"http://flips.test:{allowed.port}/", url))[0] == 502
            assert await refused(url, f"flips.test:{allowed.port}") == 502
        assert (allowed.connections, inside.connections) == (1, 0)
    assert len(names.asked) == 3


# --- what a program may do --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ("Transfer-Encoding: chunked", 411),
        ("Content-Length: 1\r\nContent-Length: 2", 400),
        ("Content-Length: -1", 400),
        ("Content-Length : 1", 400),
        ("X: a\nY: b", 400),
        ("no colon", 400),
        (f"X: {'x' * 20_000}", 431),
    ],
)
async def test_a_request_whose_end_is_in_doubt_is_refused(headers: str, status: int) -> None:
    async with serving() as target, proxy(tcp(loopback=True)) as server, server.client("acme") as url:
        request = f"POST http://127.0.0.1:{target.port}/ HTTP/1.1\r\nAUTH\r\n{headers}\r\n\r\n"
        assert (await answers(url, request)).startswith(f"HTTP/1.1 {status} ".encode())
    assert target.connections == 0


async def test_a_body_is_forwarded_to_its_length() -> None:
    bodies: list[bytes] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        bodies.append(await reader.readexactly(5))
        writer.write(OK)
        await writer.drain()
        bodies.append(await reader.read())

    async with serving(echo) as target, proxy(tcp(loopback=True)) as server, server.client("acme") as url:
        request = f"POST http://127.0.0.1:{target.port}/ HTTP/1.1\r\nAUTH\r\nContent-Length: 5\r\n\r\nhello"
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
        writer.write(request.replace("AUTH", f"Proxy-Authorization: {basic(url)}").encode())
        await reader.readuntil(b"ok")
        writer.write(b"more than that")
        assert await reader.read() == b""
        await closed(writer)
    assert bodies == [b"hello", b""]


async def test_a_slow_head_and_an_old_connection_are_cut_off() -> None:
    server = EgressProxy(tcp=tcp(loopback=True), head_seconds=0.2, lifetime=0.5)
    await server.start()
    async with serving(hold) as target, server.client("acme") as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET http://example.com/ HTTP/1.1\r\n")
        async with asyncio.timeout(5):
            assert await reader.read() == b""
        await closed(writer)
        reader, writer = await tunnel(url, f"127.0.0.1:{target.port}")
        async with asyncio.timeout(5):
            assert await reader.read() == b""
        await closed(writer)
    await server.close()


async def test_a_program_has_no_more_than_its_connections_and_all_have_no_more_than_theirs() -> None:
    async with (
        serving(hold) as target,
        proxy(tcp(loopback=True)) as server,
        server.client("acme") as url,
        server.client("beta") as other,
    ):
        held = [(await tunnel(url, f"127.0.0.1:{target.port}"))[1] for _ in range(CONNECTIONS)]
        assert await refused(url, f"127.0.0.1:{target.port}") == 429
        assert await refused(other, f"127.0.0.1:{target.port}") == 200
        for writer in held:
            await closed(writer)
    crowded = EgressProxy(tcp=tcp(loopback=True), most=1)
    await crowded.start()
    _, first = await asyncio.open_connection("127.0.0.1", crowded.port)
    await asyncio.sleep(0)
    reader, second = await asyncio.open_connection("127.0.0.1", crowded.port)
    async with asyncio.timeout(5):
        assert await reader.read() == b""
    await closed(first)
    await closed(second)
    await crowded.close()


# --- tunnels of a browser ---------------------------------------------------------------------------------------------


@asynccontextmanager
async def browsers(rules: EgressRules | None = None) -> AsyncIterator[ProxyGrant]:
    async with proxy(tcp(loopback=True)) as server, server.grant("acme", secure_tunnels=True, rules=rules) as grant:
        yield grant


async def test_a_tunnel_of_a_browser_carries_nothing_but_tls() -> None:
    async with serving() as target, browsers() as grant:
        reader, writer = await tunnel(grant.url, f"127.0.0.1:{target.port}")
        writer.write(b"GET /socket HTTP/1.1\r\nUpgrade: websocket\r\n\r\n")
        async with asyncio.timeout(5):
            assert await reader.read() == b""
        await closed(writer)
        assert grant.client.refusals == 1
    assert target.requests == []


@pytest.mark.parametrize(("offered", "passes"), [(["h2", "http/1.1"], True), ([], True), (["http/1.1"], False)])
async def test_a_tunnel_of_a_browser_that_offers_http_1_alone_is_a_websocket(
    offered: list[str], passes: bool, tmp_path: Path
) -> None:
    chain = self_signed(tmp_path / "chain.pem")
    there = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    there.load_cert_chain(chain)
    context = ssl.create_default_context(cafile=str(chain))
    if offered:
        context.set_alpn_protocols(offered)
    async with serving(tls=there) as target, browsers() as grant:
        reader, writer = await tunnel(grant.url, f"127.0.0.1:{target.port}")
        try:
            await writer.start_tls(context, server_hostname="127.0.0.1")
        except (ssl.SSLError, ConnectionError):
            assert not passes
        else:
            assert passes
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await reader.readuntil(b"ok")
        with contextlib.suppress(ConnectionError):
            await closed(writer)
    assert len(target.requests) == passes


@pytest.mark.parametrize("junk", [b"", b"\x16\x03", b"\x16\x03\x01\xff\xff", b"\x16\x03\x01\x00\x04\x02\x00\x00\x00"])
async def test_what_is_no_client_hello_is_recognised(junk: bytes) -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(junk)
    reader.feed_eof()
    with pytest.raises(NoClientHello):
        await read_client_hello(reader)


async def test_a_client_hello_that_is_cut_short_offers_nothing() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(b"\x16\x03\x01\x00\x28\x01" + b"\xff" * 39)
    assert (await read_client_hello(reader)).protocols == ()


async def test_in_local_mode_a_page_reaches_its_own_server_and_no_other_on_this_machine() -> None:
    local = EgressRules.read(loopback=True, allow=[], ports=[])
    async with serving() as shop, serving() as decoy, browsers(local.for_page("127.0.0.1", shop.port)) as grant:
        assert (await get(f"http://127.0.0.1:{shop.port}/", grant.url))[0] == 200
        for host in ("127.0.0.1", "localhost", "[::1]", "169.254.169.254"):
            assert (await get(f"http://{host}:{decoy.port}/", grant.url))[0] == 403
            assert await refused(grant.url, f"{host}:{decoy.port}") == 403
    assert (shop.connections, decoy.connections) == (1, 0)


def test_a_page_of_a_public_host_opens_no_loopback_and_the_operators_rules_stay_as_they_are() -> None:
    local = EgressRules.read(loopback=True, allow=[], ports=[])
    public = local.for_page("example.com", 9000)
    assert public.allows_port("example.com", 9000)
    assert not public.allows_name("localhost", 9000)
    strict = EgressRules.read(loopback=False, allow=["10.0.0.0/8"], ports=[443])
    assert strict.for_page("127.0.0.1", 80) is strict
