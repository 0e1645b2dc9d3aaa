"""Letters from before fingerprints knew hosts stand with those that failed alike since, on every database."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine

from foliot.core.failure_fingerprint import fingerprint
from foliot.db import migrate as migrations
from foliot.db.database import Database
from foliot.engine.model.run import RunState
from tests.world import EVERY_MINUTE, World

ERROR = {"code": "http_503", "message": "The target answered 503 Service Unavailable."}
HOSTLESS, HOSTED = fingerprint("webhook", ERROR), fingerprint("webhook", ERROR, "example.com")


async def test_old_letters_get_the_host_that_they_were_going_to(bare_database_url: str) -> None:
    await migrations.migrate(bare_database_url)
    store = Database(bare_database_url, bind_clock=True)
    world = World.on(store)
    await world.schedule(EVERY_MINUTE)
    await world.pass_time(2)
    async with store.read() as tx:
        old, answered = (await tx.conn.execute(text("SELECT id FROM runs ORDER BY id"))).scalars()
    for run in (old, answered):
        await world.end(run, RunState.DEAD_LETTER, ERROR)
    await world.sql("UPDATE runs SET resolved_by = 'discarded' WHERE id = :id", id=answered)
    await world.sql("UPDATE runs SET fingerprint = :alike", alike=HOSTLESS)
    await store.close()

    await _downgrade(bare_database_url, "0012")
    await migrations.migrate(bare_database_url)

    engine = create_async_engine(bare_database_url)
    async with engine.connect() as conn:
        found = {row.id: row.fingerprint for row in await conn.execute(text("SELECT id, fingerprint FROM runs"))}
    await engine.dispose()
    assert found == {old: HOSTED, answered: HOSTLESS}


async def _downgrade(url: str, revision: str) -> None:
    def down(conn: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(Path(migrations.__file__).parent / "migrations"))
        config.attributes["connection"] = conn
        command.downgrade(config, revision)

    engine = create_async_engine(url)
    async with engine.connect() as conn:
        await conn.run_sync(down)
        await conn.commit()
    await engine.dispose()
