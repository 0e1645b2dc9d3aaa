"""Settings of the broker between schedulers and workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from urllib.parse import urlsplit

from foliot.config import parse as reading
from foliot.config.field import about
from foliot.config.parse import SecretValue

SCHEMES = ("amqp", "amqps", "redis", "rediss")
_RULE = (
    "must be the URL of a broker, such as amqp://user:password@host:5672/vhost, amqps://… for TLS, "
    "redis://:password@host:6379/0 or rediss://…, with / : @ # and ? in a password percent-encoded"
)
_OTHERS = {"pyamqp": "amqp"}
"""Celery's names for the same settings."""


def broker_url(text: str) -> SecretValue:
    """One URL, or those of a RabbitMQ cluster, separated by semicolons."""
    urls = [_one(part.strip()) for part in text.split(";") if part.strip()]
    kinds = {url.partition("://")[0] for url in urls}
    if not urls or len(kinds) > 1 or (len(urls) > 1 and not kinds <= {"amqp", "amqps"}):
        raise ValueError(_RULE)
    if find_spec("celery") is None or (kinds & {"redis", "rediss"} and find_spec("redis") is None):
        raise ValueError("needs Celery, which is not installed: pip install 'foliot[cluster]'")
    return SecretValue(";".join(urls))


def _one(text: str) -> str:
    scheme, _, rest = text.partition("://")
    scheme = _OTHERS.get(scheme.lower(), scheme.lower())
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(_RULE) from None
    if scheme not in SCHEMES or not host or parts.fragment or not text.isprintable() or " " in text:
        raise ValueError(_RULE)
    if scheme.startswith("redis") and not (parts.path.strip("/") or "0").isdecimal():
        raise ValueError("must end with the number of a database: redis://host:6379/0")
    return f"{scheme}://{rest}"


@dataclass(frozen=True, kw_only=True, repr=False)
class BrokerSettings:
    """Settings of the broker."""

    broker_url: SecretValue | None = field(
        default=None,
        metadata=about(
            "The broker through which `foliot scheduler` hands runs to `foliot worker`: `amqp://…` (RabbitMQ) or "
            "`redis://…`; `amqps://…` and `rediss://…` for TLS. Default: none; a process with free slots takes runs "
            "from the database. `foliot up` never uses one.",
            "FOLIOT_BROKER_URL",
            "CELERY_BROKER_URL",
            "RABBITMQ_URL",
            read=broker_url,
            secret=True,
        ),
    )
    max_runs: int | None = field(
        default=None,
        metadata=about(
            "After this many runs, `foliot worker` takes no more, finishes what it has, and restarts under the same "
            "process id. Default: never.",
            "FOLIOT_MAX_RUNS",
            read=reading.whole(1, 1_000_000_000),
        ),
    )
