"""The one way out, against real servers on this machine."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest

from foliot.core.egress import EgressRefused, OutgoingRequest
from foliot.net.client import HttpEgress
from foliot.net.connection_pool import Key, PinnedConnections
from foliot.net.pinned_address import Pin
from foliot.net.response import UndecodableBody, decoders, decompress
from foliot.net.response_limits import BoundedResponseHandler
from tests.net.outside import MIB, body, code_of, get, hold, names, serving

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBmDCCAT6gAwIBAgIUDr0l0LlnJg3vTi62BjFSu7v+fQYwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKaG9va3MudGVzdDAgFw0yNjExMTUyMDQ1MjhaGA8yMTI2MTAy
MjIwNDUyOFowFTETMBEGA1UEAwwKaG9va3MudGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABMh/h/Mh0xz+dutQvS62nIiprjTpfcqvDd81OkCoDOxyVYORVic2
va45oo/H4tVIGtEBcRhOsahF0eFeOJyArAGjajBoMB0GA1UdDgQWBBQf2XT6h25h
wa+QHI1RhWLnkAKXEDAfBgNVHSMEGDAWgBQf2XT6h25hwa+QHI1RhWLnkAKXEDAP
BgNVHRMBAf8EBTADAQH/MBUGA1UdEQQOMAyCCmhvb2tzLnRlc3QwCgYIKoZIzj0E
AwIDSAAwRQIhAM3Iye7uAoa6BioUsNUF6YrTyNK6LZUEaui9xW7xi+O1AiApY1vz
t7LCY/kWCTRQMVx2zO/Bre5p0M4B42Jxqrfk3w==
-----END CERTIFICATE-----
"""
KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCwOp0fGYT6ohTwBV
xZmB8Oxg2x844m4FB0zSJIVyrxGhRANCAATIf4fzIdMc/nbrUL0utpyIqa406X3K
rw3fNTpAqAzsclWDkVYnNr2uOaKPx+LVSBrRAXEYTrGoRdHhXjicgKwB
-----END PRIVATE KEY-----
"""
"""Made for these tests and for the name hooks.test; trusted by nobody else."""


@pytest.fixture
async def local() -> AsyncIterator[HttpEgress]:
    async with HttpEgress(loopback=True) as egress:
        yield egress


# --- where a request may go -------------------------------------------------------------------------------------------


async def test_a_name_that_leads_inside_is_refused_and_the_sink_sees_nothing() -> None:
    async with serving() as sink:
        for inside in ("127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "64:ff9b::7f00:1", "10.0.0.1", "fe80::1%lo"):
            async with HttpEgress(ports=[sink.port], resolver=names([inside])) as egress:
                assert await code_of(egress, get(f"http://inside.test:{sink.port}/")) == "target_unreachable"
    assert sink.connections == 0


async def test_a_literal_address_inside_is_refused_and_the_sink_sees_nothing() -> None:
    async with serving() as sink, HttpEgress(ports=[sink.port]) as egress:
        for host in ("127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]", "localhost", "0.0.0.0"):
            with pytest.raises(EgressRefused):
                await egress.send(get(f"http://{host}:{sink.port}/"))
    assert sink.connections == 0


async def test_one_forbidden_address_among_allowed_ones_spoils_the_name() -> None:
    """127.0.0.2 plays the public address, so that a broken guard would still call nobody but this machine."""
    async with serving(address="127.0.0.2") as target, serving(port=target.port) as sink:
        for mixed in (["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.2", "::1"]):
            async with HttpEgress(allow="127.0.0.2/32", ports=[target.port], resolver=names(mixed)) as egress:
                assert await code_of(egress, get(f"http://mixed.test:{target.port}/")) == "target_unreachable"
    assert (target.connections, sink.connections) == (0, 0)


async def test_a_name_that_changes_its_mind_is_held_to_its_first_answer() -> None:
    async with serving(address="127.0.0.2") as target, serving(port=target.port) as sink:
        flips = names(["127.0.0.2"], ["127.0.0.1"])
        async with HttpEgress(allow="127.0.0.2/32", ports=[target.port], resolver=flips) as egress:
            reply = await egress.send(get(f"http://rebind.test:{target.port}/"))
            assert (reply.status, flips.asked) == (200, 1)

            # The connection of the first request is still open: it must not save the second from its own check.
            assert await code_of(egress, get(f"http://rebind.test:{target.port}/")) == "target_unreachable"
    assert (target.connections, len(target.requests), sink.connections) == (1, 1, 0)


async def test_no_tenant_uses_a_connection_that_another_opened() -> None:
    async with serving() as target, HttpEgress(loopback=True) as egress:
        for tenant in ("acme", "acme", "other", "acme", "other"):
            await egress.send(get(f"http://127.0.0.1:{target.port}/", tenant_id=tenant))
    assert (target.connections, len(target.requests)) == (2, 5)


async def test_a_kept_connection_is_used_again_for_the_same_name_and_address_only() -> None:
    async with serving(address="127.0.0.2") as one, serving(address="127.0.0.3", port=one.port) as two:
        moving = names(["127.0.0.2"], ["127.0.0.2"], ["127.0.0.3"], ["127.0.0.2"])
        async with HttpEgress(loopback=True, resolver=moving) as egress:
            for host in ("a.test", "a.test", "a.test", "b.test"):
                await egress.send(get(f"http://{host}:{one.port}/"))
    assert (one.connections, two.connections) == (2, 1)
    assert [b"a.test" in request for request in one.requests] == [True, True, False]


async def test_the_peer_is_looked_at_before_the_request_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = PinnedConnections._connect

    async def astray(pool: PinnedConnections, key: Key, patience: float, pin: Pin) -> BoundedResponseHandler:
        return await connect(pool, (*key[:2], ip_address("127.0.0.1"), *key[3:]), patience, pin)

    async with serving() as sink, HttpEgress(loopback=True, resolver=names(["127.0.0.9"])) as egress:
        # As if the network had led us elsewhere than we dialled.
        monkeypatch.setattr(PinnedConnections, "_connect", astray)
        assert await code_of(egress, get(f"http://elsewhere.test:{sink.port}/")) == "target_unreachable"
    assert (sink.connections, sink.requests) == (1, [])


async def test_a_request_is_sent_again_after_a_dead_connection_only_if_that_does_no_harm() -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(body(b"ok"))
        await reader.readuntil(b"\r\n\r\n")

    async with serving(once) as target, HttpEgress(loopback=True) as egress:
        url = f"http://127.0.0.1:{target.port}/"
        for _ in range(2):
            assert (await egress.send(get(url))).body == b"ok"
        assert target.connections == 2
        assert await code_of(egress, replace(get(url), method="POST")) == "target_unreachable"
        assert target.connections == 2


async def test_a_connection_that_is_idle_for_long_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foliot.net.connection_pool._IDLE", 0.05)
    async with serving() as target, HttpEgress(loopback=True) as egress:
        await egress.send(get(f"http://127.0.0.1:{target.port}/"))
        async with asyncio.timeout(10):
            while egress._pool._kept:
                await asyncio.sleep(0.01)


async def test_what_is_sent_names_host_length_and_what_it_accepts() -> None:
    async with serving() as target, HttpEgress(loopback=True) as egress:
        url = f"http://127.0.0.1:{target.port}/a?b=c"
        await egress.send(replace(get(url, headers={"X-One": "1"}, body=b"{}"), method="POST"))
        await egress.send(get(url))
        await egress.send(replace(get(url), method="DELETE"))
    host = f"Host: 127.0.0.1:{target.port}"
    common = ["Accept: */*", "Accept-Encoding: gzip, deflate"]
    assert [request.decode().split("\r\n")[:-2] for request in target.requests] == [
        ["POST /a?b=c HTTP/1.1", host, "X-One: 1", *common, "Content-Length: 2"],
        ["{}GET /a?b=c HTTP/1.1", host, *common],
        ["DELETE /a?b=c HTTP/1.1", host, *common, "Content-Length: 0"],
    ]


async def test_a_redirect_is_an_answer_and_nobody_goes_there() -> None:
    async with serving() as sink:
        location = f"Location: http://127.0.0.1:{sink.port}/secret"
        moved = f"HTTP/1.1 302 Found\r\n{location}\r\nContent-Length: 0\r\n\r\n".encode()
        async with serving(moved) as target, HttpEgress(loopback=True) as egress:
            reply = await egress.send(get(f"http://127.0.0.1:{target.port}/"))
    assert reply.status == 302
    assert reply.headers["location"].endswith("/secret")
    assert sink.connections == 0


async def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch, local: HttpEgress) -> None:
    async with serving() as proxy, serving() as target:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        await local.send(get(f"http://127.0.0.1:{target.port}/"))
    assert (proxy.connections, target.connections) == (0, 1)


async def test_a_netrc_of_the_machine_is_never_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    async with serving() as target, HttpEgress(loopback=True) as egress:
        await egress.send(get(f"http://127.0.0.1:{target.port}/"))
    assert b"uthorization" not in target.requests[0]


async def test_cookies_are_not_kept(local: HttpEgress) -> None:
    async with serving(body(b"ok", "Set-Cookie: session=1; Path=/")) as target:
        for _ in range(2):
            await local.send(get(f"http://127.0.0.1:{target.port}/"))
    assert len(target.requests) == 2
    assert not any(b"cookie" in request.lower() for request in target.requests)


async def test_the_next_address_is_tried_when_the_first_does_not_listen() -> None:
    async with serving() as target, HttpEgress(loopback=True, resolver=names(["127.0.0.7", "127.0.0.1"])) as egress:
        reply = await egress.send(get(f"http://two.test:{target.port}/"))
    assert reply.status == 200


async def test_the_machines_own_resolver_is_asked_and_its_answer_checked() -> None:
    async with serving() as target:
        async with HttpEgress(loopback=True) as local:
            assert (await local.send(get(f"http://localhost:{target.port}/"))).status == 200
        async with HttpEgress(allow="127.9.9.9/32, ::1", ports=[target.port]) as narrow:
            assert await code_of(narrow, get(f"http://localhost:{target.port}/")) == "target_unreachable"
    assert target.connections == 1


async def test_a_resolver_that_talks_nonsense_is_not_believed() -> None:
    async with HttpEgress(resolver=names(["not an address"])) as egress:
        assert await code_of(egress, get("http://nonsense.test/")) == "target_unreachable"


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "a\r\nX-Evil: 1"},
        {"X-A": "a\nb"},
        {"X-A\r\nX-Evil": "1"},
        {"X-A": "\x00"},
        {"": "x"},
        {"Host": "other.test"},
        {"Content-Length": "0"},
        {"Transfer-Encoding": "chunked"},
        {"Proxy-Authorization": "x"},
        {"accept-encoding": "br"},
    ],
)
async def test_a_header_that_would_break_the_request_is_refused(headers: dict[str, str], local: HttpEgress) -> None:
    async with serving() as target:
        with pytest.raises(EgressRefused):
            await local.send(get(f"http://127.0.0.1:{target.port}/", headers=headers))
    assert target.connections == 0


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "GET / HTTP/1.1\r\nX:", "get", ""])
async def test_a_strange_method_is_refused(method: str, local: HttpEgress) -> None:
    with pytest.raises(EgressRefused):
        await local.send(OutgoingRequest(method=method, url="http://127.0.0.1:9/"))


# --- what goes wrong on the way ---------------------------------------------------------------------------------------


async def test_a_closed_port_and_an_unknown_name_are_the_same_class(local: HttpEgress) -> None:
    async with serving() as gone:
        pass
    assert await code_of(local, get(f"http://127.0.0.1:{gone.port}/")) == "target_unreachable"

    async def unknown(host: str) -> Sequence[str]:
        raise OSError("no such name")

    for resolver in (unknown, names([])):
        async with HttpEgress(resolver=resolver) as egress:
            assert await code_of(egress, get("http://unknown.test/")) == "target_unreachable"


async def test_a_target_that_never_accepts_is_unreachable_not_late() -> None:
    async def never(host: str) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    async with HttpEgress(resolver=never) as egress:
        assert await code_of(egress, get("http://slow.test/", timeout=timedelta(seconds=0.1))) == "target_unreachable"


async def test_a_target_that_says_nothing_meets_the_deadline(local: HttpEgress) -> None:
    async with serving(hold) as target:
        request = get(f"http://127.0.0.1:{target.port}/", timeout=timedelta(seconds=0.2))
        assert await code_of(local, request) == "target_timeout"


@pytest.mark.parametrize("opening", [b"", b"HTTP/1.1 200 OK\r\nX-Drip: ", b"HTTP/1.1 200 OK\r\n\r\n"])
async def test_a_target_that_drips_meets_the_same_deadline(opening: bytes, local: HttpEgress) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(opening or b"HTTP/1.1 100 Continue\r\n\r\n")
        while True:
            writer.write(b"x" if opening else b"HTTP/1.1 100 Continue\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with serving(drip) as target:
        loop = asyncio.get_running_loop()
        began = loop.time()
        request = get(f"http://127.0.0.1:{target.port}/", timeout=timedelta(seconds=0.3))
        assert await code_of(local, request) == "target_timeout"
        assert loop.time() - began < 2


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-Huge: " + b"x" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(10_000)) + b"\r\n",
        b"HTTP/1.1 200 " + b"x" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Length: 20\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_an_answer_that_is_no_decent_http_is_a_bad_response(answer: bytes, local: HttpEgress) -> None:
    async with serving(answer) as target:
        assert await code_of(local, get(f"http://127.0.0.1:{target.port}/")) == "bad_response"


async def test_a_target_that_speaks_first_is_no_decent_http_either(local: HttpEgress) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.test ESMTP\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert await code_of(local, get(f"http://127.0.0.1:{port}/")) == "bad_response"


async def test_a_body_that_goes_wrong_later_is_a_bad_response_at_once(local: HttpEgress) -> None:
    async def later(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for packet in (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", b"zz\r\n"):
            writer.write(packet)
            await writer.drain()
            await asyncio.sleep(0.05)
        await reader.read()

    async with serving(later) as target:
        request = get(f"http://127.0.0.1:{target.port}/", timeout=timedelta(seconds=2))
        assert await code_of(local, request) == "bad_response"


async def test_an_endless_header_is_cut_off_without_memory(local: HttpEgress) -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX-Endless: ")
        for _ in range(1024):
            writer.write(b"x" * 65536)
            await writer.drain()

    async with serving(endless) as target:
        with memory_below(4 * MIB):
            assert await code_of(local, get(f"http://127.0.0.1:{target.port}/")) == "bad_response"


async def test_a_body_that_breaks_off_is_no_complete_answer(local: HttpEgress) -> None:
    async def breaks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
        await writer.drain()

    async with serving(breaks) as target:
        assert await code_of(local, get(f"http://127.0.0.1:{target.port}/")) == "bad_response"


async def test_a_target_that_hangs_up_is_unreachable(local: HttpEgress) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with serving(hang_up) as target:
        assert await code_of(local, get(f"http://127.0.0.1:{target.port}/")) == "target_unreachable"


async def test_cancelling_a_request_closes_its_connection(local: HttpEgress) -> None:
    arrived, gone = asyncio.Event(), asyncio.Event()

    async def watch(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await reader.read()
        gone.set()

    async with serving(watch) as target:
        sending = asyncio.create_task(local.send(get(f"http://127.0.0.1:{target.port}/")))
        await arrived.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await asyncio.wait_for(gone.wait(), 2)


# --- TLS --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def server_tls(tmp_path: Path) -> ssl.SSLContext:
    pem = tmp_path / "hooks.pem"
    pem.write_text(KEY + CERTIFICATE)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem)
    return context


async def test_a_certificate_is_checked_against_the_name_although_the_address_is_dialled(
    server_tls: ssl.SSLContext,
) -> None:
    trusting = ssl.create_default_context(cadata=CERTIFICATE)
    async with (
        serving(tls=server_tls) as target,
        HttpEgress(loopback=True, resolver=names(["127.0.0.1"]), tls=trusting) as egress,
    ):
        reply = await egress.send(get(f"https://hooks.test:{target.port}/"))
        assert reply.status == 200
        assert f"host: hooks.test:{target.port}".encode() in target.requests[0].lower()
        assert await code_of(egress, get(f"https://other.test:{target.port}/")) == "tls_failed"
    assert len(target.requests) == 1


async def test_a_certificate_nobody_vouches_for_is_refused(server_tls: ssl.SSLContext) -> None:
    async with (
        serving(tls=server_tls) as target,
        HttpEgress(loopback=True, resolver=names(["127.0.0.1"])) as egress,
    ):
        assert await code_of(egress, get(f"https://hooks.test:{target.port}/")) == "tls_failed"
    assert target.requests == []


async def test_a_false_certificate_is_not_asked_for_again_at_the_next_address(server_tls: ssl.SSLContext) -> None:
    async with (
        serving(tls=server_tls) as one,
        serving(tls=server_tls, address="127.0.0.2", port=one.port) as two,
        HttpEgress(loopback=True, resolver=names(["127.0.0.1", "127.0.0.2"])) as egress,
    ):
        assert await code_of(egress, get(f"https://hooks.test:{one.port}/")) == "tls_failed"
    assert two.connections == 0


# --- bounded bodies ---------------------------------------------------------------------------------------------------


class memory_below:  # noqa: N801 -- reads as a sentence where it is used
    """Fails when more than this was allocated at any moment."""

    def __init__(self, most: int) -> None:
        self.most = most

    def __enter__(self) -> None:
        tracemalloc.start()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if kind is None:
            assert peak < self.most, f"{peak / MIB:.1f} MiB"


def zeros(mebibytes: int, wbits: int) -> bytes:
    """A stream that inflates to this many MiB of zeros; made quickly, for its middle repeats itself."""
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    start = packer.compress(bytes(16 * MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    middle = packer.compress(bytes(16 * MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + middle * (mebibytes // 16 - 1)


@pytest.mark.parametrize(("coding", "wbits"), [("gzip", 31), ("deflate", 15), ("deflate", -15), ("x-gzip", 31)])
async def test_a_gibibyte_bomb_is_cut_off_and_the_status_still_counts(
    coding: str, wbits: int, local: HttpEgress
) -> None:
    bomb = zeros(1024, wbits)
    assert len(bomb) < 2 * MIB
    async with serving(body(bomb, f"Content-Encoding: {coding}")) as target:
        with memory_below(6 * MIB):
            reply = await local.send(get(f"http://127.0.0.1:{target.port}/"))
    assert (reply.status, reply.truncated, reply.body) == (200, True, bytes(64 * 1024))


async def test_a_bomb_inside_a_bomb_is_cut_off(local: HttpEgress) -> None:
    bomb = gzip.compress(zeros(1024, 31))
    assert len(bomb) < 20_000
    async with serving(body(bomb, "Content-Encoding: gzip, gzip")) as target:
        with memory_below(4 * MIB):
            reply = await local.send(get(f"http://127.0.0.1:{target.port}/"))
    assert (reply.status, reply.truncated, len(reply.body)) == (200, True, 64 * 1024)


async def test_a_bomb_whose_outer_layer_is_the_large_one_is_cut_off(local: HttpEgress) -> None:
    """Its inner layer is 256 MiB of empty deflate blocks, so nothing ever comes out at the end to be counted."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    empty = b"\x00\x00\x00\xff\xff" * (4 * MIB // 5)
    start = packer.compress(empty) + packer.flush(zlib.Z_FULL_FLUSH)
    bomb = start + (packer.compress(empty) + packer.flush(zlib.Z_FULL_FLUSH)) * 63
    assert len(bomb) < MIB
    with pytest.raises(UndecodableBody):
        list(decompress(start, decoders("deflate, gzip", MIB)))
    async with serving(body(bomb, "Content-Encoding: deflate, gzip")) as target:
        with memory_below(4 * MIB):
            reply = await local.send(get(f"http://127.0.0.1:{target.port}/", most=MIB))
    assert (reply.status, reply.truncated, reply.body) == (200, True, b"")


