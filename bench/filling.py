"""Fills a database with very many schedules and runs, set-based: copies of one schedule and one run that were real.

A run each 0.6 s, so that a million of them are a week; one in a hundred failed, one in two hundred is a dead letter.
Their ids tell when they were made and end in digits without an order, as real ones do. Every schedule is active and due
hourly, from two hours on.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import import_module
from math import ceil

import orjson
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, make_url
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from foliot.core.failure_fingerprint import fingerprint
from foliot.core.time.trigger import Cron, Trigger
from foliot.db.metadata import moment_out
from foliot.engine.model.schedule import ScheduleSpec

STEP_MS = 600
QUIET = timedelta(hours=2)
"""So long nothing fires, and what is measured is measured alone."""
KINDS = ("webhook", "webhook", "webhook", "webhook", "crawl", "task", "pipeline", "articles")
QUEUES = ("default", "default", "default", "scraping", "webhook", "slow")
ERRORS = tuple(
    {"code": code, "message": message, "host": f"api{number}.example.com"}
    for number in range(10)
    for code, message in (("http_503", "HTTP 503 Service Unavailable"), ("timeout", "no answer within 30 s"))
)
MISSED = 20
"""Entries of the ledger for each schedule, an hour apart."""
_INDEXES = (
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()"
    " AND tablename IN ('schedules', 'versions', 'runs', 'attempts', 'ledger')"
    " AND indexname NOT IN (SELECT conname FROM pg_constraint)"
)

_NUMBERS = {
    "postgresql": "generate_series(0::bigint, {last}::bigint) AS numbers(n)",
    "sqlite": "(WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < {last})"
    " SELECT n FROM s) AS numbers",
}
_MOMENT = {
    "postgresql": "to_timestamp(({ms}) / 1000.0)",
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f', ({ms}) / 1000.0, 'unixepoch') || '000'",
}
_ID = {
    "postgresql": "'{prefix}_' || lpad(to_hex(({ms})::bigint), 12, '0') || lpad(to_hex(({n})::bigint), 20, '0')",
    "sqlite": "printf('{prefix}_%012x%020x', {ms}, {n})",
}
_COLUMNS = {
    "postgresql": "SELECT column_name FROM information_schema.columns"
    " WHERE table_schema = current_schema() AND table_name = '{table}'",
    "sqlite": "SELECT name FROM pragma_table_info('{table}')",
}


class Filler:
    """Writes with one connection."""

    def __init__(self, conn: AsyncConnection, dialect: str, now: datetime) -> None:
        self.conn, self.dialect, self.now = conn, dialect, now

    async def fill(self, schedules: int, runs: int, missed: int = MISSED) -> None:
        """The one schedule and the one run that are there become so many. PostgreSQL builds its indexes afterwards,
        which takes a fraction of the time.
        """
        indexes = []
        if self.dialect == "postgresql":
            await self.conn.exec_driver_sql("SET LOCAL maintenance_work_mem = '512MB'")
            indexes = [(name, made) for name, made in await self.conn.exec_driver_sql(_INDEXES)]
        for name, _ in indexes:
            await self.conn.exec_driver_sql(f"DROP INDEX {name}")
        await self._fill(schedules, runs, missed)
        for _, made in indexes:
            await self.conn.exec_driver_sql(made)
        await self.conn.run_sync(_count)

    async def _fill(self, schedules: int, runs: int, missed: int) -> None:
        first = int(self.now.timestamp() * 1000) - runs * STEP_MS
        born = first - 86_400_000
        others = schedules - 1
        # All of the same age: newest first is by number.
        schedule = self._id("sch", str(born), "{n}")
        await self._copies("versions", others, {"schedule_id": schedule.format(n="n")})
        await self._schedules(others, schedule)
        began, took = f"{first} + n * {STEP_MS}", "100 + n * 7919 % 4000"
        state = (
            "CASE WHEN n % 100 = 0 THEN 'failed' WHEN n % 200 = 1 THEN 'dead_letter' WHEN n % 300 = 2 THEN 'cancelled'"
            " WHEN n % 500 = 3 THEN 'partial' ELSE 'success' END"
        )
        failed = "(n % 100 = 0 OR n % 200 = 1)"
        errors = [_json(error) for error in ERRORS]
        alike = [fingerprint("webhook", error, str(error["host"])) or "" for error in ERRORS]
        # A sample is taken by the last four digits: these spread evenly, and not by what `n` decides.
        run, created = self._id("run", began, "n * 65536 + n * 40503 % 65536"), self._moment(began)
        changes = {
            "id": run,
            "schedule_id": schedule.format(n=f"n % {others}"),
            "scheduled_for": self._moment(f"{began} - 40"),
            "kind": _pick(f"n % {others}", KINDS),
            "queue": _pick(f"n % {others}", QUEUES),
            "state": state,
            "token": "NULL",
            "finished_at": self._moment(f"{began} + {took}"),
            "error": f"CASE WHEN {failed} THEN {_pick('n / 100', errors)} END",
            "took_us": f"({took}) * 1000",
            "fingerprint": f"CASE WHEN {failed} THEN {_pick('n / 100', alike)} END",
            **dict.fromkeys(("created_at", "started_at", "ready_at", "due_at", "attempt_at", "order_key"), created),
        }
        await self._copies("runs", runs - 1, changes)
        times = {"started_at": created, "ended_at": changes["finished_at"]}
        await self._copies("attempts", runs - 1, {"run_id": run, "state": state, "error": changes["error"], **times})
        await self._missed(others, schedule, missed)

    async def _schedules(self, count: int, schedule: str) -> None:
        specs, following = [], []
        for minute in range(60):
            trigger = Trigger(Cron(f"{minute} * * * *", "UTC"))
            specs.append(ScheduleSpec(trigger=trigger, kind="webhook").dump())
            due = trigger.next_after(self.now + QUIET)
            assert due is not None
            following.append(self._written(due))
        tags = ["\nshop\n", "\nnews\nnightly\n", "", "\nprices\n"]
        changes = {
            "id": schedule.format(n="n"),
            "name": "'Nightly orders ' || n",
            "tags": _pick("n", tags),
            "type": "'cron'",
            "kind": _pick("n", KINDS),
            "status": "'active'",
            "spec": _pick("n", specs),
            "next_at": self._read(_pick("n", following)),
            "last_run_at": self._read(f"'{self._written(self.now)}'"),
            "gap_first": "NULL",
        }
        await self._copies("schedules", count, changes)

    async def _missed(self, schedules: int, schedule: str, each: int) -> None:
        at = self._moment(f"{int(self.now.timestamp() * 1000)} - (1 + n / {schedules}) * 3600000 - n % {schedules}")
        names = "schedule_id, first_at, fate, tenant_id, last_at, count, version, reason"
        await self.conn.exec_driver_sql(
            f"INSERT INTO ledger ({names}) SELECT {schedule.format(n=f'n % {schedules}')}, {at},"
            f" CASE WHEN n % 3 = 0 THEN 'missed' ELSE 'skipped' END, one.tenant_id, {at}, 1, 1, 'overlap'"
            f" FROM {_NUMBERS[self.dialect].format(last=schedules * each - 1)}"
            " CROSS JOIN (SELECT tenant_id FROM runs LIMIT 1) AS one"
        )

    async def _copies(self, table: str, count: int, changes: dict[str, str]) -> None:
        """Copies of the one row that is there, each with what makes it itself."""
        found = await self.conn.exec_driver_sql(_COLUMNS[self.dialect].format(table=table))
        names = [name for (name,) in found]
        values = ", ".join(changes.get(name, f"one.{name}") for name in names)
        await self.conn.exec_driver_sql(
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {values}"
            f" FROM {_NUMBERS[self.dialect].format(last=count - 1)}"
            f" CROSS JOIN (SELECT * FROM {table} LIMIT 1) AS one"
        )

    def _id(self, prefix: str, ms: str, n: str) -> str:
        return _ID[self.dialect].format(prefix=prefix, ms=ms, n=n)

    def _moment(self, ms: str) -> str:
        return _MOMENT[self.dialect].format(ms=ms)

    def _written(self, moment: datetime) -> str:
        return str(moment_out(self.dialect, moment))

    def _read(self, text: str) -> str:
        return f"CAST({text} AS timestamptz)" if self.dialect == "postgresql" else text


def _count(conn: Connection) -> None:
    """Counts per quarter of an hour and statistics of schedules, as the migration that began them filled them."""
    counts = import_module("foliot.db.migrations.versions.0023_counts")
    with Operations.context(MigrationContext.configure(conn)):
        for table in ("quarter_counts", "schedule_stats"):
            conn.exec_driver_sql(f"DELETE FROM {table}")
        counts.count_runs()
        counts.count_ledger()
        counts.fill_stats()


def _pick(number: str, values: object) -> str:
    """One of these by a number, in turn."""
    found = list(values)  # type: ignore[call-overload]
    cases = " ".join(f"WHEN {place} THEN {_quoted(value)}" for place, value in enumerate(found[1:], 1))
    return f"CASE ({number}) % {len(found)} {cases} ELSE {_quoted(found[0])} END"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


async def fill(url: str, schedules: int, runs: int, missed: int = MISSED) -> None:
    """Fill the database, and let PostgreSQL know its statistics, as it would by itself in a minute."""
    engine = create_async_engine(url)
    dialect = make_url(url).get_backend_name()
    async with engine.begin() as conn:
        await Filler(conn, dialect, datetime.now(UTC)).fill(schedules, runs, missed)
    if dialect == "postgresql":
        async with engine.connect() as conn:
            await conn.execution_options(isolation_level="AUTOCOMMIT")
            await conn.exec_driver_sql("VACUUM ANALYZE")
    await engine.dispose()


async def stay_quiet(url: str) -> None:
    """Move what is due within an hour by whole hours: a database that was kept would fire all of it at once."""
    engine = create_async_engine(url)
    dialect, now = make_url(url).get_backend_name(), datetime.now(UTC)
    async with engine.begin() as conn:
        found = await conn.exec_driver_sql("SELECT min(next_at) FROM schedules")
        least = found.scalar()
        first = datetime.fromisoformat(least).replace(tzinfo=UTC) if isinstance(least, str) else least
        if first is not None and first < now + QUIET / 2:
            hours = ceil((now + QUIET - first) / timedelta(hours=1))
            later = {
                "postgresql": f"next_at + interval '{hours} hours'",
                "sqlite": f"strftime('%Y-%m-%d %H:%M:%f', next_at, '+{hours} hours') || '000'",
            }[dialect]
            await conn.exec_driver_sql(f"UPDATE schedules SET next_at = {later} WHERE next_at IS NOT NULL")
    await engine.dispose()
