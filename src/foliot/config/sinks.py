"""Settings of sinks: further destinations of results."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.util import find_spec

from foliot.config.field import about
from foliot.config.parse import SecretValue

SCHEMES = ("mongodb", "mongodb+srv")
_RULE = (
    "must be the URL of a MongoDB, such as mongodb://user:password@host:27017/?authSource=admin or mongodb+srv://…, "
    "with / : @ # and ? in a password percent-encoded"
)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")


def mongo_uri(text: str) -> SecretValue:
    """Checks only the outline of the URL; the driver parses it fully."""
    scheme, _, rest = text.partition("://")
    user, at, hosts = rest.partition("/")[0].rpartition("@")
    named = all(host.strip(":") for host in hosts.split(","))
    signed = not at or (user.partition(":")[0] and user.count(":") <= 1 and "@" not in user)
    if scheme not in SCHEMES or not text.isprintable() or " " in text or not named or not signed:
        raise ValueError(_RULE)
    if find_spec("pymongo") is None:
        raise ValueError("needs PyMongo, which is not installed: pip install 'foliot[mongo]'")
    return SecretValue(text)


def database_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("must be the name of a database: letters, digits, - and _, at most 63 of them")
    return text


@dataclass(frozen=True, kw_only=True, repr=False)
class SinkSettings:
    """Settings of sinks."""

    mongo_uri: SecretValue | None = field(
        default=None,
        metadata=about(
            "A MongoDB to which articles, jobs and the items of crawls are copied. Default: none.",
            "FOLIOT_MONGO_URI",
            "MONGO_URI",
            "MONGO_URL",
            "MONGODB_URL",
            read=mongo_uri,
            secret=True,
        ),
    )
    mongo_db_name: str = field(
        default="job_scheduler",
        metadata=about(
            "The database there, with the collections `articles`, `jobs` and `items`.",
            "FOLIOT_MONGO_DB_NAME",
            "MONGO_DB_NAME",
            read=database_name,
        ),
    )
