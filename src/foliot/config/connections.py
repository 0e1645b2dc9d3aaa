"""Settings of the connections between processes: database, broker, and wake-ups."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from foliot.config import parse as reading
from foliot.config.parse import SecretValue, about
from foliot.core.errors import Invalid


@dataclass(frozen=True, slots=True)
class DatabaseFamily:
    """A database and its driver. URLs that name one of `others` are accepted and rewritten."""

    scheme: str
    package: str
    extra: str
    others: frozenset[str]


_SQLITE = DatabaseFamily("sqlite+aiosqlite", "aiosqlite", "", frozenset({"", "aiosqlite", "pysqlite"}))
_POSTGRESQL = DatabaseFamily(
    "postgresql+asyncpg", "asyncpg", "postgres", frozenset({"", "asyncpg", "psycopg", "psycopg2"})
)
_MYSQL = DatabaseFamily(
    "mysql+asyncmy", "asyncmy", "mysql", frozenset({"", "asyncmy", "aiomysql", "pymysql", "mysqldb", "mysqlconnector"})
)
FAMILIES = {
    "sqlite": _SQLITE,
    "postgresql": _POSTGRESQL,
    "postgres": _POSTGRESQL,
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
}
_DATABASE_RULE = (
    "must be a database URL such as sqlite:////var/lib/foliot/foliot.db, "
    "postgresql://user:password@host/name or mariadb://user:password@host/name"
)

# Greedy up to the last @: an unescaped / or # in a password must not make the rest of it visible.
_USERINFO = re.compile(r"(?<=://)([^:/@]*):(.*)@", re.DOTALL)
_QUERY_SECRET = re.compile(r"(?i)((?:password|passwd|pwd|secret|token|sslpassword)=)[^&#]*")


def masked(url: str) -> str:
    """The URL with its password masked."""
    return _QUERY_SECRET.sub(r"\1***", _USERINFO.sub(r"\1:***@", url))


def database_url(text: str) -> str:
    """The URL with our driver; ValueError with the rule otherwise."""
    scheme, separator, rest = text.partition("://")
    name, _, driver = scheme.lower().partition("+")
    family = FAMILIES.get(name)
    if not separator or family is None:
        raise ValueError(_DATABASE_RULE)
    if driver not in family.others:
        raise ValueError(f"names an unsupported driver; write {name}://… to use Foliot's default")
    if find_spec(family.package) is None:
        install = f"pip install 'foliot[{family.extra}]'" if family.extra else f"pip install {family.package}"
        raise ValueError(f"needs the driver {family.package}, which is not installed: {install}")
    return _sqlite_url(rest) if family is _SQLITE else _server_url(family, rest)


def sqlite_path(url: str) -> Path | None:
    """The file of a SQLite URL; None for a database in memory or on a server."""
    if not url.startswith(f"{_SQLITE.scheme}:///"):
        return None
    path = url.removeprefix(f"{_SQLITE.scheme}:///").partition("?")[0]
    return None if path in ("", ":memory:") else Path(path)


def sqlite_file(path: Path) -> str:
    """The URL of a SQLite file."""
    return f"{_SQLITE.scheme}:///{path}"


def _sqlite_url(rest: str) -> str:
    if rest.rstrip("/") == "" or rest == "/:memory:":
        return f"{_SQLITE.scheme}:///:memory:"
    if not rest.startswith("/"):
        raise ValueError(
            "must have three slashes before a relative path and four before an absolute one: sqlite:///foliot.db"
        )
    path, question, query = rest[1:].partition("?")
    return sqlite_file(Path(path).expanduser().absolute()) + question + query


def _server_url(family: DatabaseFamily, rest: str) -> str:
    try:
        parts = urlsplit(f"//{rest}")
        port = parts.port
    except ValueError:
        raise ValueError(
            "must have a port from 0 to 65535, and a percent-encoded user and password if they contain / : @ # or ?"
        ) from None
    if port == 0 or not parts.path.strip("/"):
        raise ValueError("must name a database after the host: …@host:port/name")
    if parts.fragment:
        raise ValueError("must have a # in user or password percent-encoded as %23")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if family is _POSTGRESQL and "sslmode" in query:
        # libpq's name for it; the driver calls it ssl and accepts the same values.
        query.setdefault("ssl", query.pop("sslmode"))
    return f"{family.scheme}://{parts.netloc}{parts.path}" + (f"?{urlencode(query)}" if query else "")


SCHEMES = ("amqp", "amqps", "redis", "rediss")
_BROKER_RULE = (
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
        raise ValueError(_BROKER_RULE)
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
        raise ValueError(_BROKER_RULE) from None
    if scheme not in SCHEMES or not host or parts.fragment or not text.isprintable() or " " in text:
        raise ValueError(_BROKER_RULE)
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
            "After this many runs, `foliot worker` takes no new ones, finishes those it has, and restarts under "
            "the same "
            "process id. Default: never.",
            "FOLIOT_MAX_RUNS",
            read=reading.whole(1, 1_000_000_000),
        ),
    )


USUAL_PORT = 6379
_PARTS = {"redis_host": "REDIS_HOST", "redis_port": "REDIS_PORT", "redis_db": "REDIS_DB"}
_REDIS_RULE = (
    "must be the URL of a Redis, such as redis://:password@host:6379/0, rediss://… for TLS or unix:///path, "
    "with / : @ # and ? in a password percent-encoded"
)
_MISSING = "needs the package redis, which is not installed: pip install 'foliot[cluster]'"


def redis_url(text: str) -> SecretValue:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise ValueError(_REDIS_RULE) from None
    place = parts.path if parts.scheme == "unix" else parts.hostname
    if parts.scheme not in ("redis", "rediss", "unix") or not place or parts.fragment or not text.isprintable():
        raise ValueError(_REDIS_RULE)
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
            "Instead of `REDIS_URL`: the host of a Redis without a password.", "REDIS_HOST", read=reading.address
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
            "Prefix of Foliot's channels in Redis, so that two installations can share one. "
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
        Invalid(_PARTS[name], "needs REDIS_HOST, or must be part of REDIS_URL", got=values[name])
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
