"""Parses a database URL; the usual spellings are rewritten to our asynchronous driver."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit


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
_RULE = "must be a database URL such as sqlite:////var/lib/foliot/foliot.db, postgresql://user:password@host/name or mariadb://user:password@host/name"

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
        raise ValueError(_RULE)
    if driver not in family.others:
        raise ValueError(f"names a driver Foliot does not know; write {name}://… and Foliot takes its own")
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
            "must have a port from 0 to 65535, and user and password percent-encoded when they hold / : @ # or ?"
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
