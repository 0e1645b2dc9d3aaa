"""Articles, a pipeline, prices, polite webhooks and a spider on a real Scrapyd ask one host that states a delay.

`python -m tests.features.fetching.four_kinds --seconds 300 --delay 2` runs it for long; the suite runs it scaled down.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib import request as urls

from tests.scrapyd_server import ScrapydServer
from tests.services import free_port, wait_until

PAGE = "<html><head><title>{0}</title></head><body><h1>{0}</h1><p>{1}</p>{2}</body></html>"
WORDS = "A long enough sentence about nothing in particular, so that there is a text. " * 8
RETRY_AFTER = 30
PIPELINE = """
pipelines:
  walk:
    schedule: {{interval: 3600}}
    chain:
      - class: HttpFetcher
        kwargs: {{urls: {urls}}}
"""


@dataclass
class DelayedSite:
    """Notes when it was asked, and by what."""

    delay: float
    asked: list[tuple[float, str]] = field(default_factory=list)
    limit_at: float | None = None
    """Seconds after the first request: two paths are answered with 429 from then on."""
    limited: list[tuple[float, str]] = field(default_factory=list)

    def limits(self, path: str, at: float) -> bool:
        """Whether this request is answered with 429: once for each of two paths."""
        due = self.limit_at is not None and at - self.asked[0][0] > self.limit_at
        if not due or len(self.limited) == 2 or path in [each for _, each in self.limited]:
            return False
        self.limited.append((at, path))
        return True

    @property
    def silences(self) -> list[float]:
        """From each 429 to the next request."""
        return [
            min((at for at, _ in self.asked if at > limited), default=limited) - limited for limited, _ in self.limited
        ]

    def serve(self) -> ThreadingHTTPServer:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                now = time.monotonic()
                site.asked.append((now, self.path))
                if length := int(self.headers.get("Content-Length") or 0):
                    self.rfile.read(length)
                if self.path != "/robots.txt" and site.limits(self.path, now):
                    self.send_response(429)
                    self.send_header("Retry-After", str(RETRY_AFTER))
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                kind, body = "text/html", ""
                if self.path == "/robots.txt":
                    kind, body = "text/plain", f"User-agent: *\nCrawl-delay: {site.delay}\n"
                else:
                    links = "".join(f'<a href="/spider/{number}">{number}</a>' for number in range(200))
                    body = PAGE.format(self.path, WORDS, f'<span class="price">12.00 EUR</span>{links}')
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            do_GET = do_POST = answer  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    @property
    def gaps(self) -> list[float]:
        return [later - sooner for (sooner, _), (later, _) in pairwise(self.asked)]

    @property
    def kinds(self) -> Counter[str]:
        return Counter(path.split("/")[1] for _, path in self.asked)


def post(base: str, path: str, body: object) -> Any:
    message = urls.Request(base + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST")
    with urls.urlopen(message, timeout=30) as answer:
        return json.load(answer)


def healthy(base: str) -> bool:
    try:
        with urls.urlopen(f"{base}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


KINDS = {"robots.txt", "article", "price", "webhook", "pipeline", "spider"}


def run(
    home: Path, seconds: float, delay: float, limit_at: float | None = None, *, least: int | None = None
) -> DelayedSite:
    """Starts everything, lets it work for so long, and returns the site.

    With `least`, only until every kind was seen and there were so many requests.
    """
    site = DelayedSite(delay, limit_at=limit_at)
    server = site.serve()
    here = f"http://127.0.0.1:{server.server_address[1]}"
    scrapyd, port = ScrapydServer(home / "scrapyd"), free_port()
    base = f"http://127.0.0.1:{port}"
    scrapyd.environ |= {"FOLIOT_URL": base}
    scrapyd.start()
    process: subprocess.Popen[bytes] | None = None
    try:
        scrapyd.deploy()
        pipelines = home / "pipelines.yml"
        pipelines.write_text(PIPELINE.format(urls=json.dumps([f"{here}/pipeline/{number}" for number in range(200)])))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOLIOT_", "REDIS_"))}
        environ = kept | {"SCRAPYD_URL": scrapyd.url, "FOLIOT_HOST_RATE": "1"}
        command = [
            "-m",
            "foliot",
            "up",
            "--port",
            str(port),
            "--grpc-port",
            str(free_port()),
            "--home",
            str(home / "f"),
        ]
        with (home / "up.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, *command, "--pipelines", str(pipelines)], env=environ, stdout=log, stderr=log
            )
        assert wait_until(lambda: healthy(base), seconds=40), (home / "up.log").read_text()
        start(base, here)
        wait_until(lambda: least is not None and len(site.asked) >= least and set(site.kinds) >= KINDS, seconds=seconds)
    finally:
        if process is not None:
            # What runs is not waited for.
            process.kill()
            process.wait()
        scrapyd.stop()
        server.shutdown()
        server.server_close()
    return site


def start(base: str, here: str) -> None:
    post(base, "/jobs/submit", {"articles": [{"url": f"{here}/article/{number}"} for number in range(200)]})
    post(base, "/crawl", {"user_id": "u", "spider": "seo", "start_urls": [f"{here}/spider"], "depth": 1})
    products = [
        {"competitor": "c", "product": f"p{n}", "url": f"{here}/price/{n}", "selectors": [".price"]} for n in range(100)
    ]
    task = {"kind": "task", "task": "scrape_competitor_prices", "parameters": {"products": products}}
    far = {"type": "interval", "interval_seconds": 86_400}
    prices = post(base, "/api/schedules", {"name": "prices", **far, "action": task})
    post(base, f"/api/schedules/{prices['id']}/run-now", {})
    hook = {"kind": "webhook", "url": f"{here}/webhook", "polite": True}
    hooks = post(base, "/api/schedules", {"name": "hooks", **far, "overlap": "allow_all", "action": hook})
    for _ in range(30):
        post(base, f"/api/schedules/{hooks['id']}/run-now", {})
    post(base, "/api/pipelines/walk/run", {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--delay", type=float, default=2)
    parser.add_argument("--limit-at", type=float)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        site = run(Path(home), given.seconds, given.delay, given.limit_at)
    print(f"requests {len(site.asked)}, by kind {dict(site.kinds)}, shortest gap {min(site.gaps):.3f} s")
    print("seconds without a request after each 429:", [round(each, 2) for each in site.silences], site.limited)
    print("under the delay less 0.05 s:", [round(gap, 3) for gap in site.gaps if gap < given.delay - 0.05])


if __name__ == "__main__":
    main()
