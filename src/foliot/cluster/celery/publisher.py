"""Publishes messages to the broker, from a thread of its own because its clients block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from kombu.utils.url import maybe_sanitize_url

from foliot.cluster.celery.app import on_redis
from foliot.cluster.celery.rabbitmq import RabbitConnection
from foliot.cluster.celery.redis import RedisListConnection
from foliot.cluster.parcel import BrokerMessage


class BrokerConnection(Protocol):
    """A connection to a broker. `Unavailable` when it does not hold."""

    def send(self, parcels: Sequence[BrokerMessage]) -> None: ...

    def check(self) -> None: ...

    def close(self) -> None: ...


class CeleryBroker:
    """RabbitMQ or Redis, as the URL says."""

    def __init__(self, url: str) -> None:
        self._line: BrokerConnection = RedisListConnection(url) if on_redis(url) else RabbitConnection(url)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="foliot-broker")
        self._shown = str(maybe_sanitize_url(url))

    @property
    def shown(self) -> str:
        return self._shown

    async def publish(self, parcels: Sequence[BrokerMessage]) -> None:
        await self._there(self._line.send, parcels)

    async def check(self) -> None:
        await self._there(self._line.check)

    async def close(self) -> None:
        await self._there(self._line.close)
        self._thread.shutdown(wait=False)

    async def _there(self, work: Callable[..., None], *arguments: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)
