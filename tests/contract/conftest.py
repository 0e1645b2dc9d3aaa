"""What every contract test begins with."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from foliot.store.database import Database
from foliot.testing import open_store


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Database]:
    """A store without rows, on each database, whose clock is the caller's."""
    async with open_store(database_url) as opened:
        yield opened
