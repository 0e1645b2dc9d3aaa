"""Reads what the store says at the end of a campaign, straight from its tables."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from chaos import history

QUERIES = {
    history.RUNS: "SELECT id, schedule_id AS schedule, scheduled_for AS at, state, attempt, max_attempts,"
    " created_at AS created, kind, parent_id AS parent, fills, origin FROM runs ORDER BY id",
    history.ATTEMPTS: "SELECT run_id AS run, epoch, number, coalesce(worker, '') AS worker, outcome,"
    " started_at AS started, ended_at AS ended FROM attempts ORDER BY run_id, epoch",
    history.LEDGER: "SELECT schedule_id AS schedule, first_at AS first, last_at AS last, count, reason FROM ledger"
    " ORDER BY schedule_id, first_at",
}


def settled(url: str) -> bool:
    """Whether nothing is open and nothing will come due."""
    open_runs, active = asyncio.run(
        _rows(
            url,
            "SELECT id FROM runs WHERE finished_at IS NULL LIMIT 1",
            "SELECT id FROM schedules WHERE next_at IS NOT NULL LIMIT 1",
        )
    )
    return not open_runs and not active


def collect(url: str, directory: Path) -> None:
    for name, rows in zip(QUERIES, asyncio.run(_rows(url, *QUERIES.values())), strict=True):
        history.write(directory / name, rows)


async def _rows(url: str, *queries: str) -> list[Sequence[dict[str, Any]]]:
    engine = create_async_engine(url.replace("sqlite:", "sqlite+aiosqlite:", 1))
    try:
        async with engine.connect() as connection:
            return [list(map(dict, (await connection.execute(text(query))).mappings())) for query in queries]
    finally:
        await engine.dispose()
