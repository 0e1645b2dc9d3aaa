"""A Redis for the tests: the one a variable names, or a private one from an installed binary."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services import free_port, wait_until

VARIABLE = "FOLIOT_TEST_REDIS_URL"
MISSING = f"needs Redis: apt-get install redis-server (or name a server in {VARIABLE})"


class NoRedis(Exception):
    """None is named, and none can be started."""


class RedisServer:
    """A private Redis that can go away and come back."""

    def __init__(self, home: Path, certificate: Path | None = None) -> None:
        self.home = home
        self.port = free_port()
        self.certificate = certificate
        """With its key in the same file: then it speaks TLS alone."""
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        binary = shutil.which("redis-server")
        if binary is None:
            raise NoRedis(MISSING)
        place = ["--dir", str(self.home), "--bind", "127.0.0.1", "--save", ""]
        self.process = subprocess.Popen(
            [binary, *place, *self._door()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        assert wait_until(self._listens, seconds=20)

    def _door(self) -> list[str]:
        if self.certificate is None:
            return ["--port", str(self.port)]
        file = str(self.certificate)
        keys = ["--tls-cert-file", file, "--tls-key-file", file, "--tls-ca-cert-file", file, "--tls-auth-clients", "no"]
        return ["--port", "0", "--tls-port", str(self.port), *keys]

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@contextmanager
def a_redis(home: Path) -> Iterator[str]:
    """Its URL."""
    if named := os.environ.get(VARIABLE):
        yield named
        return
    server = RedisServer(home)
    server.start()
    try:
        yield server.url
    finally:
        server.stop()
