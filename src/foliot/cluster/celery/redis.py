"""Publishes to Redis: pushes onto the lists that Celery's workers read, many in one round trip."""

from __future__ import annotations

from collections.abc import Sequence

from kombu.transport.redis import Channel
from redis import Redis
from redis.exceptions import RedisError

from foliot.cluster.celery import message
from foliot.cluster.celery.app import PATIENCE, step
from foliot.cluster.parcel import BrokerMessage
from foliot.core.errors import Unavailable

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
