"""Settings of wake-ups between processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from foliot.config import parse as reading
from foliot.config.field import about
from foliot.config.parse import SecretValue
from foliot.core.errors import Invalid

USUAL_PORT = 6379
_PARTS = {"redis_host": "REDIS_HOST", "redis_port": "REDIS_PORT", "redis_db": "REDIS_DB"}
_RULE = (
    "must be the URL of a Redis, such as redis://:password@host:6379/0, rediss://… for TLS or unix:///path, "
    "with / : @ # and ? in a password percent-encoded"
)
_MISSING = "needs the package redis, which is not installed: pip install 'foliot[cluster]'"


def redis_url(text: str) -> SecretValue:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise ValueError(_RULE) from None
    place = parts.path if parts.scheme == "unix" else parts.hostname
    if parts.scheme not in ("redis", "rediss", "unix") or not place or parts.fragment or not text.isprintable():
        raise ValueError(_RULE)
    if parts.scheme != "unix" and not _database(parts.path).isdecimal():
        raise ValueError("must end with the number of a database: redis://host:6379/0")
    if find_spec("redis") is None:
        raise ValueError(_MISSING)
    return SecretValue(text)


def redis_port(text: str) -> int | None:
    """Kubernetes sets this variable beside a service named redis: it holds a URL, not a port, and is ignored."""
    return None if text.startswith("tcp://") else reading.whole(1, 65535)(text)


@dataclass(frozen=True, kw_only=True, repr=False)
class WakeupSettings:
    """Settings of wake-ups between processes."""

    redis_url: SecretValue | None = field(
        default=None,
        metadata=about(
            "The Redis that wakes other processes: `redis://…`, or `rediss://…` for TLS. Default: PostgreSQL does it, "
            "and on MariaDB each process polls every second.",
            "FOLIOT_REDIS_URL",
            "REDIS_URL",
            read=redis_url,
            secret=True,
        ),
    )
    redis_host: str | None = field(
        default=None,
        metadata=about(
            "The same in parts: the host of a Redis without a password.", "REDIS_HOST", read=reading.address
        ),
    )
    redis_port: int | None = field(
        default=None,
        metadata=about(f"Its port. Default: {USUAL_PORT}.", "REDIS_PORT", read=redis_port),
    )
    redis_db: int | None = field(
        default=None,
        metadata=about("The number of its database. Default: 0.", "REDIS_DB", read=reading.whole(0, 65535)),
    )
    redis_prefix: str | None = field(
        default=None,
        metadata=about(
            "How Foliot's channels in Redis begin, so that two Foliots can share one. "
            "Default: the name of the database.",
            "FOLIOT_REDIS_PREFIX",
            read=reading.plain(100),
        ),
    )


def complaints(values: Mapping[str, Any], given: Callable[[str], Mapping[str, str]]) -> list[Invalid]:
    """Checks rules between settings. `given`: the key under which a setting was given, and its text."""
    if values["redis_url"] is not None:
        named = _parts(values["redis_url"].reveal())
        (key, *_) = given("redis_url")
        return [
            Invalid(part, f"must not differ from {key}, which names another; keep one", got=values[name])
            for name, part in _PARTS.items()
            if values[name] not in (None, named[name])
        ]
    if values["redis_host"] is not None:
        return [Invalid("REDIS_HOST", _MISSING)] if find_spec("redis") is None else []
    if given("redis_url"):
        return []
    return [
        Invalid(_PARTS[name], "must come with REDIS_HOST, or be part of REDIS_URL", got=values[name])
        for name in ("redis_port", "redis_db")
        if values[name] is not None
    ]


def joined(values: Mapping[str, Any]) -> SecretValue | None:
    """The URL, as given or built from its parts."""
    url: SecretValue | None = values["redis_url"]
    host = values["redis_host"]
    if url is not None or host is None:
        return url
    place = f"[{host}]" if ":" in host else host
    return SecretValue(f"redis://{place}:{values['redis_port'] or USUAL_PORT}/{values['redis_db'] or 0}")


def _parts(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    database = _database(parts.path)
    return {
        "redis_host": parts.hostname,
        "redis_port": parts.port or USUAL_PORT,
        "redis_db": int(database) if database.isdecimal() else None,
    }


def _database(path: str) -> str:
    return path.strip("/") or "0"
