"""Migrations and tables say the same, and the hot questions find their indexes."""

from __future__ import annotations

import asyncio
import logging
import re
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, event, inspect, text
from sqlalchemy.ext.asyncio import create_async_engine

import foliot
from foliot.db import migrate as migrations
from foliot.db.database import Database
from foliot.db.metadata import metadata
from foliot.db.migrate import NEWEST, current, migrate
from foliot.engine.model.views import PageRequest
from foliot.engine.sql import quarter_counts
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.due_schedules import SqlFiring
from foliot.engine.sql.parked import SqlParked
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.filters.model import FilterQuery
from foliot.features.filters.sql.lists import SqlSearch
from foliot.features.insights.model.history import HistoryWindow
from foliot.features.insights.sql.history import SqlHistory
from foliot.testing import open_store
from tests.givens import HOUR, NOON, TENANT, ask, claim, keep, request, schedule, tick

VERSIONS = Path(migrations.__file__).parent / "migrations" / "versions"


def test_the_newest_revision_is_the_newest_file() -> None:
    newest = max(path.name for path in VERSIONS.glob("[0-9]*.py"))

    assert newest.startswith(f"{NEWEST}_")


def test_revisions_form_one_chain() -> None:
    files = sorted(VERSIONS.glob("[0-9]*.py"))
    found = [re.search(r"^revision = \"(\w+)\"", path.read_text(), re.MULTILINE) for path in files]
    downs = [re.search(r"^down_revision = (.+)$", path.read_text(), re.MULTILINE) for path in files]
    names = [one.group(1) for one in found if one]

    assert names == [path.name[:4] for path in files]
    assert [one.group(1) for one in downs if one] == ["None", *(f'"{name}"' for name in names[:-1])]


async def test_a_migrated_database_has_exactly_the_tables_of_the_code(bare_database_url: str) -> None:
    await migrate(bare_database_url)
    for module in walk_packages(foliot.__path__, "foliot."):
        if module.name.endswith("tables"):
            import_module(module.name)

    def differences(conn: Connection) -> list[Any]:
        # Only PostgreSQL gives defaults back as they were written.
        exact = conn.dialect.name == "postgresql"
        context = MigrationContext.configure(conn, opts={"compare_type": True, "compare_server_default": exact})
        return list(compare_metadata(context, metadata))

    engine = create_async_engine(bare_database_url)
    async with engine.connect() as conn:
        found = await conn.run_sync(differences)
        views = await conn.run_sync(lambda sync: inspect(sync).get_view_names())
    await engine.dispose()

    assert found == []
    assert {
        "foliot_schedules",
        "foliot_runs",
        "foliot_attempts",
        "foliot_ledger",
        "foliot_spans",
        "foliot_audit",
    } <= set(views)


async def test_down_to_nothing_and_up_again(bare_database_url: str) -> None:
    assert await current(bare_database_url) is None
    assert await migrate(bare_database_url) == (None, NEWEST)

    def down(conn: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(VERSIONS.parent))
        config.attributes["connection"] = conn
        command.downgrade(config, "base")

    engine = create_async_engine(bare_database_url)
    async with engine.connect() as conn:
        await conn.run_sync(down)
        await conn.commit()
        assert await conn.run_sync(lambda sync: inspect(sync).get_table_names()) == ["alembic_version"]
    await engine.dispose()

    assert await migrate(bare_database_url) == (None, NEWEST)
    assert await migrate(bare_database_url) == (NEWEST, NEWEST)
    assert await current(bare_database_url) == NEWEST


async def test_several_processes_may_migrate_at_once(bare_database_url: str) -> None:
    if bare_database_url.startswith("sqlite"):
        pytest.skip("only one process runs on a SQLite file")

    befores = await asyncio.gather(*(migrate(bare_database_url) for _ in range(3)))

    assert sorted(str(before) for before, _ in befores) == sorted(["None", NEWEST, NEWEST])


async def test_the_views_for_people_can_be_read(bare_database_url: str) -> None:
    async with open_store(bare_database_url) as store:
        await keep(store, schedule())
        await tick(store, NOON)
        async with store.read() as tx:
            for view, rows in {"schedules": 1, "runs": 1, "spans": 1, "ledger": 0, "attempts": 0, "audit": 0}.items():
                found = await tx.conn.execute(text(f"SELECT * FROM foliot_{view}"))
                assert len(found.all()) == rows


# --- indexes ----------------------------------------------------------------------------------------------------------

