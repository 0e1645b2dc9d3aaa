"""Transports between the processes of one installation: wake-ups, and the broker's publisher and receiver."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foliot.config.settings import Settings
from foliot.core.queue_name import KNOWN_QUEUES
from foliot.engine.broker.publisher import Broker, Intake
from foliot.wakeups.feed import LivingFeed, MemoryFeed


def feed(settings: Settings) -> LivingFeed:
    """The transport of wake-ups to other processes; on SQLite there are none."""
    if settings.is_sqlite:
        return MemoryFeed()
    from foliot.wakeups.across_processes import SharedFeed

    if settings.redis_url is not None:
        from foliot.wakeups.redis import RedisTransport

        return SharedFeed(RedisTransport(settings.redis_url.reveal(), settings.redis_prefix or settings.database_name))
    if settings.is_postgresql:
        from foliot.wakeups.postgres import PostgresTransport

        return SharedFeed(PostgresTransport(settings.database_url))
    return MemoryFeed()


def broker(settings: Settings) -> Broker | None:
    """The publishing side of the broker; None where none is configured."""
    if settings.broker_url is None:
        return None
    # Celery takes as long to import as everything else together.
    from foliot.cluster.celery.publisher import CeleryBroker

    return CeleryBroker(settings.broker_url.reveal())


def intake(settings: Settings, name: str, ended: Callable[[], None], registered: Sequence[str]) -> Intake | None:
    """The receiving side of the broker."""
    if settings.broker_url is None:
        return None
    from foliot.cluster.celery.worker import CeleryIntake

    queues = settings.queues or KNOWN_QUEUES
    url = settings.broker_url.reveal()
    return CeleryIntake(url, name=name, queues=queues, slots=settings.concurrency, ended=ended, registered=registered)
