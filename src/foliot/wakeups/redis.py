"""Wake-ups through Redis: publish and subscribe, which stores nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

CONNECT = 5.0
LOOK = 10.0


class RedisTransport:
    """All processes share one channel. A URL that begins with `rediss://` uses TLS."""

    kind = "redis"

    def __init__(self, url: str, prefix: str) -> None:
        self._url = url
        self._channel = f"{prefix}:wakes"
        self._client: Any = None
        self._subscription: Any = None
        self._hearing: asyncio.Task[None] | None = None

    async def open(self, heard: Callable[[str], None], lost: Callable[[], None]) -> None:
        self._client = client = connect(self._url)
        self._subscription = subscription = client.pubsub()
        await subscription.subscribe(self._channel)
        # The confirmation of the subscription: from here on nothing is missed.
        await subscription.get_message(timeout=CONNECT)
        self._hearing = asyncio.create_task(self._hear(subscription, heard, lost), name="foliot-feed-redis")

    async def send(self, payload: str) -> None:
        await self._client.publish(self._channel, payload)

    async def close(self) -> None:
        hearing, self._hearing = self._hearing, None
        subscription, self._subscription = self._subscription, None
        client, self._client = self._client, None
        if hearing is not None:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)
        for part in (subscription, client):
            if part is not None:
                with suppress(Exception):
                    await part.aclose()

    async def _hear(self, subscription: Any, heard: Callable[[str], None], lost: Callable[[], None]) -> None:
        try:
            while subscription.subscribed:
                message = await subscription.get_message(ignore_subscribe_messages=True, timeout=LOOK)
                if message is not None and message["type"] == "message":
                    heard(message["data"])
        finally:
            lost()


def connect(url: str) -> Any:
    """A client that does not reconnect by itself: after a gap it would wrongly assume to have received everything."""
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    return Redis.from_url(
        url,
        decode_responses=True,
        socket_connect_timeout=CONNECT,
        socket_keepalive=True,
        retry=Retry(NoBackoff(), 0),
        client_name="foliot-feed",
    )


async def answers(url: str) -> None:
    """Raise unless a Redis answers there."""
    client = connect(url)
    try:
        async with asyncio.timeout(CONNECT):
            await client.ping()
    finally:
        await client.aclose()
