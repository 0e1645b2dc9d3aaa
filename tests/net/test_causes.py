"""The cause of a failed request: told in one line, or hidden where it could map a network."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.core.egress import EgressFailed, OutgoingRequest
from foliot.net import allow
from foliot.net.client import HttpEgress
from foliot.net.failures import HIDDEN
from tests.certificates import signed
from tests.net.outside import get, hold, names, serving
from tests.net.test_tenant_turns import closed, filtered, unknown

SHORT = timedelta(seconds=0.3)


async def failure_of(egress: HttpEgress, request: OutgoingRequest) -> EgressFailed:
    with pytest.raises(EgressFailed) as caught:
        await egress.send(request)
    return caught.value


async def test_a_closed_port_says_refused_where_and_after_how_long() -> None:
    gone = await closed()
    async with HttpEgress(loopback=True) as egress:
        failure = await failure_of(egress, get(f"http://127.0.0.1:{gone.port}/"))

    assert (failure.code, failure.cause) == ("target_unreachable", "connect_refused")
    assert failure.detail.startswith(f"connect: connection refused, 127.0.0.1:{gone.port}, after ")
    assert failure.timing["connect_ms"] is None
    assert failure.timing["total_ms"] is not None


async def test_a_filtered_port_says_for_how_long_it_was_silent() -> None:
    with filtered() as port:
        async with HttpEgress(loopback=True, connect=SHORT) as egress:
            failure = await failure_of(egress, get(f"http://127.0.0.1:{port}/"))

    assert (failure.code, failure.cause) == ("target_unreachable", "connect_timeout")
    assert failure.detail == f"connect: no answer from 127.0.0.1:{port} within 0.3 s"


async def test_an_unknown_name_is_named() -> None:
    async with HttpEgress(loopback=True, resolver=unknown) as egress:
        failure = await failure_of(egress, get("http://shop.example/"))

    assert (failure.cause, failure.detail) == ("dns_failed", "DNS: no such host shop.example")


async def test_a_name_server_that_fails_is_no_unknown_name() -> None:
    async def again(host: str) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    async with HttpEgress(loopback=True, resolver=again) as egress:
        failure = await failure_of(egress, get("http://shop.example/"))

    assert (failure.cause, failure.detail) == ("dns_failed", "DNS: the name server does not answer for shop.example")


async def test_a_silent_target_and_one_that_stops_in_its_answer_differ() -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        await hold(reader, writer)

    async with HttpEgress(loopback=True) as egress, serving(hold) as silent, serving(half) as slow:
        first = await failure_of(egress, get(f"http://127.0.0.1:{silent.port}/", timeout=SHORT))
        body = await failure_of(egress, get(f"http://127.0.0.1:{slow.port}/", timeout=SHORT))

    assert {first.code, body.code} == {"target_timeout"}
    assert (first.cause, first.detail) == ("first_byte_timeout", "no answer within 0.3 s")
    assert (body.cause, body.detail) == ("body_timeout", "answer not complete within 0.3 s")
    assert first.timing["first_byte_ms"] is None
    assert body.timing["first_byte_ms"] is not None


@pytest.mark.parametrize(
    ("name", "days", "line"),
    [
        ("shop.example", -3, "TLS: certificate expired 3 days ago"),
        ("other.example", 3, "TLS: certificate is for other.example, not shop.example"),
    ],
)
async def test_a_certificate_that_is_not_accepted_says_why(name: str, days: int, line: str, tmp_path: Path) -> None:
    authority, chain = signed(tmp_path, name, ends=timedelta(days=days, minutes=-1 if days < 0 else 0))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain)
    trusting = ssl.create_default_context(cafile=str(authority))
    async with (
        serving(tls=context) as target,
        HttpEgress(loopback=True, resolver=names(["127.0.0.1"]), tls=trusting) as egress,
    ):
        failure = await failure_of(egress, get(f"https://shop.example:{target.port}/"))

    assert (failure.code, failure.cause, failure.detail) == ("tls_failed", "tls_failed", line)
    assert target.requests == []


async def test_https_to_a_port_that_speaks_http_says_so() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, HttpEgress(loopback=True) as egress:
        failure = await failure_of(egress, get(f"https://127.0.0.1:{port}/"))

    assert failure.detail == f"TLS: port {port} of 127.0.0.1 does not speak TLS; is the URL's scheme http?"


async def test_a_handshake_that_is_never_answered_is_no_silent_port() -> None:
    async with serving(hold) as target, HttpEgress(loopback=True) as egress:
        failure = await failure_of(egress, get(f"https://127.0.0.1:{target.port}/", timeout=SHORT))

    assert (failure.code, failure.cause) == ("target_unreachable", "tls_failed")
    assert failure.detail == f"TLS: handshake with 127.0.0.1:{target.port} not complete within 0.3 s"


async def test_the_phases_of_an_answer_are_measured(tmp_path: Path) -> None:
    authority, chain = signed(tmp_path, "shop.example", ends=timedelta(days=1))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain)
    trusting = ssl.create_default_context(cafile=str(authority))
    async with (
        serving(tls=context) as target,
        HttpEgress(loopback=True, resolver=names(["127.0.0.1"]), tls=trusting) as egress,
    ):
        fresh = (await egress.send(get(f"https://shop.example:{target.port}/"))).timing
        kept = (await egress.send(get(f"https://shop.example:{target.port}/"))).timing

    phases = [fresh[name] for name in ("dns_ms", "connect_ms", "tls_ms", "first_byte_ms", "total_ms")]
    assert all(phase is not None for phase in phases)
    assert sum(phase or 0 for phase in phases[:-1]) <= (fresh["total_ms"] or 0) + 1
    assert (kept["connect_ms"], kept["tls_ms"]) == (None, None)


# --- what a tenant may know outside local mode ------------------------------------------------------------------------


async def test_a_named_host_is_told_about_and_a_network_is_not() -> None:
    gone = await closed()
    request = get(f"http://hooks.test:{gone.port}/")
    async with HttpEgress(allow=f"hooks.test:{gone.port}", resolver=names(["127.0.0.1"])) as egress:
        named = await failure_of(egress, request)
    async with HttpEgress(allow="127.0.0.0/8", ports=[gone.port], resolver=names(["127.0.0.1"])) as egress:
        within = await failure_of(egress, request)

    assert named.cause == "connect_refused"
    assert (within.cause, list(within.timing)) == ("target_unreachable", ["total_ms"])
    assert within.detail == f"The target could not be reached. {HIDDEN}"


async def test_a_public_address_is_told_about(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = await closed()
    monkeypatch.setattr(allow, "is_public", lambda address: True)
    async with HttpEgress(ports=[gone.port], resolver=names(["127.0.0.2"])) as egress:
        assert (await failure_of(egress, get(f"http://hooks.test:{gone.port}/"))).cause == "connect_refused"


async def test_an_unknown_name_and_an_internal_one_cannot_be_told_apart() -> None:
    seen = set()
    for resolver in (unknown, names(["10.0.0.1"]), names([])):
        async with HttpEgress(resolver=resolver) as egress:
            failure = await failure_of(egress, get("http://hooks.test/"))
        assert failure.timing.keys() == {"total_ms"}
        assert (failure.timing["total_ms"] or 0) >= 249
        seen.add((failure.code, failure.cause, failure.detail, str(failure)))

    assert len(seen) == 1


async def test_a_certificate_inside_is_not_described(tmp_path: Path) -> None:
    _, chain = signed(tmp_path, "secret.internal", ends=timedelta(days=1))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain)
    async with (
        serving(tls=context) as target,
        HttpEgress(allow="127.0.0.0/8", ports=[target.port], resolver=names(["127.0.0.1"])) as egress,
    ):
        failure = await failure_of(egress, get(f"https://hooks.test:{target.port}/"))

    assert failure.code == "tls_failed"
    assert failure.detail == f"No secure connection to the target could be made. {HIDDEN}"
    assert target.connections <= 1
