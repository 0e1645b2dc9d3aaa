"""Real Foliot processes with a home of their own, and a webhook target with configurable answers."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from foliot.db.migrate import migrate
from tests.nursery import foliot
from tests.services import wait_for

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


@cache
def _migrated() -> Path:
    """To be copied: a migration costs a start more than everything else it does."""
    file = Path(tempfile.mkdtemp(prefix="foliot-migrated-")) / "foliot.db"
    atexit.register(shutil.rmtree, file.parent, ignore_errors=True)
    wait_for(migrate(f"sqlite+aiosqlite:///{file}"))
    return file


class House:
    """A home and the processes on it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("FOLIOT_", "DATABASE_URL"))}
        self.environ = kept | {"FOLIOT_HOME": str(home), "FOLIOT_GRPC_PORT": "0"}
        self.processes: list[subprocess.Popen[str]] = []
        self.log = home.parent / "log"
        """What the servers said on standard error."""
        self.said = ""
        self.port = ""

    def up(self, *flags: str, **environ: str) -> subprocess.Popen[str]:
        return self.start("up", *flags, lines=5, **environ)

    def start(self, *command: str, lines: int = 1, **environ: str) -> subprocess.Popen[str]:
        """Start a server, and wait for the word that it is up; the client commands talk to it from then on."""
        if "DATABASE_URL" not in self.environ | environ:
            self._furnish()
        with self.log.open("a") as log:
            process = foliot(*command, env=self.environ | environ, stdout=subprocess.PIPE, stderr=log)
        self.processes.append(process)
        assert process.stdout is not None
        self.said = "".join(process.stdout.readline() for _ in range(lines))
        assert "Foliot" in self.said, self.log.read_text()[-2000:]
        if found := re.search(r"http://127\.0\.0\.1:(\d+)", self.said):
            self.port = found[1]
            self.environ["FOLIOT_URL"] = found[0]
        return process

    def _furnish(self) -> None:
        """A database with every table: the first start of `tests/cli`, and that of `.ci/smoke`, make their own."""
        database = self.home / "foliot.db"
        if not database.exists():
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            database.touch(0o600)
            shutil.copyfile(_migrated(), database)

    def clear(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        with foliot(*arguments, env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                said, complained = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        # True of homes of tests, see `conftest._write_to_memory`.
        kept = [line for line in complained.splitlines(keepends=True) if "is in memory (tmpfs)" not in line]
        return subprocess.CompletedProcess(process.args, process.returncode, said, "".join(kept))

    def foliot(self, *arguments: str) -> Any:
        """What a command that must succeed answers, as JSON."""
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def follow(self, run: str) -> subprocess.Popen[str]:
        return foliot("run", "logs", run, "--follow", "--json", env=self.environ, stdout=subprocess.PIPE)

    def run_now(self, target: Target) -> str:
        """A run that is in the middle of its effect."""
        schedule = self.foliot("schedule", "create", "held", "--at", "2999-01-01T00:00:00Z", "--url", target.url)
        run = self.foliot("schedule", "run-now", schedule["id"])
        assert target.called.acquire(timeout=SECONDS)
        return str(run["id"])
