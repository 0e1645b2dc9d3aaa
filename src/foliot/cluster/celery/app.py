"""The Celery app: queues and priorities, JSON only; no results, retries or delays, because those are rows."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from celery import Celery
from kombu import Connection, Exchange, Queue

from foliot.core.queue_name import PRIORITIES

AUTHORITY = "ssl_ca_certs"
"""Parameter of the URL: a file with the authorities to trust instead of the system's."""


def bare(url: str) -> str:
    """The URL without the parameters that `checked` reads, which Celery's client for RabbitMQ does not know."""
    return ";".join(_without(part) for part in url.split(";")) if url.startswith("amqps://") else url


def checked(url: str) -> dict[str, Any] | None:
    """The TLS options of the client; None without TLS."""
    scheme = url.partition("://")[0]
    if scheme not in {"amqps", "rediss"}:
        return None
    first, *others = url.split(";")
    [authority, *_] = parse_qs(urlsplit(first).query).get(AUTHORITY, [None])
    if scheme == "rediss":
        options = {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_check_hostname": True}
        return {**options, AUTHORITY: authority} if authority else options
    # The client verifies the name of the first of several machines, and keeps it for the others.
    named = {} if others else {"server_hostname": None}
    return {"cert_reqs": ssl.CERT_REQUIRED, "ca_certs": authority, **named}


def _without(url: str) -> str:
    parts = urlsplit(url)
    kept = [(name, value) for name, values in parse_qs(parts.query).items() for value in values if name != AUTHORITY]
    return urlunsplit(parts._replace(query=urlencode(kept)))


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
        worker_consumer="foliot.cluster.celery.worker:PatientConsumer",
        broker_transport_options=options(url),
        broker_use_ssl=checked(url) or False,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=PATIENCE,
        broker_heartbeat=10,
    )
    return app
