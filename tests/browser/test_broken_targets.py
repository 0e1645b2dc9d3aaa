"""Ten broken targets: the API, the command line and the dashboard each name what is wrong with them."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.asking import ended, run_now, told, webhook
from tests.browser.conftest import Open, a_house, serious
from tests.certificates import signed

pytestmark = pytest.mark.timeout(240)


@contextmanager
def answering(said: bytes, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """A server that says this to every connection, and holds it open until the other side closes it."""

    def talk(one: socket.socket) -> None:
        with one:
            try:
                talker = one if tls is None else tls.wrap_socket(one, server_side=True)
                with talker:
                    talker.recv(65_536)
                    talker.sendall(said)
                    talker.settimeout(60)
                    talker.recv(1)
            except OSError:
                """The caller hung up, as it should."""

    def serve(server: socket.socket) -> None:
        while True:
            try:
                one, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(one,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


@contextmanager
def filtered() -> Iterator[int]:
    """A port whose backlog is full: a new connection is never answered."""
    with socket.socket() as full, ExitStack() as callers:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            caller = callers.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(full.getsockname())
        yield full.getsockname()[1]


def server_tls(chain: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain)
    return context


def status(line: str, *headers: str) -> bytes:
    return "\r\n".join((f"HTTP/1.1 {line}", *headers, "Content-Length: 0", "Connection: close", "", "")).encode()


@contextmanager
def broken(folder: Path) -> Iterator[dict[str, tuple[str, str, str, str]]]:
    """By name: URL, code, cause, and a pattern of the line. The trusted authorities are in `authorities.pem`."""
    chains = {}
    authorities = []
    for name, host, ends in (("expired", "localhost", -3), ("other", "other.example", 3)):
        (folder / name).mkdir()
        authority, chains[name] = signed(folder / name, host, ends=timedelta(days=ends, minutes=-1 if ends < 0 else 0))
        authorities.append(authority.read_text())
    (folder / "authorities.pem").write_text("".join(authorities))
    with ExitStack() as open_ports, socket.socket() as taken:
        # Bound, and not listening: nobody else gets the port meanwhile.
        taken.bind(("127.0.0.1", 0))
        gone = taken.getsockname()[1]
        port = open_ports.enter_context
        silent, expired = port(filtered()), port(answering(b"", server_tls(chains["expired"])))
        other, mute = port(answering(b"", server_tls(chains["other"]))), port(answering(b""))
        half = port(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"))
        many = port(answering(status("429 Too Many Requests", "Retry-After: 30")))
        down = port(answering(status("503 Service Unavailable")))
        moved = port(answering(status("302 Found", "Location: https://login.example/in?token=x")))
        away, late = "target_unreachable", "target_timeout"
        tls, here = "tls_failed", "127.0.0.1"
        # Times are nine tenths of the two seconds that a schedule grants.
        yield {
            "refused": (
                f"http://{here}:{gone}/",
                away,
                "connect_refused",
                rf"connect: connection refused, 127\.0\.0\.1:{gone}, after \d+ ms",
            ),
            "no such host": (
                "http://no-such-host.invalid/",
                away,
                "dns_failed",
                r"DNS: (no such host|the name server does not answer for) no-such-host\.invalid",
            ),
            "expired": (f"https://localhost:{expired}/", tls, tls, "TLS: certificate expired 3 days ago"),
            "wrong name": (
                f"https://localhost:{other}/",
                tls,
                tls,
                r"TLS: certificate is for other\.example, not localhost",
            ),
            "silent port": (
                f"http://{here}:{silent}/",
                away,
                "connect_timeout",
                rf"connect: no answer from 127\.0\.0\.1:{silent} within 1\.8 s",
            ),
            "no answer": (f"http://{here}:{mute}/", late, "first_byte_timeout", r"no answer within 1\.8 s"),
            "half an answer": (f"http://{here}:{half}/", late, "body_timeout", r"answer not complete within 1\.8 s"),
            "429": (f"http://{here}:{many}/", "http_429", "http_429", r".*429 Too Many Requests, retry after 30 s\."),
            "503": (f"http://{here}:{down}/", "http_503", "http_503", r".*503 Service Unavailable\."),
            "redirect": (
                f"http://{here}:{moved}/",
                "redirected",
                "redirect",
                r".*302 Found to login\.example; redirects are not followed\.",
            ),
        }


def test_each_of_ten_broken_targets_is_named_rightly_everywhere(tab: Open, tmp_path: Path) -> None:
    with (
        broken(tmp_path) as targets,
        a_house(tmp_path / "home", SSL_CERT_FILE=str(tmp_path / "authorities.pem")) as house,
    ):
        opened = tab(house)
        started = {
            name: run_now(house, webhook(house, name, url, timeout_seconds=2)) for name, (url, *_) in targets.items()
        }
        runs = {name: ended(house, opened.page, run) for name, run in started.items()}
        for name, (url, code, cause, line) in targets.items():
            (attempt,) = runs[name]["attempts"]
            error = attempt["error"]
            assert (error["code"], error["cause"]) == (code, cause), name
            assert re.fullmatch(line, error["message"]), (name, error["message"])
            assert (attempt["request"]["method"], attempt["request"]["url"]) == ("POST", url)
            assert attempt["timing"]["total_ms"] is not None  # a refusal here may take less than it is rounded to

            said = " ".join(house.run("run", "show", started[name]).stdout.split())
            assert error["message"] in said, name
            assert f"POST {url}" in said, name

            page = opened.go(f"/runs/{started[name]}")
            expect(page.get_by_label("Why it failed")).to_contain_text(error["message"])
            page.get_by_role("tab", name="Attempts").click()
            expect(page.get_by_role("region", name="Request")).to_contain_text(f"POST {url}")
            expect(page.get_by_role("group", name="Timing")).to_contain_text("total")
        assert serious(opened.page) == []
        assert "first_byte_ms" in told(house, f"/api/runs/{started['503']}")["attempts"][0]["timing"]
        opened.page.close()  # before its server goes
