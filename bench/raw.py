"""The limit of firing: driver calls that write what Foliot's ticker writes, and decide nothing.

RAW writes the same rows, columns and indexes as Foliot, in Foliot's own tables; RAW NARROW does the same in the
smallest tables that could be called a scheduler. One transaction per batch and the same durability on all sides.
The next instant is an hour later, by addition.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

import orjson
from sqlalchemy import make_url

from foliot.core.ids import RUN, new_id
from foliot.db.metadata import moment_out
from foliot.engine.model.run import order_key

BATCH = 1000
HOUR = timedelta(hours=1)
SETTINGS = {"jit": "off", "timezone": "UTC", "random_page_cost": "1.1"}
"""Of the session, on PostgreSQL: what serves the raw loop best."""
STATE, QUEUE, PRIORITY, ATTEMPTS = "queued", "default", 5, 4

_CLAIMED = "id, tenant_id, user_id, version, kind, next_at, fired"
_COLUMNS = (
    "id, tenant_id, user_id, schedule_id, open_of, version, kind, state, scheduled_for, ready_at, queue, priority,"
    " order_key, lane, buffered_of, max_attempts, timeout_seconds, created_at"
)
_TYPES = (
    "text text text text text int4 text text timestamptz timestamptz text int4"
    " timestamptz text text int4 int4 timestamptz"
)
_CURSOR = "next_at, fired, status, gap_first, gap_reason, last_run_at"

CLAIM = f"SELECT {_CLAIMED} FROM schedules WHERE next_at <= ? ORDER BY next_at LIMIT {BATCH}"
NARROW_CLAIM = f"SELECT id, next_at FROM narrow_schedules WHERE next_at <= ? ORDER BY next_at LIMIT {BATCH}"


class RawLoop(Protocol):
    """One side that fires."""

    async def open(self, url: str) -> None: ...

    async def fire(self, now: datetime) -> int:
        """Fire one batch; how many there were."""
        ...

    async def close(self) -> None: ...

    def statements(self) -> Sequence[str]:
        """What it sends for each batch."""
        ...


def _run_columns(rows: Sequence[Any], now: Any, keys: Sequence[Any]) -> list[list[Any]]:
    """The values of a batch of runs, by column, in the order of `_COLUMNS`."""
    count = len(rows)
    ids = [row[0] for row in rows]
    instants = [row[5] for row in rows]
    return [
        [new_id(RUN) for _ in rows],
        [row[1] for row in rows],
        [row[2] for row in rows],
        ids,
        ids,
        [row[3] for row in rows],
        [row[4] for row in rows],
        [STATE] * count,
        instants,
        instants,
        [QUEUE] * count,
        [PRIORITY] * count,
        list(keys),
        [QUEUE] * count,
        [None] * count,
        [ATTEMPTS] * count,
        [None] * count,
        [now] * count,
    ]


def _unnested(types: Sequence[str]) -> str:
    return ", ".join(f"${at}::{kind}[]" for at, kind in enumerate(types, 1))


class PostgresRaw:
    """asyncpg, prepared statements, arrays."""

    claim_sql = CLAIM.replace("?", "$1") + " FOR UPDATE SKIP LOCKED"
    insert_sql = f"INSERT INTO runs ({_COLUMNS}) SELECT * FROM unnest({_unnested(_TYPES.split())})"
    update_sql = (
        "UPDATE schedules s SET next_at = d.n, fired = d.f, status = d.s, gap_first = d.g, gap_reason = d.r,"
        " last_run_at = d.l FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::int4[], $5::text[],"
        " $6::timestamptz[], $7::text[], $8::timestamptz[]) AS d(id, was, n, f, s, g, r, l)"
        " WHERE s.id = d.id AND s.next_at = d.was"
    )

    async def open(self, url: str) -> None:
        import asyncpg

        self.conn = await asyncpg.connect(_dsn(url), server_settings=SETTINGS)
        self.claim = await self.conn.prepare(self.claim_sql)
        self.insert = await self.conn.prepare(self.insert_sql)
        self.update = await self.conn.prepare(self.update_sql)

    async def fire(self, now: datetime) -> int:
        async with self.conn.transaction():
            rows = await self.claim.fetch(now)
            if rows:
                count, instants = len(rows), [row[5] for row in rows]
                keys = [order_key(at, PRIORITY) for at in instants]
                await self.insert.fetch(*_run_columns(rows, now, keys))
                following = [at + HOUR for at in instants]
                fired = [row[6] + 1 for row in rows]
                none = [None] * count
                ids = [row[0] for row in rows]
                await self.update.fetch(ids, instants, following, fired, ["active"] * count, none, none, instants)
        return len(rows)

    async def close(self) -> None:
        await self.conn.close()

    def statements(self) -> Sequence[str]:
        return ["BEGIN", self.claim_sql, self.insert_sql, self.update_sql, "COMMIT"]


class PostgresNarrow:
    """The same with four columns."""

    claim_sql = NARROW_CLAIM.replace("?", "$1") + " FOR UPDATE SKIP LOCKED"
    insert_sql = (
        "INSERT INTO narrow_runs (schedule_id, scheduled_for) SELECT * FROM unnest($1::bigint[], $2::timestamptz[])"
    )
    update_sql = (
        "UPDATE narrow_schedules s SET next_at = d.n FROM unnest($1::bigint[], $2::timestamptz[]) AS d(id, n)"
        " WHERE s.id = d.id"
    )

    async def open(self, url: str) -> None:
        import asyncpg

        self.conn = await asyncpg.connect(_dsn(url), server_settings=SETTINGS)
        self.claim = await self.conn.prepare(self.claim_sql)
        self.insert = await self.conn.prepare(self.insert_sql)
        self.update = await self.conn.prepare(self.update_sql)

    async def fire(self, now: datetime) -> int:
        async with self.conn.transaction():
            rows = await self.claim.fetch(now)
            if rows:
                ids, instants = [row[0] for row in rows], [row[1] for row in rows]
                await self.insert.fetch(ids, instants)
                await self.update.fetch(ids, [at + HOUR for at in instants])
        return len(rows)

    async def close(self) -> None:
        await self.conn.close()

    def statements(self) -> Sequence[str]:
        return ["BEGIN", self.claim_sql, self.insert_sql, self.update_sql, "COMMIT"]


class SqliteRaw:
    """The standard library's sqlite3, in this thread, with the same journal and the same sync."""

    narrow = False
    insert_sql = f"INSERT INTO runs ({_COLUMNS}) VALUES ({', '.join('?' * 18)})"
    update_sql = f"UPDATE schedules SET ({_CURSOR}) = (?, ?, ?, ?, ?, ?) WHERE id = ? AND next_at = ?"

    async def open(self, url: str) -> None:
        self.conn = sqlite3.connect(make_url(url).database or "", isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-65536", "busy_timeout=5000"):
            self.conn.execute(f"PRAGMA {pragma}")

    async def fire(self, now: datetime) -> int:
        moment = moment_out("sqlite", now)
        self.conn.execute("BEGIN IMMEDIATE")
        rows = self.conn.execute(NARROW_CLAIM if self.narrow else CLAIM, (moment,)).fetchall()
        if rows:
            self._write(rows, moment)
        self.conn.execute("COMMIT")
        return len(rows)

    def _write(self, rows: Sequence[Any], moment: str) -> None:
        instants = [datetime.fromisoformat(row[5]) for row in rows]
        keys = [order_key(at, PRIORITY).isoformat(" ", "microseconds") for at in instants]
        self.conn.executemany(self.insert_sql, zip(*_run_columns(rows, moment, keys), strict=True))
        following = [(at + HOUR).isoformat(" ", "microseconds") for at in instants]
        moved = [
            (then, row[6] + 1, "active", None, None, row[5], row[0], row[5])
            for row, then in zip(rows, following, strict=True)
        ]
        self.conn.executemany(self.update_sql, moved)

    async def close(self) -> None:
        self.conn.close()

    def statements(self) -> Sequence[str]:
        return ["BEGIN IMMEDIATE", NARROW_CLAIM if self.narrow else CLAIM, self.insert_sql, self.update_sql, "COMMIT"]


class SqliteNarrow(SqliteRaw):
    """The same with four columns."""

    narrow = True
    insert_sql = "INSERT INTO narrow_runs (schedule_id, scheduled_for) VALUES (?, ?)"
    update_sql = "UPDATE narrow_schedules SET next_at = ? WHERE id = ?"

    def _write(self, rows: Sequence[Any], moment: str) -> None:
        self.conn.executemany(self.insert_sql, rows)
        following = [(datetime.fromisoformat(at) + HOUR).isoformat(" ", "microseconds") for _, at in rows]
        self.conn.executemany(self.update_sql, [(then, row[0]) for then, row in zip(following, rows, strict=True)])


class MariaRaw:
    """asyncmy: many rows in one VALUES, and JSON_TABLE for the cursors."""

    narrow = False
    insert_sql = f"INSERT INTO runs ({_COLUMNS}) VALUES "
    marks = "(" + ", ".join(["%s"] * 18) + ")"
    update_sql = (
        "UPDATE schedules s JOIN JSON_TABLE(%s, '$[*]' COLUMNS (id VARCHAR(40) CHARACTER SET utf8mb4 PATH '$[0]',"
        " was DATETIME(6) PATH '$[1]', n DATETIME(6) PATH '$[2]', f INT PATH '$[3]')) d"
        " ON s.id = d.id COLLATE utf8mb4_bin AND s.next_at = d.was"
        " SET s.next_at = d.n, s.fired = d.f, s.status = 'active', s.gap_first = NULL, s.gap_reason = NULL,"
        " s.last_run_at = d.was"
    )

    async def open(self, url: str) -> None:
        import asyncmy

        made = make_url(url)
        self.conn = await asyncmy.connect(
            host=made.host or "127.0.0.1",
            port=made.port or 3306,
            user=made.username,
            password=made.password or "",
            db=made.database,
            unix_socket=made.query.get("unix_socket"),
        )
        async with self.conn.cursor() as cursor:
            await cursor.execute("SET SESSION time_zone='+00:00'")
            await cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")

    async def fire(self, now: datetime) -> int:
        moment = moment_out("mysql", now)
        async with self.conn.cursor() as cursor:
            claim = (NARROW_CLAIM if self.narrow else CLAIM).replace("?", "%s") + " FOR UPDATE SKIP LOCKED"
            await cursor.execute(claim, (moment,))
            rows = await cursor.fetchall()
            if rows:
                await self._write(cursor, rows, moment)
        await self.conn.commit()
        return len(rows)

    async def _write(self, cursor: Any, rows: Sequence[Any], moment: datetime) -> None:
        keys = [order_key(row[5], PRIORITY) for row in rows]
        values = zip(*_run_columns(rows, moment, keys), strict=True)
        await cursor.execute(self.insert_sql + ", ".join([self.marks] * len(rows)), [x for row in values for x in row])
        moved = [(row[0], row[5], row[5] + HOUR, row[6] + 1) for row in rows]
        await cursor.execute(self.update_sql, (orjson.dumps(moved).decode(),))

    async def close(self) -> None:
        await self.conn.ensure_closed()

    def statements(self) -> Sequence[str]:
        claim = (NARROW_CLAIM if self.narrow else CLAIM) + " FOR UPDATE SKIP LOCKED"
        return [claim, f"{self.insert_sql}{self.marks}, ...", self.update_sql, "COMMIT"]


class MariaNarrow(MariaRaw):
    """The same with four columns."""

    narrow = True
    insert_sql = "INSERT INTO narrow_runs (schedule_id, scheduled_for) VALUES "
    marks = "(%s, %s)"
    update_sql = (
        "UPDATE narrow_schedules s JOIN JSON_TABLE(%s, '$[*]' COLUMNS (id BIGINT PATH '$[0]',"
        " n DATETIME(6) PATH '$[1]')) d ON s.id = d.id SET s.next_at = d.n"
    )

    async def _write(self, cursor: Any, rows: Sequence[Any], moment: datetime) -> None:
        await cursor.execute(self.insert_sql + ", ".join([self.marks] * len(rows)), [x for row in rows for x in row])
        await cursor.execute(self.update_sql, (orjson.dumps([(row[0], row[1] + HOUR) for row in rows]).decode(),))


RAW: dict[str, type[RawLoop]] = {"postgresql": PostgresRaw, "sqlite": SqliteRaw, "mysql": MariaRaw}
NARROW: dict[str, type[RawLoop]] = {"postgresql": PostgresNarrow, "sqlite": SqliteNarrow, "mysql": MariaNarrow}


def _dsn(url: str) -> str:
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
