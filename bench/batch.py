"""Q5: how fast a batch of schedules is stored, beside raw inserts of the same rows.

python bench/batch.py [--database URL] [--schedules 10000] [--repeats 3] [--json PATH]

A real `foliot api` answers `POST /api/schedules/batch` (`atomic`, one transaction). RAW writes the rows that this made
(schedules, versions, spans, audit entries; not the one row of stored bytes) once more, in one transaction on one
connection: by COPY on PostgreSQL, by INSERTs elsewhere; it reads, checks and encodes nothing. Both are durable; the
rows are counted after each sample.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import uvloop
from database import POSTGRESQL, BenchDatabase, bench_database
from interfaces import free_port, send, serving
from measuring import Report, Stopwatch, cpu_seconds
from sqlalchemy import make_url
from uuid_utils import uuid7

SHARE = 0.5
TABLES = ("schedules", "versions", "spans", "trail")
LARGEST = 500
"""Rows of one raw INSERT."""


def document(number: int) -> dict[str, Any]:
    return {
        "name": f"Nightly orders {number}",
        "description": "Sends the orders of the last hour.",
        "tags": ["orders", f"shop-{number % 50}"],
        "type": "cron",
        "cron_expr": f"{number % 60} {number % 24} * * *",
        "timezone": "Europe/Stockholm",
        "action": {"kind": "webhook", "url": f"http://127.0.0.1:9/orders/{number}", "body": {"shop": number}},
    }


async def foliot(base: BenchDatabase, port: int, pid: int, count: int, report: Report) -> None:
    body = {"schedules": [document(number) for number in range(count)], "atomic": True}
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    cpu, server = cpu_seconds([pid]), await base.server_cpu()
    began = perf_counter()
    status, answer = await send(reader, writer, port, ("POST", "/api/schedules/batch", body))
    wall = perf_counter() - began
    writer.close()
    spent, there = cpu_seconds([pid]), await base.server_cpu()
    if status != 200:
        raise RuntimeError(f"{status}: {answer}")
    await verify(base, count)
    report.add(
        "FOLIOT",
        per_second=count / wall,
        api_cpu_us=None if cpu is None or spent is None else (spent - cpu) / count * 1e6,
        server_cpu_us=None if server is None or there is None else (there - server) / count * 1e6,
    )
    print(f"  FOLIOT {count / wall:10,.0f}/s", flush=True)


async def verify(base: BenchDatabase, count: int) -> None:
    """The audit log keeps the entries of earlier samples: they cannot be deleted."""
    for table in TABLES[:-1]:
        found = (await base.rows(f"SELECT count(*) FROM {table}"))[0][0]
        if found != count:
            raise RuntimeError(f"{found} rows in {table} after {count} schedules")


async def rows_of(base: BenchDatabase, table: str, after: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The rows that Foliot wrote, in its order, as the driver takes them."""
    newest = f" WHERE id > '{after}'" if table == "trail" else ""
    async with base.admin.connect() as conn:
        told = await conn.exec_driver_sql(f"SELECT * FROM {table}{newest} ORDER BY 1")
        names, rows = list(told.keys()), [tuple(row) for row in told.all()]
    if table == "trail":
        # New entries with the same contents.
        rows = [(f"aud_{uuid7().hex}", *row[1:]) for row in rows]
    return names, rows


async def newest_entry(base: BenchDatabase) -> str:
    return (await base.rows("SELECT max(id) FROM trail"))[0][0] or ""


async def raw(base: BenchDatabase, made: dict[str, Any], count: int, report: Report) -> None:
    watch = Stopwatch()
    await RAW[base.dialect](base, made, watch)
    await verify(base, count)
    report.add("RAW", per_second=count / watch.wall, client_cpu_us=watch.client / count * 1e6)
    print(f"  RAW    {count / watch.wall:10,.0f}/s", flush=True)


async def raw_postgresql(base: BenchDatabase, made: dict[str, Any], watch: Stopwatch) -> None:
    import asyncpg

    conn = await asyncpg.connect(base.url.replace("+asyncpg", ""))
    try:
        watch.start()
        async with conn.transaction():
            for table, (names, rows) in made.items():
                await conn.copy_records_to_table(table, columns=names, records=rows)
        watch.stop()
    finally:
        await conn.close()


def statement(table: str, names: Sequence[str], mark: str, count: int) -> str:
    one = "(" + ", ".join([mark] * len(names)) + ")"
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES {', '.join([one] * count)}"


async def raw_sqlite(base: BenchDatabase, made: dict[str, Any], watch: Stopwatch) -> None:
    conn = sqlite3.connect(make_url(base.url).database or "", isolation_level=None)
    conn.execute("PRAGMA synchronous=FULL")
    watch.start()
    conn.execute("BEGIN IMMEDIATE")
    for table, (names, rows) in made.items():
        conn.executemany(statement(table, names, "?", 1), rows)
    conn.execute("COMMIT")
    watch.stop()
    conn.close()


async def raw_mysql(base: BenchDatabase, made: dict[str, Any], watch: Stopwatch) -> None:
    import asyncmy

    url = make_url(base.url)
    conn = await asyncmy.connect(
        host=url.host, port=url.port or 3306, user=url.username, password=url.password or "", db=url.database
    )
    watch.start()
    async with conn.cursor() as cursor:
        for table, (names, rows) in made.items():
            for start in range(0, len(rows), LARGEST):
                part = rows[start : start + LARGEST]
                await cursor.execute(statement(table, names, "%s", len(part)), [value for row in part for value in row])
    await conn.commit()
    watch.stop()
    await conn.ensure_closed()


RAW = {"postgresql": raw_postgresql, "sqlite": raw_sqlite, "mysql": raw_mysql}


async def measure(given: argparse.Namespace, report: Report) -> None:
    async with bench_database(given.database) as base:
        with tempfile.TemporaryDirectory(prefix="foliot-bench-") as home:
            environ = os.environ | {"DATABASE_URL": base.url, "FOLIOT_HOME": home, "LOG_LEVEL": "warning"}
            with serving(["-m", "foliot", "api", "--port"], free_port(), environ) as ours:
                for turn in range(given.repeats + 1):
                    kept = report if turn else Report("warm-up")
                    after = await newest_entry(base)
                    await foliot(base, ours.port, ours.pid, given.schedules, kept)
                    made = {table: await rows_of(base, table, after) for table in TABLES}
                    await clear(base)
                    await raw(base, made, given.schedules, kept)
                    await clear(base)
    share = report.ratio("FOLIOT", "RAW") or 0.0
    report.goal(f"Q5: a batch at {share:.0%} of raw inserts of the same rows ({SHARE:.0%})", met=share >= SHARE)


async def clear(base: BenchDatabase) -> None:
    for table in TABLES[:-1]:
        await base.run(f"DELETE FROM {table}")
    await base.settle(*TABLES)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default=POSTGRESQL, help="created and dropped; its name must contain 'bench'")
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    report = Report(f"batch-{make_url(given.database).get_backend_name()}")
    uvloop.run(measure(given, report))
    report.show()
    print(f"written to {report.write(given.json)}")
    return 0 if all(report.goals.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
