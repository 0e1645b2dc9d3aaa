"""Keeps the counts per quarter of an hour and the statistics of schedules, in the transaction that ends the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Table, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.engine.model import quarter_counts as rules
from foliot.engine.model.quarter_counts import FAILED_ONCE, Ended, Key
from foliot.engine.model.run import RunState
from foliot.engine.sql import metric_counters
from foliot.engine.sql.tables import quarter_counts, runs, schedule_stats, tallies

COUNTED = (
    runs.c.id,
    runs.c.tenant_id,
    runs.c.schedule_id,
    runs.c.created_at,
    runs.c.scheduled_for,
    runs.c.due_at,
    runs.c.started_at,
)
"""The columns of a run that its end is counted by."""
_STATS = ("schedule_id", "tenant_id", "run_id", "state", "ended_at", "took_ms", "failing_at", "flaky", "slow")
Rows = tuple[Table, dict[str, list[Any]], str]
"""A batch to insert, with its conflict rule."""


async def add_ended(conn: AsyncConnection, dialect: Dialect, ended: Sequence[Ended], *, by: int = 1) -> None:
    """Count runs that have ended, with one statement where the database can; with -1, runs that are deleted.

    A transaction does this last: it never waits for a run while it holds a count.
    """
    if not ended:
        return
    states = {f"runs.{state.value}": count for state, count in Counter(state for _, state, _ in ended).items()}
    batches = [
        (tallies, metric_counters.columns({name: by * count for name, count in states.items()}), "sum"),
        (quarter_counts, _columns(rules.count_ended(ended, by)), "count"),
    ]
    if by > 0 and (stats := _stats(ended)):
        batches.append((schedule_stats, stats, "newest"))
    await dialect.insert_all(conn, batches)


async def add(conn: AsyncConnection, dialect: Dialect, counts: Mapping[Key, int]) -> None:
    """Add to counts, or, with negative numbers, take from them."""
    if counts:
        await dialect.insert(conn, quarter_counts, _columns(counts), conflict="count")


def unmade_rows(counts: Mapping[Key, int], missed: Mapping[tuple[str, str], datetime]) -> list[Rows]:
    """Rows that add to counts, and that note the last missed instant of schedules, by id and tenant."""
    batches: list[Rows] = [(quarter_counts, _columns(counts), "count")] if counts else []
    if missed:
        keys = sorted(missed)
        columns: dict[str, list[Any]] = {
            "schedule_id": [schedule_id for schedule_id, _ in keys],
            "tenant_id": [tenant_id for _, tenant_id in keys],
            "missed_at": [missed[one] for one in keys],
        }
        batches.append((schedule_stats, columns, "later"))
    return batches


def _columns(counts: Mapping[Key, int]) -> dict[str, list[Any]]:
    """Always in the same order, so that concurrent writers cannot deadlock."""
    keys = sorted(counts)
    return {
        "tenant_id": [tenant_id for tenant_id, _, _ in keys],
        "name": [name for _, name, _ in keys],
        "at": [at for _, _, at in keys],
        "slot": [metric_counters.SLOT] * len(keys),
        "value": [counts[one] for one in keys],
    }


def _stats(ended: Sequence[Ended]) -> dict[str, list[Any]]:
    """One row for each schedule, by id: its newest run, and the shares of all of its runs in this group."""
    groups: dict[str, list[Ended]] = {}
    for one in ended:
        if one[0].schedule_id is not None:
            groups.setdefault(one[0].schedule_id, []).append(one)
    rows = [_stats_row(schedule_id, groups[schedule_id]) for schedule_id in sorted(groups)]
    return {name: list(values) for name, values in zip(_STATS, zip(*rows, strict=True), strict=True)} if rows else {}


def _stats_row(schedule_id: str, group: Sequence[Ended]) -> tuple[Any, ...]:
    row, state, at = group[0] if len(group) == 1 else max(group, key=lambda one: one[0].id)
    took = rules.milliseconds(row, at)
    if len(group) == 1:
        bad, peak = int(rules.failed(state)), took or 0
    else:
        bad = sum(rules.failed(its) for _, its, _ in group)
        peak = max(rules.milliseconds(its, its_end) or 0 for its, _, its_end in group)
    failing_at, flaky = at if rules.failed(state) else None, bad * FAILED_ONCE // len(group) or None
    return schedule_id, row.tenant_id, row.id, state.value, at, took, failing_at, flaky, rules.step(peak)


async def forget(conn: AsyncConnection, dialect: Dialect, before: datetime, limit: int) -> int:
    """Delete counts of quarters before this moment that add up to nothing: their runs were pruned."""
    some = select(quarter_counts).where(quarter_counts.c.at < before).order_by(quarter_counts.c.at).limit(limit)
    rows = (await conn.execute(dialect.lock(some, skip=True))).all()
    sums: Counter[Key] = Counter()
    for row in rows:
        sums[row.tenant_id, row.name, row.at] += row.value
    deleted = 0
    for (tenant_id, name, at), total in sums.items():
        if total == 0:
            # The slots that were read, and no other: their sum is zero, so that the total stays as it is.
            slots = [row.slot for row in rows if (row.tenant_id, row.name, row.at) == (tenant_id, name, at)]
            this = (quarter_counts.c.tenant_id == tenant_id, quarter_counts.c.name == name, quarter_counts.c.at == at)
            deleted += (
                await conn.execute(delete(quarter_counts).where(*this, quarter_counts.c.slot.in_(slots)))
            ).rowcount
    return deleted


async def forget_nothing(conn: AsyncConnection, tenant_id: str) -> None:
    """Delete the counts of a tenant that are zero."""
    mine = (quarter_counts.c.tenant_id == tenant_id, quarter_counts.c.value == 0)
    await conn.execute(delete(quarter_counts).where(*mine))


async def recounted(conn: AsyncConnection, tenant_id: str | None = None) -> Counter[Key]:
    """What the counts of runs must be, from the runs themselves; of one tenant, or of all."""
    mine = [] if tenant_id is None else [runs.c.tenant_id == tenant_id]
    query = select(*COUNTED, runs.c.state, runs.c.finished_at).where(runs.c.finished_at.is_not(None), *mine)
    counts: Counter[Key] = Counter()
    async with conn.stream(query) as rows:
        async for part in rows.partitions(1000):
            counts.update(rules.count_ended((row, RunState(row.state), row.finished_at) for row in part))
    return counts


async def kept(conn: AsyncConnection, tenant_id: str | None = None) -> Counter[Key]:
    """The counts as they are kept, those of instants without a run too."""
    mine = [] if tenant_id is None else [quarter_counts.c.tenant_id == tenant_id]
    columns = (quarter_counts.c.tenant_id, quarter_counts.c.name, quarter_counts.c.at)
    query = select(*columns, func.sum(quarter_counts.c.value)).where(*mine).group_by(*columns)
    found = {(tenant, name, at): int(value) for tenant, name, at, value in await conn.execute(query)}
    return Counter({key: value for key, value in found.items() if value})
