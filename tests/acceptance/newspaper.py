"""A news site on loopback that writes down when each page was asked for, and by which process."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TEXT = "".join(
    f"<p>Paragraph {one} says something of interest about the world, at some length.</p>" for one in range(6)
)


@dataclass(frozen=True)
class Asked:
    """One line of the access log."""

    at: float
    path: str
    port: int
    """The far end of the connection."""


class Newspaper(ThreadingHTTPServer):
    """Every path under `/n/` is an article."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, host: str) -> None:
        self.log: list[Asked] = []
        self.owners: dict[int, int] = {}
        """Whose each connection is, by its far end: known only of processes that are `watched`."""
        self.watched: Collection[int] = ()
        self.refusals: dict[str, str] = {}
        """Paths that are refused once, with 429, and how long they ask for silence."""
        self.delay = 0.0
        super().__init__((host, 0), Article)

    def url(self, path: str) -> str:
        return f"http://{self.server_address[0]!s}:{self.server_port}{path}"

    def urls(self, count: int, section: str = "n") -> list[str]:
        return [self.url(f"/n/{section}/{number}") for number in range(count)]

    @property
    def pages(self) -> Counter[str]:
        return Counter(one.path for one in list(self.log) if one.path.startswith("/n/"))

    def asked_by(self) -> Counter[int]:
        """How many pages each process has asked for."""
        return Counter(self.owners.get(one.port, 0) for one in list(self.log) if one.path.startswith("/n/"))


class Article(BaseHTTPRequestHandler):
    server: Newspaper
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        port = self.client_address[1]
        if self.server.watched:
            self.server.owners[port] = owner(port, self.server.server_port, self.server.watched)

    def do_GET(self) -> None:
        self.server.log.append(Asked(time.monotonic(), self.path, self.client_address[1]))
        silence = self.server.refusals.pop(self.path, None)
        if silence is not None:
            self._answer(429, "<p>Later.</p>", {"Retry-After": silence})
        elif not self.path.startswith("/n/"):
            self._answer(404, "<p>No such page.</p>")
        else:
            if self.server.delay:
                threading.Event().wait(self.server.delay)
            title = self.path[3:]
            head = f"<html lang='en'><head><title>Story {title}</title></head>"
            self._answer(200, f"{head}<body><article><h1>Story {title}</h1>{TEXT}</article></body></html>")

    def _answer(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "text/html; charset=utf-8", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def handle(self) -> None:
        # Whoever asked may have been killed in the middle, as it should be.
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            super().handle()


def owner(port: int, to: int, pids: Collection[int]) -> int:
    """Which of these processes has the connection from one port to the other; 0 when none has."""
    sockets = {
        f"socket:[{fields[9]}]"
        for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
        if (fields := line.split())[1].endswith(f":{port:04X}") and fields[2].endswith(f":{to:04X}")
    }
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if str(entry.readlink()) in sockets:
                        return pid
    return 0


@contextmanager
def a_newspaper(host: str = "127.0.0.1") -> Iterator[Newspaper]:
    with Newspaper(host) as site:
        thread = threading.Thread(target=site.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()
