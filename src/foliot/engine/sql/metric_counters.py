"""Counters for the metrics that could not be recounted without scanning a whole table, or at all."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.engine.sql.tables import tallies

_HISTOGRAMS = ("lateness", "start_lateness", "duration", "alert_delay")
_LABELLED = ("runs", "alert_deliveries")
"""Counters with a label, which is the part of the name after the dot."""
_COUNTERS = (
    "fired", "replaced", "stale_writes", "pages_rendered", "pages_not_rendered", "page_requests_refused"
)  # fmt: skip
_MICRO = 1_000_000

SLOT = random.randrange(16)  # noqa: S311 -- spreads processes, hides nothing
"""The rows that this process adds to."""


def columns(counts: Mapping[str, int]) -> dict[str, list[Any]]:
    """Rows that add to counters; always in the same order, so that concurrent writers cannot deadlock."""
    names = sorted(counts)
    return {"name": names, "slot": [SLOT] * len(names), "value": [counts[name] for name in names]}


async def add(conn: AsyncConnection, dialect: Dialect, counts: Mapping[str, int]) -> None:
    """Add to counters."""
    if counts:
        await dialect.insert(conn, tallies, columns(counts), conflict="sum")


async def total(conn: AsyncConnection) -> dict[str, Any]:
    """All counters, in the shape of a process's report; `runs` are the ended ones that are kept, by state."""
    report: dict[str, Any] = {"runs": {}}
    buckets: dict[str, dict[int, int]] = {}
    query = select(tallies.c.name, func.sum(tallies.c.value)).group_by(tallies.c.name)
    for name, value in await conn.execute(query):
        group, _, member = name.partition(".")
        if not member:
            report[group] = int(value)
        elif group in _LABELLED:
            report.setdefault(group, {})[member] = int(value)
        elif member == "sum":
            report.setdefault(group, {})["sum"] = float(value) / _MICRO
        else:
            buckets.setdefault(group, {})[int(member)] = int(value)
    for group, counts in buckets.items():
        report.setdefault(group, {})["counts"] = [counts[at] for at in sorted(counts)]
    return report


def counters(report: object) -> dict[str, int]:
    """The counts of a report, by name; damaged ones are ignored."""
    if not isinstance(report, Mapping):
        return {}
    found = {name: int(report[name]) for name in _COUNTERS if isinstance(report.get(name), int)}
    for name in _HISTOGRAMS:
        histogram = report.get(name)
        if isinstance(histogram, Mapping) and isinstance(histogram.get("counts"), list):
            found |= {f"{name}.{at}": int(count) for at, count in enumerate(histogram["counts"])}
            found[f"{name}.sum"] = round(float(histogram.get("sum", 0)) * _MICRO)
    return found
