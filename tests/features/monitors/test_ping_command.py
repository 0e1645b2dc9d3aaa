"""`foliot ping`: a real process that wraps a command, and a server that keeps what it is sent."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests import nursery

KEY = "5f2b8c1e-0000-4000-8000-000000000001"


class PingServer(ThreadingHTTPServer):
    """Answers every ping with a status, and keeps its path, its body and its headers."""

    def __init__(self) -> None:
        self.status = 200
        self.got: queue.Queue[tuple[str, bytes, dict[str, str]]] = queue.Queue()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/ping/{KEY}"

    def pings(self) -> list[tuple[str, bytes]]:
        """The last part of each path, and the body."""
        return [(path.partition("?")[0].removeprefix(f"/ping/{KEY}"), body) for path, body, _ in self._all()]

    def _all(self) -> list[tuple[str, bytes, dict[str, str]]]:
        return [self.got.get_nowait() for _ in range(self.got.qsize())]


class _Handler(BaseHTTPRequestHandler):
    server: PingServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.got.put((self.path, body, dict(self.headers.items())))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"OK")

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[PingServer]:
    with PingServer() as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ping(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environ}
    child = nursery.foliot("ping", *arguments, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = child.communicate(timeout=50)
    return subprocess.CompletedProcess(arguments, child.returncode, out, err)


def python(code: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-c", code)


def test_a_command_is_wrapped_with_its_start_its_code_and_its_output(server: PingServer) -> None:
    done = ping(server.url, *python("import sys; print('copied 3 files'); print('bad', file=sys.stderr); sys.exit(3)"))
    assert (done.returncode, done.stdout, done.stderr) == (3, "copied 3 files\n", "bad\n")
    (start, _), (end, body) = server.pings()
    assert (start, end) == ("/start", "/3")
    # The two streams are read as they come; their pieces may follow each other in any order.
    assert sorted(body.decode()) == sorted("copied 3 files\nbad\n")


def test_a_key_belongs_to_the_configured_server_and_no_token_is_sent(server: PingServer) -> None:
    base = server.url.partition("/ping/")[0]
    assert ping(KEY, FOLIOT_URL=base, FOLIOT_TOKEN="flt_secret").returncode == 0
    path, _, headers = server.got.get(timeout=5)
    assert path == f"/ping/{KEY}"
    assert "Authorization" not in headers


def test_only_the_end_of_a_long_output_is_sent(server: PingServer) -> None:
    done = ping(server.url, *python("print('x' * 300_000 + 'end')"))
    assert (done.returncode, len(done.stdout)) == (0, 300_004)
    _, (end, body) = server.pings()
    assert (end, len(body), body[-4:]) == ("/0", 100_000, b"end\n")


def test_a_server_that_is_away_keeps_no_command_from_running() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/ping/{KEY}"
        done = ping(url, *python("print('done'); raise SystemExit(4)"))
    assert (done.returncode, done.stdout) == (4, "done\n")
    assert "the ping did not arrive" in done.stderr


def test_a_ping_alone_that_is_refused_is_an_error(server: PingServer) -> None:
    server.status = 404
    done = ping(server.url)
    assert done.returncode != 0
    assert "answered 404" in done.stderr
    assert server.got.qsize() == 1


def test_a_command_that_does_not_exist_is_reported_as_a_shell_does(server: PingServer) -> None:
    assert ping(server.url, "--", "/no/such/command").returncode == 127
    assert [word for word, _ in server.pings()] == ["/start", "/127"]


def test_a_signal_reaches_the_command_and_its_end_is_reported(server: PingServer) -> None:
    code = "import signal, sys; print('ready', flush=True); signal.pause()"
    child = nursery.foliot(
        "ping", server.url, *python(code), env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=50)
    assert child.returncode == 128 + signal.SIGTERM
    assert [word for word, _ in server.pings()] == ["/start", f"/{128 + signal.SIGTERM}"]
