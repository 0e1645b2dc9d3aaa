"""Settings of the number of server processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from foliot.config import parse as reading
from foliot.config.parse import about
from foliot.core.errors import Invalid


@dataclass(frozen=True, kw_only=True)
class ProcessSettings:
    """How many processes one command starts."""

    server_processes: int = field(
        default=1,
        metadata=about(
            "How many processes `foliot up` and `foliot worker` start, each with its own event loop, runs in flight "
            "and connections; 1 on SQLite, which has one writer.",
            "FOLIOT_SERVER_PROCESSES",
            read=reading.whole(1, 64),
            flag="--processes",
        ),
    )


def complaints(values: Mapping[str, Any], given: Callable[[str], Mapping[str, str]]) -> list[Invalid]:
    """Several processes need a database that they can share; without a URL it is a SQLite file."""
    if values["server_processes"] == 1 or not (values["database_url"] or "sqlite").startswith("sqlite"):
        return []
    rule = "must be 1 on SQLite, which has one writer; set DATABASE_URL to PostgreSQL or MariaDB for more"
    return [Invalid(key, rule, got=values["server_processes"]) for key in given("server_processes")]
