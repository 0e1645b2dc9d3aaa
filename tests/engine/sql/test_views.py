"""The page for people who query the store is true: its columns are the views', and its SQL runs as printed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from foliot.app.use_cases import use_cases
from foliot.core.access import LOCAL
from foliot.db.database import Database
from foliot.engine.model.run import RunState
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.testing import StoppedClock, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.services import absent
from tests.world import EVERY_MINUTE, OneAction, World

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "store.md").read_text()
VIEWS = re.findall(r"^## `(foliot_\w+)`$", PAGE, re.MULTILINE)
NAMES = {"sqlite": "sqlite", "postgresql": "postgresql", "mysql": "mariadb", "mariadb": "mariadb"}


def documented_columns(view: str) -> set[str]:
    """What the first column of the view's table names."""
    section = PAGE.partition(f"## `{view}`\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+`) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def statements(*labels: str) -> list[str]:
    """The statements of the blocks with one of these labels, as printed."""
    blocks = re.findall(r"^```(sql[^\n]*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    found = [body for label, body in blocks if label in labels]
    return [statement.strip() for body in found for statement in body.split(";\n") if statement.strip()]


def dialect(url: str) -> str:
    return NAMES[make_url(url).get_backend_name()]


async def live(store: Database) -> None:
    """A little of everything that the views can show."""
    clock, feed = StoppedClock(), MemoryFeed()
    world = World(store, clock, use_cases(store, clock, feed, OneAction()), feed)
    schedule = await world.schedule(EVERY_MINUTE, overlap="skip")
    await world.pass_time(3)
    async with store.read() as tx:
        ((_, run_id, _),) = await SqlSchedules(tx).instants(
            schedule.id, clock.now() - timedelta(days=1), clock.now(), 10
        )
    await world.end(run_id, RunState.DEAD_LETTER, {"code": "http_404", "message": "The target answered 404."})
    await world.cases[Schedules].pause(LOCAL, schedule.id, {"reason": "for the test"})


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[AsyncConnection]:
    engine = create_async_engine(url)
    try:
        async with engine.connect() as conn:
            yield conn
    finally:
        await engine.dispose()


async def rows(conn: AsyncConnection, statement: str) -> int:
    return len((await conn.execute(text(statement.replace(":", r"\:")))).all())


async def test_the_page_names_every_column_of_every_view(database_url: str) -> None:
    async with open_store(database_url), connected(database_url) as conn:
        shown = {view: set((await conn.execute(text(f"SELECT * FROM {view}"))).keys()) for view in VIEWS}

    assert shown == {view: documented_columns(view) for view in VIEWS}
    assert len(shown) == 6


async def test_the_queries_of_the_page_run_as_printed(database_url: str) -> None:
    queries = statements("sql", f"sql {dialect(database_url)}")
    assert len(queries) == 7

    async with open_store(database_url) as store:
        await live(store)
        async with connected(database_url) as conn:
            found = {query: await rows(conn, query) for query in queries}

    # States, ledger, dead letters, what waits (nothing), pauses; the last two hang on the database's own clock.
    assert list(found.values())[:5] == [1, 1, 1, 0, 1]


async def test_a_reader_made_as_the_page_says_sees_the_views_and_nothing_else(server_database_url: str) -> None:
    url = make_url(server_database_url)
    name = f"foliot_reader_{str(url.database).rpartition('test_')[2]}"[:32]
    kind = dialect(server_database_url)
    async with open_store(server_database_url) as store:
        await live(store)
        async with readers(server_database_url, name, kind):
            reader = url.set(username=name, password="password").render_as_string(hide_password=False)
            async with connected(reader) as conn:
                seen = {view: await rows(conn, f"SELECT * FROM {view}") for view in VIEWS}
                refused = [statement for statement in forbidden() if await fails(conn, statement)]

    assert seen == dict.fromkeys(VIEWS, 1) | {"foliot_spans": 2, "foliot_audit": 2}
    assert refused == list(forbidden())


def forbidden() -> Iterator[str]:
    yield "SELECT * FROM runs"
    yield "DELETE FROM foliot_runs"
    yield "UPDATE foliot_schedules SET name = 'changed'"


async def fails(conn: AsyncConnection, statement: str) -> bool:
    try:
        await conn.execute(text(statement))
    except DBAPIError:
        await conn.rollback()
        return True
    return False


@asynccontextmanager
async def readers(url: str, name: str, kind: str) -> AsyncIterator[None]:
    """Make the page's user under another name, and take it away again."""
    farewell = [f"DROP OWNED BY {name}", f"DROP ROLE {name}"] if kind == "postgresql" else [f"DROP USER {name}"]
    engine = create_async_engine(url, isolation_level="AUTOCOMMIT")
    try:
        async with engine.connect() as conn:
            for statement in farewell:
                with contextlib.suppress(DBAPIError):
                    await conn.execute(text(statement))
            for statement in statements(f"sql {kind} reader"):
                try:
                    await conn.execute(text(statement.replace("foliot_reader", name)))
                except DBAPIError as error:
                    if "denied" in str(error) or "permission" in str(error):
                        absent(LookupError(f"needs a server that lets the suite make users: {error.orig}"))
                    raise
        yield
    finally:
        async with engine.connect() as conn:
            for statement in farewell:
                with contextlib.suppress(DBAPIError):
                    await conn.execute(text(statement))
        await engine.dispose()
