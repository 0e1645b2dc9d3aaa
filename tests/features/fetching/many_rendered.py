"""Pages made by scripts are read by browsers that Foliot starts: the memory of all processes, and what a kill leaves.

`python -m tests.features.fetching.many_rendered --pages 500` measures it; as root it passes --no-sandbox.
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
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib import request as urls

from foliot.cluster.process_tree import descendants
from foliot.features.fetching.render import installed
from tests.services import free_port, wait_until

PAGE = """<!doctype html><title>News {0}</title><div id=app></div><script>
setTimeout(() => {{ document.getElementById("app").innerHTML =
  "<article><h1>News {0}</h1>" + "<p>The council has decided to plant trees along the river this autumn.</p>".repeat(20)
  + "</article>" }}, 100)
</script>"""


ENDED = {"success", "partial", "failed", "dead_letter", "cancelled"}


@dataclass(frozen=True)
class RenderedMany:
    """What came of it."""

    pages: int
    read: int
    rendered: int
    seconds: float
    peak_mib: float
    """Of the server with all its processes, sampled."""
    browsers: int
    """Processes of browsers when the server was killed."""
    left: int
    """How many of all its processes were there five seconds later."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        found = self.path.startswith("/news")
        body = PAGE.format(self.path.rpartition("/")[2]).encode() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def ask(base: str, path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urls.urlopen(urls.Request(base + path, data, {"Content-Type": "application/json"}), timeout=30) as answer:
        return json.load(answer)


def healthy(base: str) -> bool:
    try:
        return bool(ask(base, "/health"))
    except OSError:
        return False


def run(home: Path, pages: int) -> RenderedMany:  # noqa: PLR0915 -- a script, from its start to the kill
    """Reads so many pages, then kills the server while it reads further ones."""
    site = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{site.server_address[1]}/news"
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOLIOT_", "REDIS_"))}
    kept |= {"FOLIOT_BROWSER": "auto", "FOLIOT_HOST_RATE": "0"}
    if installed.needs_no_sandbox():
        kept["FOLIOT_BROWSER_SANDBOX"] = "off"
    command = ["up", "--port", str(port), "--grpc-port", str(free_port()), "--home", str(home / "f")]
    with (home / "up.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "foliot", *command], env=kept, stdout=log, stderr=log)
    try:
        assert wait_until(lambda: healthy(base), seconds=60), (home / "up.log").read_text()
        peak, over = 0, threading.Event()

        def watch() -> None:
            nonlocal peak
            while not over.wait(0.5):
                peak = max(peak, sum(map(memory, [process.pid, *descendants(process.pid)])))

        watching = threading.Thread(target=watch)
        watching.start()
        began = time.monotonic()
        job = ask(base, "/jobs/submit", {"articles": [{"url": f"{here}/a/{each}"} for each in range(pages)]})["job_id"]
        assert wait_until(lambda: ask(base, f"/jobs/{job}/status")["state"] in ENDED, seconds=1500)
        took = time.monotonic() - began
        over.set()
        watching.join()
        found = ask(base, f"/jobs/{job}/results?limit=500")["results"]
        ask(base, "/jobs/submit", {"articles": [{"url": f"{here}/b/{each}"} for each in range(50)]})
        wait_until(lambda: len(browsers(process.pid)) > 0, seconds=30)
        all_of_it, running = list(descendants(process.pid)), browsers(process.pid)
        process.kill()
        process.wait()
        wait_until(lambda: not alive(all_of_it), seconds=5)
        return RenderedMany(
            pages=pages,
            read=len(found),
            rendered=sum(bool(one.get("rendered")) for one in found),
            seconds=round(took, 1),
            peak_mib=round(peak / 2**20, 1),
            browsers=len(running),
            left=len(alive(all_of_it)),
        )
    finally:
        process.kill()
        process.wait()
        site.shutdown()
        site.server_close()


def memory(pid: int) -> int:
    """Bytes of a process; what it shares with others counts in part (PSS)."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def browsers(pid: int) -> list[int]:
    return [each for each in descendants(pid) if b"chrom" in _command(each)]


def alive(pids: list[int]) -> list[int]:
    """Those that still run; a process that only waits to be reaped does not."""
    return [each for each in pids if _command(each)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        print(run(Path(home), given.pages))


if __name__ == "__main__":
    main()
