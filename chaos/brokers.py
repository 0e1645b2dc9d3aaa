"""A RabbitMQ or Redis of the campaign's own, in a temporary directory, that may be restarted and wiped."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.rabbitmq_server import RabbitMQServer
from tests.redis_server import RedisServer

SERVERS: Mapping[str, type[RabbitMQServer | RedisServer]] = {"rabbitmq": RabbitMQServer, "redis": RedisServer}


@dataclass
class Broker:
    """One server; `begin` makes it, `end` leaves nothing behind."""

    home: Path
    server: RabbitMQServer | RedisServer

    @classmethod
    def begin(cls, kind: str) -> Broker:
        home = Path(tempfile.mkdtemp(prefix=f"foliot-chaos-{kind}-"))
        broker = cls(home, SERVERS[kind](home))
        try:
            broker.server.start()
        except BaseException:
            broker.end()
            raise
        return broker

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def port(self) -> int:
        return self.server.port

    def through(self, port: int) -> str:
        """The same server, reached through a wire."""
        return self.url.replace(f":{self.port}", f":{port}", 1)

    def restart(self) -> None:
        """Killed and started again; RabbitMQ finds what it kept, Redis keeps nothing."""
        self.server.stop()
        self.server.start()

    def wipe(self) -> None:
        """Everything it held is gone: queues and messages."""
        if isinstance(self.server, RedisServer):
            with socket.create_connection(("127.0.0.1", self.server.port), 5) as asking:
                asking.sendall(b"FLUSHALL\r\n")
                asking.recv(64)
            return
        self.server.stop()
        shutil.rmtree(self.home / "data", ignore_errors=True)
        self.server.start()

    def end(self) -> None:
        self.server.stop()
        shutil.rmtree(self.home, ignore_errors=True)
