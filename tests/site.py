"""A website on loopback for spiders to walk on."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECONDS = 60
ON_THE_FIRST_FLOOR = 19


class Site(ThreadingHTTPServer):
    """As many pages as it is told, all within two links of `/`; `given` pages are added to them or replace them."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, pages: int = 10, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.pages = pages
        self.given: dict[str, tuple[int, dict[str, str], str]] = {}
        """Status, headers and body by path."""
        self.asked: Counter[str] = Counter()
        self.open = threading.Event()
        """Until it is set, pages above the first floor wait, and a crawl with them."""
        self.open.set()
        self.reached = threading.Semaphore(0)
        """Released by each page that is asked for."""
        super().__init__((host, port), Page)

    @property
    def url(self) -> str:
        return f"http://{self.server_address[0]!s}:{self.server_port}/"

    def links(self, number: int) -> range:
        """Where a page leads: from 0 to the first floor, from there to ten pages each."""
        if number == 0:
            return range(1, min(ON_THE_FIRST_FLOOR + 1, self.pages))
        first = ON_THE_FIRST_FLOOR + 1 + (number - 1) * 10
        return range(first, min(first + 10, self.pages)) if number <= ON_THE_FIRST_FLOOR else range(0)

    def page(self, path: str) -> tuple[int, dict[str, str], str]:
        if path in self.given:
            return self.given[path]
        number = 0 if path == "/" else int(path.removeprefix("/p/")) if path.startswith("/p/") else self.pages
        if number >= self.pages:
            return 404, {}, "<title>No such page</title>"
        links = '<a href="/">home</a>' + "".join(f'<a href="/p/{link}">page {link}</a>' for link in self.links(number))
        return 200, {}, f"<html><head><title>Page {number}</title></head><body><h1>{number}</h1>{links}</body></html>"


class Page(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked[self.path] += 1
        self.server.reached.release()
        if self.path.startswith("/p/") and int(self.path[3:]) > ON_THE_FIRST_FLOOR:
            self.server.open.wait(SECONDS)
        status, headers, text = self.server.page(self.path)
        body = text.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionResetError, BrokenPipeError):
            """The spider was stopped in the middle, as it should be."""


@contextmanager
def a_site(pages: int = 10, *, host: str = "127.0.0.1") -> Iterator[Site]:
    with Site(pages, host=host) as site:
        thread = threading.Thread(target=site.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield site
        finally:
            site.open.set()
            site.shutdown()
            thread.join()