QUESTIONS: dict[str, tuple[str, Any]] = {
    "what is due": ("ix_schedules_next_at", lambda tx: SqlFiring(tx).lock_due(NOON, 100)),
    "the next instant": ("ix_schedules_next_at", lambda tx: SqlFiring(tx).next_due()),
    "who is open": ("ix_runs_open", lambda tx: SqlFiring(tx).open_runs(["sch_1"])),
    "what is ready": ("ix_runs_ready", lambda tx: SqlClaims(tx).ready(NOON, None, 10)),
    "whose lease ran out": ("ix_runs_lease", lambda tx: SqlClaims(tx).lock_expired(NOON, 10)),
    "whom to look at": ("ix_runs_poll", lambda tx: SqlParked(tx).coming("probe", None, NOON, 10)),
    "who waits": ("ix_runs_buffered", lambda tx: SqlClaims(tx).release(NOON)),
    "the runs of a tenant": (
        "ix_runs_tenant_id_id|runs_pkey|pk_runs",
        lambda tx: SqlRuns(tx).find(TENANT, PageRequest(10)),
    ),
    "the runs in a state": (
        "ix_runs_tenant_id_state_id",
        lambda tx: SqlRuns(tx).find(TENANT, PageRequest(10), state="dead_letter"),
    ),
    "the runs of a schedule": (
        "ix_runs_schedule_id_id|uq_runs_schedule_id_scheduled_for|sqlite_autoindex",
        lambda tx: SqlRuns(tx).find(TENANT, PageRequest(10), schedule_id="sch_1"),
    ),
    "the runs beside one": (
        "ix_runs_schedule_id_id|uq_runs_schedule_id_scheduled_for|sqlite_autoindex",
        lambda tx: SqlRuns(tx).neighbours(TENANT, "sch_1", "run_1"),
    ),
    "the ended runs of a queue": ("ix_runs_queue", lambda tx: SqlRuns(tx).find(TENANT, PageRequest(10), queue="q1")),
    "the ended runs of a kind": ("ix_runs_kind", lambda tx: SqlRuns(tx).find(TENANT, PageRequest(10), kind="rare")),
    "when runs were made": (
        "ix_runs_made|pk_quarter_counts|autoindex_quarter_counts|PRIMARY",
        lambda tx: SqlHistory(tx).counts(TENANT, HistoryWindow(NOON, NOON + 9 * HOUR, 3600)),
    ),
    "how many there are": (
        "ix_runs_made|pk_quarter_counts|autoindex_quarter_counts|PRIMARY",
        lambda tx: SqlSearch(tx).count(TENANT, FilterQuery(), NOON),
    ),
    "the open runs by state": ("ix_runs_lease", lambda tx: SqlRetention(tx)._open([])),
    "damaged schedules": ("ix_schedules_fault", lambda tx: SqlSchedules(tx).faults(10)),
    "the schedules of a tenant": (
        "ix_schedules_tenant_id_id|pk_schedules",
        lambda tx: SqlSchedules(tx).find(TENANT, PageRequest(10)),
    ),
}


async def crowd(store: Database) -> None:
    """Enough rows of many kinds that reading all of a table is never the cheaper way; most are of one tenant."""
    made = [schedule(next_at=NOON + HOUR, tenant_id=TENANT if at % 2 else f"t{at % 40}") for at in range(600)]
    await keep(store, *made)
    await ask(
        store,
        NOON,
        *(
            request(tenant_id=one.tenant_id, queue=f"q{at % 3}", schedule_id=one.id, version=1)
            for at in range(5)
            for one in made
        ),
    )
    async with store.read() as tx:
        some = await SqlClaims(tx).ready(NOON, None, 50)
    await claim(store, NOON, *some)
    async with store.begin() as tx:
        await tx.conn.execute(
            text(
                "UPDATE runs SET state = 'success', lane = NULL, open_of = NULL, finished_at = created_at"
                " WHERE state = 'queued' AND queue <> 'q0'"
            )
        )
        past = {(TENANT, name, NOON - at * HOUR): 1 for name in ("success", "failed", "late") for at in range(1000)}
        await quarter_counts.add(tx.conn, tx.dialect, past)


async def test_the_hot_questions_find_their_indexes(bare_database_url: str) -> None:
    if bare_database_url.startswith("mysql"):
        pytest.skip("its plans depend on statistics that come and go")
    async with open_store(bare_database_url) as store:
        await crowd(store)
        plans = {name: await plan(store, question) for name, (_, question) in QUESTIONS.items()}

    whole = re.compile(r"Seq Scan on (runs|schedules)|SCAN (runs|schedules|r)(?! USING)")
    wrong = {
        name: plans[name]
        for name, (index, _) in QUESTIONS.items()
        if not any(re.search(index, one) for one in plans[name]) or any(map(whole.search, plans[name]))
    }
    assert wrong == {}


async def plan(store: Database, question: Any) -> list[str]:
    """How the database answers each statement of a question."""
    explain = "EXPLAIN " if store.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN "
    sent: list[tuple[str, Any]] = []

    def note(_conn: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        if statement.lstrip().upper().startswith(("SELECT", "WITH")):
            sent.append((statement, parameters))

    engine = store.engines.write.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        async with store.begin() as tx:
            await question(tx)
    finally:
        event.remove(engine, "before_cursor_execute", note)
    plans = []
    async with store.begin() as tx:
        if store.dialect.name == "postgresql":
            # In this transaction: its lock keeps autovacuum from writing other statistics before the plans are made.
            # SQLite has to do without statistics, as it does in production.
            await tx.conn.execute(text("ANALYZE runs, schedules, quarter_counts"))
        for statement, parameters in sent:
            rows = await tx.conn.exec_driver_sql(explain + statement, parameters)
            plans.append("\n".join(str(row[-1] if "QUERY" in explain else row[0]) for row in rows))
    return plans


async def test_a_migration_says_nothing_that_nobody_can_act_on(
    bare_database_url: str, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    await migrate(bare_database_url)

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert [str(one.message) for one in recwarn] == []