async def test_an_endless_body_is_read_up_to_the_limit_and_no_further(local: HttpEgress) -> None:
    sent = 0

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    async with serving(endless) as target:
        with memory_below(6 * MIB):
            reply = await local.send(get(f"http://127.0.0.1:{target.port}/", keep=100, most=2 * MIB))
    assert (reply.status, reply.truncated, reply.body) == (200, True, b"x" * 100)
    assert sent < 32 * MIB


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 5000])
async def test_what_is_kept_is_the_beginning_and_says_whether_there_was_more(size: int, local: HttpEgress) -> None:
    content = bytes(n % 251 for n in range(size))
    async with serving(body(content)) as target:
        for _ in range(2):
            reply = await local.send(get(f"http://127.0.0.1:{target.port}/", keep=100))
            assert (reply.body, reply.truncated) == (content[:100], size > 100)
    assert target.connections == 1, "a body that was read to its end leaves the connection usable"


@pytest.mark.parametrize(
    ("coding", "content"),
    [
        ("gzip", gzip.compress(b"hello", mtime=0)),
        ("GZIP", gzip.compress(b"hello", mtime=0)),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", zlib.compress(b"hello", wbits=-15)),
        ("deflate, gzip", gzip.compress(zlib.compress(b"hello"), mtime=0)),
        ("identity", b"hello"),
        ("", b"hello"),
    ],
)
async def test_an_encoded_body_is_decoded(coding: str, content: bytes, local: HttpEgress) -> None:
    async def bytewise(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(content)}\r\n\r\n"
        for octet in head.encode() + content:
            writer.write(bytes([octet]))
            await writer.drain()

    for answer in (body(content, f"Content-Encoding: {coding}"), bytewise):
        async with serving(answer) as target:
            reply = await local.send(get(f"http://127.0.0.1:{target.port}/"))
        assert (reply.body, reply.truncated) == (b"hello", False)


