"""The limit of a durable queue: claim a batch, finish it, and nothing between; one connection.

The queues in Foliot's own tables (RAW SAME) also claim and finish for the loop of webhooks.py.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import make_url

from foliot.core.ids import RUN, new_id
from foliot.db.metadata import moment_out

BATCH = 100
CHUNK = 1000
ACTION = '{"url":"https://hooks.example.com/services/orders"}'
RESULT = '{"ok":true}'


class RawQueue(Protocol):
    """A queue and its one worker."""

    name: str
    tables: tuple[str, ...]
    batch: int

    async def open(self, url: str) -> None: ...

    async def enqueue(self, count: int) -> None: ...

    async def work(self) -> int:
        """Claim a batch, do nothing, finish it: two commits. How many there were."""
        ...

    async def verify(self, count: int) -> None: ...

    async def close(self) -> None: ...


def _expect(found: Any, count: int) -> None:
    if found != count:
        raise AssertionError(f"{found} of {count} finished")


class PostgresQueue:
    """Six columns and one partial index."""

    name = "RAW QUEUE"
    tables: tuple[str, ...] = ("raw_queue",)
    batch = BATCH

    async def open(self, url: str) -> None:
        import asyncpg

        dsn = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self.conn = await asyncpg.connect(dsn, server_settings={"jit": "off", "random_page_cost": "1.1"})
        await self.prepare()

    async def prepare(self) -> None:
        await self.conn.execute(
            "DROP TABLE IF EXISTS raw_queue;"
            "CREATE TABLE raw_queue (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
            " state smallint NOT NULL DEFAULT 0, payload jsonb NOT NULL, result jsonb,"
            " created_at timestamptz DEFAULT now(), finished_at timestamptz);"
            "CREATE INDEX raw_queue_ready ON raw_queue (id) WHERE state = 0"
        )
        self.claim = await self.conn.prepare(
            "UPDATE raw_queue q SET state = 1 FROM (SELECT id FROM raw_queue WHERE state = 0 ORDER BY id"
            f" LIMIT {BATCH} FOR UPDATE SKIP LOCKED) c WHERE q.id = c.id RETURNING q.id, q.payload"
        )
        self.finish = await self.conn.prepare(
            "UPDATE raw_queue q SET state = 2, result = d.r, finished_at = now()"
            " FROM unnest($1::bigint[], $2::jsonb[]) AS d(id, r) WHERE q.id = d.id"
        )

    async def enqueue(self, count: int) -> None:
        await self.conn.execute(
            "INSERT INTO raw_queue (payload) SELECT $1::jsonb FROM generate_series(1, $2::int)", ACTION, count
        )

    async def work(self) -> int:
        rows = await self.claim.fetch()
        results = [json.dumps({"ok": bool(json.loads(row[1]))}) for row in rows]
        await self.finish.fetch([row[0] for row in rows], results)
        return len(rows)

    async def verify(self, count: int) -> None:
        _expect(await self.conn.fetchval("SELECT count(*) FROM raw_queue WHERE state = 2"), count)

    async def close(self) -> None:
        await self.conn.close()


class PostgresSame(PostgresQueue):
    """Foliot's own tables: the same columns change, and each attempt is noted."""

    name = "RAW SAME"
    tables: tuple[str, ...] = ("runs", "attempts")

    def __init__(self, batch: int = BATCH) -> None:
        self.batch = batch

    async def prepare(self) -> None:
        self.claim = await self.conn.prepare(
            "UPDATE runs r SET state = 'running', lane = NULL, epoch = r.epoch + 1, attempt = r.attempt + 1,"
            " event_seq = r.event_seq + 1, started_seq = r.event_seq + 1, token = $1, lease_until = $2, worker = 'raw',"
            " attempt_at = $3, started_at = $3"
            " FROM (SELECT id FROM runs WHERE lane = 'manual' AND tenant_id = 'default'"
            f" AND order_key <= $2 ORDER BY order_key LIMIT {self.batch} FOR UPDATE SKIP LOCKED) c WHERE r.id = c.id"
            " RETURNING r.id, r.epoch, r.tenant_id, r.attempt, r.event_seq, r.action"
        )
        self.finish = await self.conn.prepare(
            "UPDATE runs r SET state = 'success', lease_until = NULL, open_of = NULL, event_seq = r.event_seq + 1,"
            " final_seq = r.event_seq + 1, finished_at = $3, result = $4"
            " FROM unnest($1::text[], $2::int4[]) AS d(id, epoch) WHERE r.id = d.id AND r.epoch = d.epoch"
        )
        self.note = await self.conn.prepare(
            "INSERT INTO attempts (run_id, epoch, tenant_id, number, worker, outcome, state, started_at, ended_at,"
            " started_seq, ended_seq)"
            " SELECT id, epoch, tenant, number, 'raw', 'success', 'success', $6, $6, seq, seq + 1"
            " FROM unnest($1::text[], $2::int4[], $3::text[], $4::int4[], $5::int8[])"
            " AS d(id, epoch, tenant, number, seq)"
        )

    async def enqueue(self, count: int) -> None:
        now = datetime.now(UTC)
        for start in range(0, count, CHUNK):
            ids = [new_id(RUN) for _ in range(min(CHUNK, count - start))]
            await self.conn.execute(
                "INSERT INTO runs (id, tenant_id, user_id, kind, origin, state, ready_at, queue, lane, priority,"
                " order_key, max_attempts, created_at, action)"
                " SELECT id, 'default', 'someone@example.com', 'webhook', 'manual', 'queued',"
                " $2, 'manual', 'manual', 5, $2, 4, $2, $3 FROM unnest($1::text[]) AS d(id)",
                ids,
                now,
                ACTION,
            )

    async def work(self) -> int:
        rows = await self.take()
        await self.end(rows)
        return len(rows)

    async def take(self) -> list[Any]:
        """Claim a batch: one commit."""
        now = datetime.now(UTC)
        return list(await self.claim.fetch(new_id("tok"), now + timedelta(seconds=30), now))

    async def end(self, rows: Sequence[Any]) -> None:
        """Finish it, with a row for each attempt: another."""
        now = datetime.now(UTC)
        ids, epochs, tenants, numbers, seqs, _ = ([row[at] for row in rows] for at in range(6))
        async with self.conn.transaction():
            await self.finish.fetch(ids, epochs, now, RESULT)
            await self.note.fetch(ids, epochs, tenants, numbers, seqs, now)

    async def verify(self, count: int) -> None:
        _expect(await self.conn.fetchval("SELECT count(*) FROM runs WHERE state = 'success'"), count)
        _expect(await self.conn.fetchval("SELECT count(*) FROM attempts"), count)


