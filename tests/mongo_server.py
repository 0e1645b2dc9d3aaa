"""A MongoDB for the tests: the one a variable names, and a stand-in that speaks its protocol, on SQLite."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from tests.services import free_port, wait_until

VARIABLE = "MONGO_TEST_URL"
MISSING = f"needs a genuine MongoDB: name one in {VARIABLE}"


class NoMongo(Exception):
    """None is named."""


class MongoServer:
    """NX-27017 on a port and a directory of its own; it can go away and come back."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}/"

    def start(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        place = ["--data-dir", str(self.home / "data"), "--host", "127.0.0.1", "-p", str(self.port)]
        files = ["--log-file", str(self.home / "log"), "--pid-file", str(self.home / "pid")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nx_27017.nx_27017", *place, *files],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.home,
        )  # fmt: skip
        started = self.process
        assert wait_until(lambda: self._listens() or started.poll() is not None, seconds=40)
        assert started.poll() is None

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def named() -> str:
    """The server that the variable names."""
    if url := os.environ.get(VARIABLE):
        return url
    raise NoMongo(MISSING)
