"""`foliot up` as a person meets it: started, used, stopped, started again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(240)

# Generous: the machine that runs the tests may have other things to do.
SECONDS = 60


class Target(ThreadingHTTPServer):
    """What the webhooks call; it answers when it is told to."""

    daemon_threads = True

    def __init__(self) -> None:
        self.called = threading.Semaphore(0)
        self.answer = threading.Event()
        super().__init__(("127.0.0.1", 0), Held)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class Held(BaseHTTPRequestHandler):
    server: Target

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.called.release()
        self.server.answer.wait(SECONDS)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionResetError, BrokenPipeError):
            """The caller was stopped in the middle, as it should be."""


@pytest.fixture
def target() -> Iterator[Target]:
    with Target() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.answer.set()
        server.shutdown()
        thread.join()


class House:
    """A home and the processes on it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("FOLIOT_", "DATABASE_URL"))}
        self.environ = kept | {"FOLIOT_HOME": str(home)}
        self.process: subprocess.Popen[str] | None = None

    def up(self, *flags: str, **environ: str) -> subprocess.Popen[str]:
        """Start, and wait for the word that it is up."""
        if self.process is not None:
            self.process.communicate()
        self.process = process = subprocess.Popen(
            [sys.executable, "-m", "foliot", "up", *flags],
            env=self.environ | environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        self.said = [process.stdout.readline() for _ in range(3)]
        found = re.search(r"http://127\.0\.0\.1:(\d+)", "".join(self.said))
        assert found is not None, self.said
        self.port = found[1]
        self.environ["FOLIOT_URL"] = found[0]
        return process

    def foliot(self, *arguments: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "foliot", *arguments, "--json"],
            env=self.environ, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def follow(self, run: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "foliot", "run", "logs", run, "--follow", "--json"],
            env=self.environ, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run_now(self, target: Target) -> str:
        """A run that is in the middle of its effect."""
        schedule = self.foliot("schedule", "create", "held", "--at", "2999-01-01T00:00:00Z", "--url", target.url)
        run = self.foliot("schedule", "run-now", schedule["id"])
        assert target.called.acquire(timeout=SECONDS)
        return str(run["id"])


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path / "home")
    yield made
    if made.process is not None:
        if made.process.poll() is None:
            made.process.kill()
        made.process.communicate()


def test_it_says_where_it_is_and_ends_well_when_asked(house: House) -> None:
    process = house.up("--port", "0")

    assert str(house.home / "foliot.db") in "".join(house.said)
    assert house.foliot("health")["status"] in {"ok", "degraded"}
    assert house.foliot("audit") == {"ok": True, "schedules": 0, "instants": 0, "holes": []}
    assert house.home.stat().st_mode & 0o077 == 0

    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0


def test_a_drain_waits_for_what_is_running(house: House, target: Target) -> None:
    process = house.up("--port", "0", FOLIOT_SHUTDOWN_SECONDS=str(SECONDS))
    run = house.run_now(target)

    process.send_signal(signal.SIGINT)
    target.answer.set()
    assert process.wait(SECONDS) == 0

    house.up("--port", "0")
    assert house.foliot("run", "show", run)["state"] == "success"
    assert not target.called.acquire(blocking=False)


def test_a_second_signal_stops_at_once(house: House, target: Target) -> None:
    process = house.up("--port", "0", FOLIOT_SHUTDOWN_SECONDS="600")
    house.run_now(target)

    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.send_signal(signal.SIGTERM)

    assert process.wait(SECONDS) == 130


def test_following_a_run_outlives_a_restart(house: House, target: Target) -> None:
    process = house.up("--port", "0", FOLIOT_SHUTDOWN_SECONDS="0")
    run = house.run_now(target)
    follower = house.follow(run)
    assert follower.stdout is not None
    # Read from the one stream to its end: `communicate` would lose what the first reading has buffered.
    first = follower.stdout.readline()

    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0
    target.answer.set()
    house.up("--port", house.port)

    with follower:
        events = [json.loads(line) for line in (first, *follower.stdout)]
    assert follower.returncode == 0
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["state"] == "success"