class SqliteQueue:
    """The same queue in a file of the benchmark's database."""

    name = "RAW QUEUE"
    tables: tuple[str, ...] = ("raw_queue",)
    batch = BATCH

    async def open(self, url: str) -> None:
        self.conn = sqlite3.connect(make_url(url).database or "", isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=5000"):
            self.conn.execute(f"PRAGMA {pragma}")
        self.conn.execute("DROP TABLE IF EXISTS raw_queue")
        self.conn.execute(
            "CREATE TABLE raw_queue (id INTEGER PRIMARY KEY, state INTEGER NOT NULL DEFAULT 0, payload TEXT NOT NULL,"
            " result TEXT, finished_at TEXT)"
        )
        self.conn.execute("CREATE INDEX raw_queue_ready ON raw_queue (id) WHERE state = 0")

    async def enqueue(self, count: int) -> None:
        self.conn.execute("BEGIN IMMEDIATE")
        self.conn.executemany("INSERT INTO raw_queue (payload) VALUES (?)", [("{}",)] * count)
        self.conn.execute("COMMIT")

    async def work(self) -> int:
        self.conn.execute("BEGIN IMMEDIATE")
        rows = self.conn.execute(
            f"SELECT id, payload FROM raw_queue WHERE state = 0 ORDER BY id LIMIT {BATCH}"
        ).fetchall()
        ids = [(row[0],) for row in rows]
        self.conn.executemany("UPDATE raw_queue SET state = 1 WHERE id = ?", ids)
        self.conn.execute("COMMIT")
        self.conn.execute("BEGIN IMMEDIATE")
        finish = "UPDATE raw_queue SET state = 2, result = '{\"ok\":true}', finished_at = datetime() WHERE id = ?"
        self.conn.executemany(finish, ids)
        self.conn.execute("COMMIT")
        return len(rows)

    async def verify(self, count: int) -> None:
        _expect(self.conn.execute("SELECT count(*) FROM raw_queue WHERE state = 2").fetchone()[0], count)

    async def close(self) -> None:
        self.conn.close()


class SqliteSame(SqliteQueue):
    """Foliot's own tables in the same file."""

    name = "RAW SAME"
    tables: tuple[str, ...] = ("runs", "attempts")

    def __init__(self, batch: int = BATCH) -> None:
        self.batch = batch

    async def open(self, url: str) -> None:
        # Used by one thread at a time, not always by the same one.
        self.conn = sqlite3.connect(make_url(url).database or "", isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=5000", "cache_size=-65536"):
            self.conn.execute(f"PRAGMA {pragma}")

    async def enqueue(self, count: int) -> None:
        now = moment_out("sqlite", datetime.now(UTC))
        rows = [(new_id(RUN), now, now, now, ACTION) for _ in range(count)]
        self.conn.execute("BEGIN IMMEDIATE")
        self.conn.executemany(
            "INSERT INTO runs (id, tenant_id, user_id, kind, origin, state, ready_at, queue, lane, priority,"
            " order_key, max_attempts, created_at, action) VALUES (?, 'default', 'someone@example.com', 'webhook',"
            " 'manual', 'queued', ?, 'manual', 'manual', 5, ?, 4, ?, ?)",
            rows,
        )
        self.conn.execute("COMMIT")

    async def work(self) -> int:
        rows = self.take()
        self.end(rows)
        return len(rows)

    def take(self) -> list[Any]:
        """Claim a batch: one commit."""
        now = datetime.now(UTC)
        began, until = moment_out("sqlite", now), moment_out("sqlite", now + timedelta(seconds=30))
        self.conn.execute("BEGIN IMMEDIATE")
        rows = self.conn.execute(
            "SELECT id, epoch + 1, tenant_id, attempt + 1, event_seq + 1, action FROM runs WHERE lane = 'manual'"
            f" AND tenant_id = 'default' AND order_key <= ? ORDER BY order_key LIMIT {self.batch}",
            (until,),
        ).fetchall()
        token = new_id("tok")
        self.conn.executemany(
            "UPDATE runs SET state = 'running', lane = NULL, epoch = epoch + 1, attempt = attempt + 1,"
            " started_seq = event_seq + 1, event_seq = event_seq + 1, token = ?, lease_until = ?, worker = 'raw',"
            " attempt_at = ?, started_at = ? WHERE id = ? AND state = 'queued'",
            [(token, until, began, began, row[0]) for row in rows],
        )
        self.conn.execute("COMMIT")
        return rows

    def end(self, rows: Sequence[Any]) -> None:
        """Finish it, with a row for each attempt: another."""
        now = moment_out("sqlite", datetime.now(UTC))
        self.conn.execute("BEGIN IMMEDIATE")
        self.conn.executemany(
            "UPDATE runs SET state = 'success', lease_until = NULL, open_of = NULL, event_seq = event_seq + 1,"
            " final_seq = event_seq + 1, finished_at = ?, result = ? WHERE id = ? AND epoch = ?",
            [(now, RESULT, row[0], row[1]) for row in rows],
        )
        self.conn.executemany(
            "INSERT INTO attempts (run_id, epoch, tenant_id, number, worker, outcome, state, started_at, ended_at,"
            " started_seq, ended_seq) VALUES (?, ?, ?, ?, 'raw', 'success', 'success', ?, ?, ?, ?)",
            [(row[0], row[1], row[2], row[3], now, now, row[4], row[4] + 1) for row in rows],
        )
        self.conn.execute("COMMIT")

    async def verify(self, count: int) -> None:
        _expect(self.conn.execute("SELECT count(*) FROM runs WHERE state = 'success'").fetchone()[0], count)
        _expect(self.conn.execute("SELECT count(*) FROM attempts").fetchone()[0], count)


QUEUES: dict[str, list[type[RawQueue]]] = {
    "postgresql": [PostgresQueue, PostgresSame],
    "sqlite": [SqliteQueue, SqliteSame],
    "mysql": [],
}
