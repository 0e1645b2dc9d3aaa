"""Publishes messages to the broker, from a thread of its own because its clients block.

Publishes to RabbitMQ: sends a batch, then waits for every publisher confirm.

Publishes to Redis: pushes onto the lists that Celery's workers read, many in one round trip.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, Protocol

from kombu import Connection
from kombu.transport.redis import Channel
from kombu.utils.url import maybe_sanitize_url
from redis import Redis
from redis.exceptions import RedisError

from foliot.cluster.celery import message
from foliot.cluster.celery.app import PATIENCE, bare, checked, on_redis, queue_of, step
from foliot.cluster.frames import BrokerMessage
from foliot.core.errors import Unavailable

STALE = "60000"
"""TTL of a message in milliseconds: its runs have been offered again long before."""


class RabbitConnection:
    """One connection, used by one thread."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection: Connection | None = None
        self._channel: Any = None
        self._declared: set[str] = set()
        self._sent = 0
        self._open: set[int] = set()
        self._refused: list[str] = []

    def send(self, parcels: Sequence[BrokerMessage]) -> None:
        with self._translated():
            channel = self._ready()
            self._declare({parcel.queue for parcel in parcels})
            for parcel in parcels:
                channel.basic_publish(
                    self._message(channel, parcel), exchange="", routing_key=parcel.queue, mandatory=True
                )
                self._sent += 1
                self._open.add(self._sent)
            self._await_receipts()

    def check(self) -> None:
        with self._translated():
            self._ready().exchange_declare("amq.direct", type="direct", passive=True)

    def close(self) -> None:
        connection, self._connection, self._channel = self._connection, None, None
        self._declared.clear()
        self._open.clear()
        self._refused.clear()
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.close()

    def _ready(self) -> Any:
        if self._channel is None:
            # Timeouts bound every wait: a broker whose machine vanished sends nothing more.
            waits = {"read_timeout": PATIENCE, "write_timeout": PATIENCE}
            self._connection = Connection(
                bare(self.url),
                ssl=checked(self.url) or False,
                connect_timeout=PATIENCE,
                heartbeat=0,
                transport_options=waits,
            )
            self._connection.ensure_connection(max_retries=1, interval_start=0, timeout=PATIENCE)
            self._channel = self._connection.channel()
            self._channel.confirm_select()
            self._sent = 0
            self._channel.events["basic_ack"].add(self._receipt)
            self._channel.events["basic_nack"].add(self._nacked)
            self._channel.events["basic_return"].add(self._returned)
        return self._channel

    def _declare(self, queues: set[str]) -> None:
        for name in sorted(queues - self._declared):
            queue_of(name, self.url).bind(self._channel).queue_declare()
            self._declared.add(name)

    def _message(self, channel: Any, parcel: BrokerMessage) -> Any:
        named = message.headers(parcel)
        properties = {"correlation_id": named["id"], "delivery_mode": 2, "expiration": STALE}
        return channel.prepare_message(
            message.body(parcel),
            priority=step(self.url, parcel.priority),
            content_type="application/json",
            content_encoding="utf-8",
            headers=named,
            properties=properties,
        )

    def _await_receipts(self) -> None:
        until = monotonic() + PATIENCE
        while self._open and not self._refused:
            if (left := until - monotonic()) <= 0:
                raise TimeoutError(f"no confirmation of {len(self._open)} messages within {PATIENCE:g} s")
            self._connection.drain_events(timeout=left)  # type: ignore[union-attr]
        if self._refused:
            raise ConnectionError(f"refused a message: {self._refused[0]}")

    def _receipt(self, tag: int, multiple: bool) -> None:  # noqa: FBT001 -- as the client calls it
        self._open -= {one for one in self._open if one <= tag} if multiple else {tag}

    def _nacked(self, tag: int, multiple: bool) -> None:  # noqa: FBT001 -- see above
        self._refused.append("the queue could not take it")
        self._receipt(tag, multiple)

    def _returned(self, _error: Any, _exchange: str, queue: str, _message: Any) -> None:
        self._refused.append(f"there is no queue {queue} any more")

    @contextlib.contextmanager
    def _translated(self) -> Any:
        """After any error, the next try opens a new connection and declares its queues again."""
        try:
            yield
        except Exception as error:
            self.close()
            cause = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            raise Unavailable(f"RabbitMQ does not answer: {cause}", told="the broker does not answer") from error


BATCH = 500


class RedisListConnection:
    """One connection, used by one thread."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client = Redis.from_url(
            url, socket_connect_timeout=PATIENCE, socket_timeout=PATIENCE, socket_keepalive=True
        )

    def send(self, parcels: Sequence[BrokerMessage]) -> None:
        try:
            for start in range(0, len(parcels), BATCH):
                with self._client.pipeline(transaction=False) as pipeline:
                    for parcel in parcels[start : start + BATCH]:
                        at = step(self.url, parcel.priority)
                        pipeline.lpush(_list(parcel.queue, at), message.on_list(parcel, at))
                    pipeline.execute()
        except (RedisError, OSError) as error:
            raise _away(error) from error

    def check(self) -> None:
        try:
            self._client.ping()
        except (RedisError, OSError) as error:
            raise _away(error) from error

    def close(self) -> None:
        self._client.close()


def _list(queue: str, at: int) -> str:
    """Each queue has a list for each priority step, the most urgent under its own name."""
    return f"{queue}{Channel.sep}{at}" if at else queue


def _away(error: Exception) -> Unavailable:
    cause = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    return Unavailable(f"Redis does not answer: {cause}", told="the broker does not answer")


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
