"""Brokers for the tests, and what can go wrong with one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from tests import rabbitmq_server, redis_server
from tests.rabbitmq_server import NoRabbitMQ
from tests.redis_server import NoRedis
from tests.services import absent

KINDS = {"rabbitmq": rabbitmq_server.a_rabbitmq, "redis": redis_server.a_redis}


@dataclass
class TestBroker:
    """A broker and the queues of one test on it, which nobody else uses and which go when the test does."""

    __test__ = False

    kind: str
    url: str
    mark: str = field(default_factory=lambda: f"foliot_test_{uuid4().hex[:10]}")
    made: set[str] = field(default_factory=set)

    def queue(self, name: str = "default") -> str:
        self.made.add(f"{self.mark}_{name}")
        return f"{self.mark}_{name}"

    def depth(self, queue: str) -> int:
        """How many messages wait."""
        from kombu import Connection

        from foliot.cluster.celery.app import options, queue_of

        with Connection(self.url, transport_options=options(self.url)) as connection:
            return int(queue_of(queue, self.url).bind(connection.channel()).queue_declare().message_count)

    def wipe(self) -> None:
        """Lose the queues with everything in them."""
        from kombu import Connection

        from foliot.cluster.celery.app import options, queue_of

        with Connection(self.url, transport_options=options(self.url)) as connection:
            for name in self.made:
                queue = queue_of(name, self.url).bind(connection.channel())
                queue.queue_declare()
                queue.delete()


@contextmanager
def a_broker(kind: str, home: Path) -> Iterator[str]:
    """Its URL; a test that needs it is skipped where there is none, or fails where there must be one."""
    try:
        with KINDS[kind](home) as url:
            yield url
    except (NoRabbitMQ, NoRedis) as missing:
        absent(missing)
