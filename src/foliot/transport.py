"""Transports between the processes of one installation: wake-ups, and the broker with its two sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foliot.domain.queue import KNOWN_QUEUES
from foliot.feed.memory import MemoryFeed
from foliot.ports import Broker, Intake, LivingFeed
from foliot.settings import Settings


def feed(settings: Settings) -> LivingFeed:
    """What wakes the other processes; on SQLite there are none."""
    if settings.is_sqlite:
        return MemoryFeed()
    from foliot.feed.shared import SharedFeed

    if settings.redis_url is not None:
        from foliot.feed.redis import RedisLine

        return SharedFeed(RedisLine(settings.redis_url.reveal(), settings.redis_prefix or settings.database_name))
    if settings.is_postgresql:
        from foliot.feed.postgres import PostgresLine

        return SharedFeed(PostgresLine(settings.database_url))
    return MemoryFeed()


def broker(settings: Settings) -> Broker | None:
    """The near side of the broker; None where there is none."""
    if settings.broker_url is None:
        return None
    # Celery takes as long to import as everything else together.
    from foliot.workers.celery.publisher import CeleryBroker

    return CeleryBroker(settings.broker_url.reveal())


def intake(settings: Settings, name: str, ended: Callable[[], None], registered: Sequence[str]) -> Intake | None:
    """The far side."""
    if settings.broker_url is None:
        return None
    from foliot.workers.celery.worker import CeleryIntake

    queues = settings.queues or KNOWN_QUEUES
    url = settings.broker_url.reveal()
    return CeleryIntake(url, name=name, queues=queues, slots=settings.concurrency, ended=ended, registered=registered)
