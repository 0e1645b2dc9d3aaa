"""Brokers that speak TLS: both sides reach one whose certificate is good, and neither talks to another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from foliot.cluster.celery.app import make_app
from foliot.cluster.celery.publisher import CeleryBroker
from foliot.cluster.celery.worker import CeleryIntake
from foliot.cluster.frames import BrokerMessage
from foliot.core.errors import Unavailable
from foliot.core.ids import RUN, new_id
from tests.certificates import self_signed
from tests.rabbitmq_server import NoRabbitMQ, RabbitMQServer
from tests.redis_server import NoRedis, RedisServer
from tests.services import absent

SERVERS: dict[str, type[RabbitMQServer | RedisServer]] = {"amqps": RabbitMQServer, "rediss": RedisServer}
QUEUE = "foliot_test_tls"

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


@dataclass(frozen=True)
class Place:
    """A private broker; nobody has signed its certificate."""

    url: str
    certificate: Path

    @property
    def trusted(self) -> str:
        """The URL of whoever takes its certificate for good."""
        return f"{self.url}?ssl_ca_certs={self.certificate}"


@pytest.fixture(scope="module", params=SERVERS)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp(request.param)
    certificate = self_signed(home / "broker.pem")
    server = SERVERS[request.param](home, certificate)
    try:
        server.start()
    except (NoRabbitMQ, NoRedis) as missing:
        absent(missing)
    yield Place(f"{request.param}://{server.url.partition('://')[2]}", certificate)
    server.stop()


async def test_a_parcel_crosses_when_the_certificate_is_good(place: Place) -> None:
    came: asyncio.Queue[BrokerMessage] = asyncio.Queue()
    broker, run_id = CeleryBroker(place.trusted), new_id(RUN)
    intake = CeleryIntake(place.trusted, name="tls@test", queues=[QUEUE], slots=1)
    await intake.open(came.put)
    try:
        await broker.check()
        await broker.publish([BrokerMessage(QUEUE, 5, [run_id], datetime.now(UTC))])  # noqa: TID251 -- any moment will do
        parcel = await asyncio.wait_for(came.get(), 60)
    finally:
        await intake.close()
        await broker.close()

    assert list(parcel.run_ids) == [run_id]


async def test_neither_side_talks_to_a_broker_whose_certificate_nobody_signed(place: Place) -> None:
    broker = CeleryBroker(place.url)
    try:
        with pytest.raises(Unavailable, match="certificate verify failed"):
            await broker.check()
    finally:
        await broker.close()

    def reach() -> None:
        with make_app(place.url, [QUEUE]).connection_for_read() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=10)
            connection.default_channel.queue_declare(QUEUE, passive=True)

    with pytest.raises(Exception, match="certificate verify failed"):
        await asyncio.to_thread(reach)


async def test_a_certificate_must_bear_the_name_that_was_asked_for(place: Place) -> None:
    another_name = place.trusted.replace("127.0.0.1", "127.1")
    broker = CeleryBroker(another_name)
    try:
        with pytest.raises(Unavailable, match="certificate is not valid for"):
            await broker.check()
    finally:
        await broker.close()
