"""The egress proxy, asked by a real client for real servers on this machine."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
import pytest

from foliot.core.egress import EgressRefused
from foliot.net.allow import EgressRules
from foliot.net.failures import Unreachable
from foliot.net.guard import EgressGuard
from foliot.net.proxy import EgressProxy
from foliot.net.tcp import TcpEgress
from tests.net.outside import serving


def tcp(
    *, loopback: bool = False, allow: Sequence[str] = (), ports: Sequence[int] = (), names: Sequence[str] = ()
) -> TcpEgress:
    async def resolve(host: str, tenant_id: str) -> Sequence[str]:
        return names

    rules = EgressRules.read(loopback=loopback, allow=list(allow), ports=list(ports))
    return TcpEgress(guard=EgressGuard(rules), resolve=resolve if names else None)


@asynccontextmanager
async def proxy(egress: TcpEgress) -> AsyncIterator[EgressProxy]:
    server = EgressProxy(tcp=egress, idle=5)
    await server.start()
    try:
        yield server
    finally:
        await server.close()
        egress.close()


async def get(url: str, through: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url, proxy=through) as answer:
        return answer.status, await answer.text()


async def test_a_plain_request_reaches_its_target_without_the_password_of_the_proxy() -> None:
    async with serving() as target, proxy(tcp(loopback=True)) as server, server.client("acme") as url:
        assert await get(f"http://127.0.0.1:{target.port}/a?b=c", url) == (200, "ok")
    (head,) = target.requests
    assert head.startswith(b"GET /a?b=c HTTP/1.1\r\n")
    assert b"proxy-" not in head.lower()


async def test_a_tunnel_carries_bytes_in_both_directions() -> None:
    async with serving() as target, proxy(tcp(loopback=True)) as server, server.client("acme") as url:
        reader, writer = await tunnel(url, f"127.0.0.1:{target.port}")
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await reader.readuntil(b"ok") == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        await closed(writer)
    assert target.connections == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "169.254.169.254", "2130706433", "0.0.0.0"])
async def test_an_address_inside_is_refused_for_tunnels_and_plain_requests(host: str) -> None:
    async with serving() as sink, proxy(tcp(ports=[sink.port])) as server, server.client("acme") as url:
        status, _ = await get(f"http://{host}:{sink.port}/", url)
        assert status in {400, 403}
        assert await refused(url, f"{host}:{sink.port}") == 403
    assert sink.connections == 0


async def test_a_name_that_leads_inside_is_unreachable() -> None:
    async with (
        serving() as sink,
        proxy(tcp(ports=[sink.port], names=["127.0.0.1"])) as server,
        server.client("acme") as url,
    ):
        assert (await get(f"http://rebound.test:{sink.port}/", url))[0] == 502
        assert await refused(url, f"rebound.test:{sink.port}") == 502
    assert sink.connections == 0


async def test_a_port_that_is_not_allowed_is_refused() -> None:
    async with (
        serving(address="127.0.0.2") as sink,
        proxy(tcp(allow=["127.0.0.2/32"], ports=[443])) as server,
        server.client("acme") as url,
    ):
        assert await refused(url, f"127.0.0.2:{sink.port}") == 403
    assert sink.connections == 0


async def test_nothing_is_forwarded_without_the_password() -> None:
    async with serving() as target, proxy(tcp(loopback=True)) as server, server.client("acme") as url:
        bare = f"http://127.0.0.1:{server.port}"
        wrong = url.replace(urlsplit(url).password or "", "0" * 32)
        for address in (bare, wrong):
            assert (await get(f"http://127.0.0.1:{target.port}/", address))[0] == 407
    assert target.connections == 0


async def test_a_password_ends_with_its_program_and_cuts_its_connections() -> None:
    async with serving() as target, proxy(tcp(loopback=True)) as server:
        async with server.client("acme") as url:
            reader, writer = await tunnel(url, f"127.0.0.1:{target.port}")
        async with asyncio.timeout(5):
            assert await reader.read() == b""
        await closed(writer)
        assert (await get(f"http://127.0.0.1:{target.port}/", url))[0] == 407


async def test_a_program_that_transfers_more_than_it_may_is_cut_off() -> None:
    body = b"x" * 100_000
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + body
    async with (
        serving(answer) as target,
        proxy(tcp(loopback=True)) as server,
        server.client("acme", transfer=50_000) as url,
    ):
        with pytest.raises(aiohttp.ClientError):
            await get(f"http://127.0.0.1:{target.port}/", url)


@pytest.mark.parametrize("line", ["GET /relative HTTP/1.1", "GET ftp://x/ HTTP/1.1", "CONNECT nowhere HTTP/1.1", "x"])
async def test_a_request_that_is_no_proxy_request_is_answered(line: str) -> None:
    async with proxy(tcp(loopback=True)) as server, server.client("acme") as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"{line}\r\nProxy-Authorization: {basic(url)}\r\n\r\n".encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")
        await closed(writer)


async def test_a_tcp_connection_is_refused_like_a_request() -> None:
    async with serving() as sink:
        with pytest.raises(EgressRefused):
            await tcp(ports=[sink.port]).open("127.0.0.1", sink.port, "acme")
        with pytest.raises(Unreachable):
            await tcp(ports=[sink.port], names=["127.0.0.2", "127.0.0.1"]).open("mixed.test", sink.port, "acme")
    assert sink.connections == 0


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    await writer.wait_closed()


def basic(url: str) -> str:
    parts = urlsplit(url)
    return "Basic " + base64.b64encode(f"{parts.username}:{parts.password}".encode()).decode()


async def tunnel(url: str, authority: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
    writer.write(f"CONNECT {authority} HTTP/1.1\r\nProxy-Authorization: {basic(url)}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), head
    return reader, writer


async def refused(url: str, authority: str) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
    writer.write(f"CONNECT {authority} HTTP/1.1\r\nProxy-Authorization: {basic(url)}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    await closed(writer)
    return int(head.split(b" ")[1])
