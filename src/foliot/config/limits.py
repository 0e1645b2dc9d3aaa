"""Settings of the default limits of tenants.

Settings of the number of server processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from foliot.config import parse as reading
from foliot.config.parse import about
from foliot.core.errors import Invalid
from foliot.core.limits import LIMITS, UNLIMITED, TenantLimits, least, most

NONE = "none"
"""The value that means no limit."""

ORDINARY = TenantLimits(
    requests_per_minute=6000, schedules=10_000, run_now_per_minute=600, streams=100, stored_bytes=1_000_000_000
)
"""Defaults where the operator chose none; local mode, which has one tenant, has no limits."""


def _limit(name: str) -> Callable[[str], int | str]:
    def read(text: str) -> int | str:
        rule = f"must be a whole number from {least(name)} to {most(name)}, or {NONE} for no limit"
        if text.lower() == NONE:
            return NONE
        try:
            value = int(text)
        except ValueError:
            raise ValueError(rule) from None
        if not least(name) <= value <= most(name):
            raise ValueError(rule)
        return value

    return read


def _declared(name: str, doc: str, variable: str | None = None) -> Any:
    ordinary = getattr(ORDINARY, name)
    default = f"Default: {ordinary}; none in local mode." if ordinary else "Default: none."
    doc = f"{doc} A number, or `{NONE}`. {default}"
    return field(default=None, metadata=about(doc, variable or f"FOLIOT_LIMIT_{name.upper()}", read=_limit(name)))


@dataclass(frozen=True, kw_only=True, repr=False)
class LimitSettings:
    """Default limits of a tenant. None: the operator chose none."""

    limit_requests_per_minute: int | str | None = _declared(
        "requests_per_minute", "Requests per minute of one tenant to one API process."
    )
    limit_schedules: int | str | None = _declared("schedules", "Schedules of one tenant that are active or paused.")
    limit_concurrent_runs: int | str | None = _declared(
        "concurrent_runs", "Concurrent runs of one tenant, over all workers; further ones wait."
    )
    limit_run_now_per_minute: int | str | None = _declared(
        "run_now_per_minute",
        "Runs per minute that one tenant's users request (run now, retry, replay) from one API process.",
    )
    limit_streams: int | str | None = _declared("streams", "Open streams of one tenant in one API process.")

    limit_stored_bytes: int | str | None = _declared(
        "stored_bytes", "Bytes of one tenant's schedules, their versions, and payloads given to single runs."
    )

    limit_catchup_rate: int | str | None = _declared(
        "catchup_rate",
        "Runs per minute that make up for an outage, of one tenant and queue; further ones wait behind those on time.",
        "FOLIOT_CATCHUP_RATE",
    )

    def limits(self, *, local: bool) -> TenantLimits:
        ordinary = UNLIMITED if local else ORDINARY
        chosen = {name: getattr(self, f"limit_{name}") for name in LIMITS}
        return ordinary.but(
            {name: None if value == NONE else value for name, value in chosen.items() if value is not None}
        )


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
