"""Fixtures of a database without rows, on each database, and of what is built on it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url
from structlog.testing import capture_logs

from foliot.app.http import create_app
from foliot.db.database import Database
from foliot.db.migrate import migrate
from foliot.db.sealer import Sealer
from tests.asgi import Client
from tests.services import wait_for
from tests.world import KEYRING, World

MIGRATED: set[str] = set()
"""Databases of this process on servers that have their tables: to look again costs more than most tests."""


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrated once; a copy costs a hundredth of a migration."""
    path = tmp_path_factory.mktemp("sqlite") / "migrated.db"
    wait_for(migrate(f"sqlite+aiosqlite:///{path}"))
    return path


@pytest.fixture
async def store(
    database_url: str, migrated_sqlite: Path, logged: list[MutableMapping[str, Any]]
) -> AsyncIterator[Database]:
    """A store without rows, on each database, whose clock is the caller's."""
    if database_url.startswith("sqlite"):
        shutil.copy(migrated_sqlite, make_url(database_url).database or "")
    elif database_url not in MIGRATED:
        await migrate(database_url)
        MIGRATED.add(database_url)
    opened = Database(database_url, bind_clock=True, sealer=Sealer(KEYRING))
    yield opened
    await opened.close()


@pytest.fixture
def world(store: Database) -> World:
    return World.on(store)


@pytest.fixture
def client(world: World) -> Client:
    return Client(create_app(world.cases))


@pytest.fixture
def logged() -> Iterator[list[MutableMapping[str, Any]]]:
    """What was logged."""
    with capture_logs() as entries:
        yield entries
