"""What every contract test begins with."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url
from structlog.testing import capture_logs

from foliot.store.database import Database
from foliot.store.migrate import migrate
from foliot.testing import open_store
from tests.services import wait_for


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrated once; a copy costs a hundredth of a migration."""
    path = tmp_path_factory.mktemp("sqlite") / "migrated.db"
    wait_for(migrate(f"sqlite+aiosqlite:///{path}"))
    return path


@pytest.fixture
async def store(database_url: str, migrated_sqlite: Path) -> AsyncIterator[Database]:
    """A store without rows, on each database, whose clock is the caller's."""
    if database_url.startswith("sqlite"):
        shutil.copy(migrated_sqlite, make_url(database_url).database or "")
    async with open_store(database_url) as opened:
        yield opened


@pytest.fixture(autouse=True)
def logged() -> Iterator[list[MutableMapping[str, Any]]]:
    """What was logged. Also keeps structlog from drawing tracebacks with every local, which takes seconds each."""
    with capture_logs() as entries:
        yield entries
