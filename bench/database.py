"""The databases that the benchmarks make, fill, set back between samples, and drop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from measuring import cpu_seconds
from sqlalchemy import URL, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from foliot.core.time.trigger import Cron, Trigger
from foliot.db.metadata import moment_out
from foliot.db.migrate import migrate
from foliot.engine.model.schedule import Catchup, Overlap, ScheduleSpec

POSTGRESQL = "postgresql+asyncpg://postgres@127.0.0.1:5432/foliot_bench"
HOUR = timedelta(hours=1)
TENANTS = 20
ACTION = {
    "url": "https://hooks.example.com/services/orders/nightly",
    "method": "POST",
    "headers": {"Content-Type": "application/json", "X-Source": "foliot"},
    "body": {"job": "orders", "full": False},
}

_SERVED = {"postgresql": "postgres", "mysql": "mysql"}

_NUMBERS = {
    "postgresql": "generate_series(1, {n}) AS numbers(n)",
    "mysql": "(SELECT seq AS n FROM seq_1_to_{n}) AS numbers",
    "sqlite": "(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {n}) SELECT n FROM s)",
}
_ID = {
    "postgresql": "'sch_' || lpad(to_hex(n), 32, '0')",
    "mysql": "concat('sch_', lpad(lower(hex(n)), 32, '0'))",
    "sqlite": "printf('sch_%032x', n)",
}
_TENANT = {
    "postgresql": f"'tenant-' || n % {TENANTS}",
    "mysql": f"concat('tenant-', n % {TENANTS})",
    "sqlite": f"'tenant-' || n % {TENANTS}",
}
_NAME = {
    "postgresql": "'Nightly orders ' || n",
    "mysql": "concat('Nightly orders ', n)",
    "sqlite": "'Nightly orders ' || n",
}
_MOMENT = {"postgresql": "timestamptz", "mysql": "DATETIME(6)", "sqlite": "TEXT"}
_KEY = {
    "postgresql": 'varchar(40) COLLATE "C"',
    "mysql": "varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "sqlite": "TEXT",
}
_TEXT = {"postgresql": "text", "mysql": "MEDIUMTEXT", "sqlite": "TEXT"}
_SET_BACK = {
    "postgresql": "UPDATE {t} t SET next_at = d.due{more} FROM bench_due d WHERE t.id = d.{key}",
    "mysql": "UPDATE {t} t JOIN bench_due d ON t.id = d.{key} SET t.next_at = d.due{more}",
    "sqlite": "UPDATE {t} SET next_at = d.due{more} FROM bench_due d WHERE {t}.id = d.{key}",
}
_NARROW_SCHEDULES = "CREATE TABLE narrow_schedules (id bigint PRIMARY KEY, next_at {moment} NOT NULL)"
_NARROW_RUNS = (
    "CREATE TABLE narrow_runs (id {id} PRIMARY KEY, schedule_id bigint NOT NULL, scheduled_for {moment} NOT NULL,"
    " UNIQUE (schedule_id, scheduled_for))"
)
_COUNTED = {"postgresql": "bigint GENERATED ALWAYS AS IDENTITY", "mysql": "bigint AUTO_INCREMENT", "sqlite": "INTEGER"}
NARROW = {
    name: (_NARROW_SCHEDULES.format(moment=moment), _NARROW_RUNS.format(id=_COUNTED[name], moment=moment))
    for name, moment in _MOMENT.items()
}
NARROW_INDEX = "CREATE INDEX narrow_due ON narrow_schedules (next_at)"


@dataclass(slots=True)
class BenchDatabase:
    """One database of the benchmark's own, and a connection beside those that are measured."""

    url: str
    dialect: str
    admin: AsyncEngine
    due: int = 0
    stored: int = 0

    async def run(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        async with self.admin.connect() as conn:
            await conn.exec_driver_sql(self._marks(sql), tuple(parameters))

    async def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        async with self.admin.connect() as conn:
            return list((await conn.exec_driver_sql(self._marks(sql), tuple(parameters))).all())

    def _marks(self, sql: str) -> str:
        """Every statement here marks its parameters with `?`."""
        if self.dialect == "mysql":
            return sql.replace("%", "%%").replace("?", "%s")
        if self.dialect == "sqlite":
            return sql
        parts = sql.split("?")
        return "".join(f"{part}${at}" for at, part in enumerate(parts[:-1], 1)) + parts[-1]

    async def server_cpu(self) -> float | None:
        """Processor time of the sessions that are measured, while they last."""
        if self.dialect != "postgresql":
            return None
        found = await self.rows("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        mine = (await self.rows("SELECT pg_backend_pid()"))[0][0]
        return cpu_seconds(pid for (pid,) in found if pid != mine)

    async def settle(self, *tables: str) -> None:
        """Leave no dead rows and no dirty pages of one sample to the next one."""
        if self.dialect == "postgresql":
            for table in tables:
                await self.run(f"VACUUM ANALYZE {table}")
            await self.run("CHECKPOINT")
        elif self.dialect == "sqlite":
            await self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    async def empty(self, *tables: str) -> None:
        for table in tables:
            await self.run(f"DELETE FROM {table}" if self.dialect == "sqlite" else f"TRUNCATE TABLE {table}")

    async def fill(self, stored: int, due: int, now: datetime, *, overlap: Overlap = Overlap.SKIP) -> None:
        """`stored` hourly schedules, `due` of them with an instant that has come; made on the server."""
        d = self.dialect
        self.stored, step = stored, max(1, stored // due)
        await self._specs(now, overlap)
        await self.empty("runs", "schedules")
        self.due = stored // step
        await self.run(
            "INSERT INTO schedules (id, tenant_id, user_id, name, description, tags, type, kind, status, version, spec,"
            " action, anchor, next_at, created_at, updated_at)"
            f" SELECT {_ID[d]}, {_TENANT[d]}, 'someone@example.com', {_NAME[d]}, 'Sends the orders of the last hour.',"
            " '', 'cron', 'webhook', 'active', 1, s.spec, s.action, s.born, s.following, s.born, s.born"
            f" FROM {_NUMBERS[d].format(n=stored)} JOIN bench_specs s ON s.k = n % 60"
        )
        await self.run("DROP TABLE IF EXISTS bench_due")
        await self.run(
            f"CREATE TABLE bench_due (id {_KEY[d]} PRIMARY KEY, n bigint, due {_MOMENT[d]}, following {_MOMENT[d]})"
        )
        await self.run(
            f"INSERT INTO bench_due SELECT {_ID[d]}, n, s.due, s.following"
            f" FROM {_NUMBERS[d].format(n=stored)} JOIN bench_specs s ON s.k = n % 60 WHERE n % {step} = 0"
        )

    async def fill_narrow(self) -> None:
        d = self.dialect
        for table in ("narrow_runs", "narrow_schedules"):
            await self.run(f"DROP TABLE IF EXISTS {table}")
        for sql in NARROW[d]:
            await self.run(sql)
        await self.run(
            f"INSERT INTO narrow_schedules SELECT n, s.following FROM {_NUMBERS[d].format(n=self.stored)}"
            " JOIN bench_specs s ON s.k = n % 60"
        )
        await self.run(NARROW_INDEX)

    async def _specs(self, now: datetime, overlap: Overlap) -> None:
        d = self.dialect
        await self.run("DROP TABLE IF EXISTS bench_specs")
        await self.run(
            f"CREATE TABLE bench_specs (k int PRIMARY KEY, spec {_TEXT[d]}, action {_TEXT[d]}, born {_MOMENT[d]},"
            f" due {_MOMENT[d]}, following {_MOMENT[d]})"
        )
        action, born = orjson.dumps(ACTION).decode(), now - timedelta(days=30)
        for minute in range(60):
            trigger = Trigger(Cron(f"{minute} * * * *", "UTC"))
            spec = ScheduleSpec(
                trigger=trigger,
                kind="webhook",
                overlap=overlap,
                catchup=Catchup(window_seconds=3600, grace_seconds=3600),
            )
            due = now.replace(minute=minute, second=0, microsecond=0)
            due = due if due < now else due - HOUR
            moments = [moment_out(d, moment) for moment in (born, due, due + HOUR)]
            await self.run("INSERT INTO bench_specs VALUES (?, ?, ?, ?, ?, ?)", (minute, spec.dump(), action, *moments))

    async def set_back(self) -> None:
        """The same instants are due again, and nothing has been made of them."""
        await self.empty("runs")
        await self._due_again("schedules", "id", ", fired = 0, last_run_at = NULL")

    async def set_back_narrow(self) -> None:
        await self.empty("narrow_runs")
        await self._due_again("narrow_schedules", "n")

    async def _due_again(self, table: str, key: str, more: str = "") -> None:
        await self.run(_SET_BACK[self.dialect].format(t=table, key=key, more=more))

    async def verify(self, *, narrow: bool = False) -> None:
        """Every due schedule has exactly one run, for its own instant, and its cursor stands at the next."""
        prefix, join = ("narrow_", "n") if narrow else ("", "id")
        checks = {
            "runs": f"SELECT count(*) FROM {prefix}runs",
            "runs of due instants": f"SELECT count(*) FROM {prefix}runs r JOIN bench_due d"
            f" ON r.schedule_id = d.{join} AND r.scheduled_for = d.due",
            "cursors that moved": f"SELECT count(*) FROM {prefix}schedules s JOIN bench_due d"
            f" ON s.id = d.{join} AND s.next_at = d.following",
        }
        for what, sql in checks.items():
            found = (await self.rows(sql))[0][0]
            if found != self.due:
                raise AssertionError(f"{what}: {found}, and {self.due} schedules were due")


@asynccontextmanager
async def bench_database(url: str, *, keep: bool = False) -> AsyncIterator[BenchDatabase]:
    """A fresh database with Foliot's tables; dropped afterwards. `keep`: as it was left, and left again."""
    made = make_url(url)
    name = made.get_backend_name()
    if "bench" not in (made.database or ""):
        raise SystemExit(f"{made.database!r}: a benchmark drops its database, so that its name must contain 'bench'")
    if not (keep and await _is_there(made)):
        await _recreate(made)
    await migrate(url)
    admin = create_async_engine(made, isolation_level="AUTOCOMMIT", pool_size=1, max_overflow=0)
    try:
        yield BenchDatabase(url, name, admin)
    finally:
        await admin.dispose()
        if not keep:
            await _drop(made)


async def _is_there(url: URL) -> bool:
    if url.get_backend_name() == "sqlite":
        return _has_file(url)
    server = create_async_engine(url)
    try:
        async with server.connect():
            return True
    except DBAPIError:
        return False
    finally:
        await server.dispose()


async def _recreate(url: URL) -> None:
    await _drop(url)
    await _serve(url, f"CREATE DATABASE {url.database}")


def _has_file(url: URL) -> bool:
    return Path(url.database or "").exists()


def _remove(path: str) -> None:
    for tail in ("", "-wal", "-shm"):
        Path(path + tail).unlink(missing_ok=True)


async def _drop(url: URL) -> None:
    if url.get_backend_name() == "sqlite":
        _remove(url.database or "")
        return
    force = " WITH (FORCE)" if url.get_backend_name() == "postgresql" else ""
    await _serve(url, f"DROP DATABASE IF EXISTS {url.database}{force}")


async def _serve(url: URL, sql: str) -> None:
    name = url.get_backend_name()
    if name == "sqlite":
        return
    server = create_async_engine(url.set(database=_SERVED[name]), isolation_level="AUTOCOMMIT")
    async with server.connect() as conn:
        await conn.exec_driver_sql(sql)
    await server.dispose()
