"""Pages are fetched and kept, their site stops, and they are read again by a process that is killed in between.

`python -m tests.features.reextractions.thousand_pages`: with a thousand pages and five kills; the suite has fewer.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib import request as urls

from tests.services import free_port, wait_until

PIPELINE = """
pipelines:
  keep:
    schedule: {{interval: 86400}}
    chain:
      - class: HttpFetcher
        kwargs: {{urls: {urls}, keep_pages: 30d, concurrency: 8}}
"""


@dataclass(frozen=True)
class ReadAgain:
    """What came of it."""

    pages: int
    versions: int
    distinct: int
    connections: int
    """To the site's port, after the site stopped."""
    kills: int
    raw: int
    stored: int
    state: str
    seconds: float


def word(made: random.Random) -> str:
    return "".join(made.choices("abcdefghilmnoprstu", k=made.randint(3, 9)))


def page(number: int) -> bytes:
    """A shop's page of some 20 KB: a frame that all pages share, and words of its own."""
    made = random.Random(number)
    text = "".join(f"<p>{' '.join(word(made) for _ in range(40))}.</p>" for _ in range(16))
    menu = "".join(f'<li class="menu-item"><a href="/category/{each}">Category {each}</a></li>' for each in range(120))
    rows = "".join(f'<tr class="row"><td class="key">Size {each}</td><td>{each} cm</td></tr>' for each in range(60))
    return (
        f"<!doctype html><html><head><title>Product {number}</title></head><body><nav><ul>{menu}</ul></nav>"
        f'<h1>Product {number}</h1><span class="sale">{number}.50 EUR</span><main>{text}</main><table>{rows}</table>'
        "</body></html>"
    ).encode()


class Handler(BaseHTTPRequestHandler):
    """Serves `/N`."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        found = self.path != "/robots.txt"
        body = page(int(self.path[1:])) if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def ask(base: str, path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    message = urls.Request(base + path, data, {"Content-Type": "application/json"})
    with urls.urlopen(message, timeout=30) as answer:
        return json.load(answer)


def listed(base: str, path: str) -> list[dict[str, Any]]:
    """All items of a list."""
    found, cursor = [], ""
    while True:
        answer = ask(base, f"{path}&limit=500{cursor}")
        found += answer["items"]
        if answer["next_cursor"] is None:
            return found
        cursor = f"&cursor={answer['next_cursor']}"


@dataclass
class Foliot:
    """A server that can be killed and started again."""

    home: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOLIOT_", "REDIS_"))}
        command = ["up", "--port", str(self.port), "--grpc-port", str(free_port()), "--home", str(self.home / "f")]
        with (self.home / "up.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "foliot", *command, "--pipelines", str(self.home / "pipelines.yml")],
                env=kept | {"FOLIOT_HOST_RATE": "0"},
                stdout=log,
                stderr=log,
            )
        assert wait_until(self._answers, seconds=60), (self.home / "up.log").read_text()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _answers(self) -> bool:
        try:
            return bool(ask(self.base, "/health"))
        except OSError:
            return False


class Stopped:
    """The port of the site that has stopped: counts who connects."""

    def __init__(self, port: int) -> None:
        self.connections = 0
        self._socket = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def close(self) -> None:
        self._socket.close()


def run(home: Path, pages: int, kills: int, rate: int = 200) -> ReadAgain:
    """Fetches and keeps the pages, stops the site, and reads them again with so many kills."""
    site = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    port = site.server_address[1]
    named = [f"http://127.0.0.1:{port}/{number}" for number in range(pages)]
    (home / "pipelines.yml").write_text(PIPELINE.format(urls=json.dumps(named)))
    foliot = Foliot(home, free_port())
    foliot.start()
    try:
        assert wait_until(lambda: _begun(foliot.base), seconds=60)
        assert wait_until(lambda: _kept(foliot.base, pages), seconds=240)
        site.shutdown()
        site.server_close()
        stopped = Stopped(port)
        began = time.monotonic()
        wanted = {"title": "h1", "sale": {"css": ".sale", "type": "price"}}
        made = ask(foliot.base, "/api/pages/reextract", {"select": wanted, "rate": rate, "expect": pages})
        bulk = f"/api/bulk/{made['id']}"
        for kill in range(1, kills + 1):
            assert wait_until(partial(_done, foliot.base, bulk, kill * pages // (kills + 1)), seconds=120)
            foliot.kill()
            foliot.start()
        assert wait_until(lambda: ask(foliot.base, bulk)["state"] != "running", seconds=120)
        took = time.monotonic() - began
        versions = Counter(one["page_id"] for one in listed(foliot.base, f"/api/pages/versions?bulk_id={made['id']}"))
        stored = listed(foliot.base, "/api/pages?q=")
        stopped.close()
        return ReadAgain(
            pages=len(stored),
            versions=versions.total(),
            distinct=len(versions),
            connections=stopped.connections,
            kills=kills,
            raw=sum(one["bytes"] for one in stored),
            stored=sum(one["stored_bytes"] for one in stored),
            state=ask(foliot.base, bulk)["state"],
            seconds=took,
        )
    finally:
        foliot.kill()


def _done(base: str, bulk: str, least: int) -> bool:
    return bool(ask(base, bulk)["done"] >= least)


def _begun(base: str) -> bool:
    """The pipeline runs; its file is read some time after the start."""
    try:
        ask(base, "/api/pipelines/keep/run", {})
    except urls.HTTPError:
        return False
    return True


def _kept(base: str, pages: int) -> bool:
    trial = ask(base, "/api/pages/reextract", {"extractor": "price", "dry_run": True, "sample": 1})
    return bool(trial["count"] >= pages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        print(run(Path(home), given.pages, given.kills))


if __name__ == "__main__":
    main()
