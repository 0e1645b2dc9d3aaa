"""The Celery app: queues and priorities, JSON only; no results, retries or delays, because those are rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from celery import Celery
from kombu import Connection, Exchange, Queue

from foliot.cluster.celery.tls import bare, checked
from foliot.core.queue_name import PRIORITIES

TASK = "foliot.run"
STEPS = len(PRIORITIES)
PATIENCE = 5.0
"""Timeout of the broker, in seconds."""


def on_redis(url: str) -> bool:
    return url.partition("://")[0] in {"redis", "rediss"}


def step(url: str, priority: int) -> int:
    """Our 1 is the most urgent. So is Redis's 0; RabbitMQ takes the highest first."""
    return priority - PRIORITIES[0] if on_redis(url) else PRIORITIES[-1] - priority


def options(url: str) -> dict[str, Any]:
    """Options of the transport."""
    if on_redis(url):
        return {"priority_steps": list(range(STEPS)), "socket_connect_timeout": PATIENCE, "socket_keepalive": True}
    return {}


def queue_of(name: str, url: str) -> Queue:
    """A queue under its own name. We publish to it directly, so a wiped broker has no binding to lose."""
    arguments = None if on_redis(url) else {"x-max-priority": STEPS}
    return Queue(name, Exchange("foliot", type="direct"), routing_key=name, queue_arguments=arguments, durable=True)


class BrokerApp(Celery):  # type: ignore[misc]
    """Celery prefers its own variables to arguments; the settings must win."""

    def connection_for_read(self, url: str | None = None, **kwargs: Any) -> Connection:
        return super().connection_for_read(url or self.foliot_url, **kwargs)

    def connection_for_write(self, url: str | None = None, **kwargs: Any) -> Connection:
        return super().connection_for_write(url or self.foliot_url, **kwargs)


def make_app(url: str, queues: Sequence[str]) -> BrokerApp:
    app = BrokerApp("foliot", broker=bare(url), backend="disabled", set_as_current=False)
    app.foliot_url = bare(url)
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        task_acks_late=False,
        task_queues=[queue_of(name, url) for name in queues],
        task_default_queue=queues[0],
        task_create_missing_queues=False,
        worker_prefetch_multiplier=1,
        # After a broken connection Celery would take little at first and then, thread by thread, ask the broker for
        # more. Each thread reads the answer from a connection that the loop reads too: a thread that misses it waits
        # for ever, and with it every receipt.
        worker_enable_prefetch_count_reduction=False,
        worker_disable_rate_limits=True,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_detect_quorum_queues=False,
        worker_consumer="foliot.cluster.celery.consumer:PatientConsumer",
        broker_transport_options=options(url),
        broker_use_ssl=checked(url) or False,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=PATIENCE,
        broker_heartbeat=10,
    )
    return app