@pytest.mark.parametrize("wbits", [15, -15])
def test_a_stream_that_comes_byte_by_byte_is_decoded(wbits: int) -> None:
    through = decoders("deflate", MIB)
    content = zlib.compress(b"hello" * 100, wbits=wbits)
    assert b"".join(piece for octet in content for piece in decompress(bytes([octet]), through)) == b"hello" * 100


async def test_only_codings_that_can_be_bounded_are_asked_for(local: HttpEgress) -> None:
    async with serving() as target:
        await local.send(get(f"http://127.0.0.1:{target.port}/"))
    asked = [line for line in target.requests[0].lower().split(b"\r\n") if line.startswith(b"accept-encoding:")]
    assert asked == [b"accept-encoding: gzip, deflate"]


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip, gzip", "gzip, br", "gzip", "deflate"])
async def test_a_body_that_cannot_be_decoded_is_left_out_and_the_status_counts(coding: str, local: HttpEgress) -> None:
    async with serving(body(b"\xff\xfenot an encoded body", f"Content-Encoding: {coding}")) as target:
        reply = await local.send(get(f"http://127.0.0.1:{target.port}/"))
    assert (reply.status, reply.truncated, reply.body) == (200, True, b"")


@pytest.mark.parametrize("missing", [1, 8, 20, 30])
async def test_an_encoded_body_without_its_end_is_marked(missing: int, local: HttpEgress) -> None:
    whole = gzip.compress(bytes(range(256)))
    async with serving(body(whole[:-missing], "Content-Encoding: gzip")) as target:
        reply = await local.send(get(f"http://127.0.0.1:{target.port}/"))
    assert (reply.status, reply.truncated) == (200, True)
    assert bytes(range(256)).startswith(reply.body)


async def test_headers_come_back_as_text_that_every_database_keeps(local: HttpEgress) -> None:
    async with serving(b"HTTP/1.1 204 No Content\r\nX-A: \xff\xfe\r\nX-a: two\r\n\r\n") as target:
        reply = await local.send(get(f"http://127.0.0.1:{target.port}/"))
    assert reply.headers["x-a"] == "\ufffd\ufffd, two"


async def test_a_head_request_has_no_body_whatever_its_headers_say(local: HttpEgress) -> None:
    async with serving(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\nContent-Encoding: gzip\r\n\r\n") as target:
        url = f"http://127.0.0.1:{target.port}/"
        reply = await local.send(OutgoingRequest(method="HEAD", url=url, timeout=timedelta(seconds=2)))
    assert (reply.status, reply.body, reply.truncated) == (200, b"", False)


async def test_nothing_is_sent_before_the_start() -> None:
    egress = HttpEgress(loopback=True)
    for host in ("127.0.0.1", "localhost"):
        with pytest.raises(RuntimeError, match="start"):
            await egress.send(get(f"http://{host}:9/"))
