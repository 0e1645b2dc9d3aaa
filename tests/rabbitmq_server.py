"""A RabbitMQ for the tests: the one a variable names, the one on the standard port, or a private one."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.services import free_port, wait_until

VARIABLE = "FOLIOT_TEST_RABBITMQ_URL"
MISSING = f"needs RabbitMQ: apt-get install rabbitmq-server (or name a server in {VARIABLE})"
USUAL = "amqp://guest:guest@127.0.0.1:5672//"
START_SECONDS = 60


class NoRabbitMQ(Exception):
    """None is named, none runs here, and none can be started."""


class RabbitMQServer:
    """A private RabbitMQ that can go away and come back."""

    def __init__(self, home: Path, certificate: Path | None = None) -> None:
        self.home = home
        self.port = free_port()
        self.certificate = certificate
        """With its key in the same file: then it speaks TLS alone."""
        self.name = f"foliot-test-{self.port}@localhost"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def start(self) -> None:
        # What the system's wrapper adds is to become another user; a private one is whoever runs the tests.
        binary = shutil.which("rabbitmq-server", path=f"/usr/lib/rabbitmq/bin:{os.environ['PATH']}")
        if binary is None:
            raise NoRabbitMQ(MISSING)
        # The machine's own configuration may name the machine's own port.
        settings = self.home / "rabbitmq.conf"
        settings.write_text("".join(f"{name} = {value}\n" for name, value in self._door().items()))
        places = {"RABBITMQ_MNESIA_BASE": "data", "RABBITMQ_LOG_BASE": "log", "HOME": "."}
        environ = {
            **os.environ,
            **{key: str(self.home / place) for key, place in places.items()},
            "RABBITMQ_NODENAME": self.name,
            "RABBITMQ_CONFIG_FILE": str(settings),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.home / "plugins"),
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
        }
        self.process = subprocess.Popen(
            [binary], env=environ, cwd=self.home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        if not wait_until(lambda: speaks(self.port), seconds=START_SECONDS):
            self.stop()
            raise NoRabbitMQ(MISSING)

    def _door(self) -> dict[str, str]:
        place = f"127.0.0.1:{self.port}"
        if self.certificate is None:
            return {"listeners.tcp.private": place}
        files = {f"ssl_options.{name}file": str(self.certificate) for name in ("cacert", "cert", "key")}
        quiet = {"ssl_options.verify": "verify_none", "ssl_options.fail_if_no_peer_cert": "false"}
        return {"listeners.tcp": "none", "listeners.ssl.private": place, **files, **quiet}

    def stop(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


def speaks(port: int) -> bool:
    """Whether a broker answers there: one that starts accepts before it does."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 2) as probe:
        probe.settimeout(2)
        probe.sendall(b"AMQP\x00\x00\x09\x01")
        return len(probe.recv(1)) == 1
    return False


def lets_in(url: str) -> bool:
    from kombu import Connection

    try:
        with Connection(url, connect_timeout=3) as connection:
            connection.connect()
    except Exception:  # noqa: BLE001 - refused, or a foreign protocol: not ours to use
        return False
    return True


@contextlib.contextmanager
def a_rabbitmq(home: Path) -> Iterator[str]:
    """Its URL."""
    if named := os.environ.get(VARIABLE):
        yield named
        return
    if lets_in(USUAL):
        yield USUAL
        return
    server = RabbitMQServer(home)
    server.start()
    try:
        yield server.url
    finally:
        server.stop()
