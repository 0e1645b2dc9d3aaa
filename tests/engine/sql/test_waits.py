"""Who waits for rows that a silent process locked gives its own up first: two such waits do not add up."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from foliot.core.errors import Contended, Unavailable
from foliot.db.database import Database
from foliot.engine.sql.due_schedules import SqlFiring
from foliot.testing import open_store
from tests.givens import keep, schedule

pytestmark = pytest.mark.services


async def locked(store: Database, *schedule_ids: str) -> None:
    """One after the other, each as soon as nobody else holds it."""
    async with store.begin() as tx:
        for schedule_id in schedule_ids:
            assert await SqlFiring(tx).lock_one(schedule_id) is not None


async def test_a_wait_for_a_silent_process_ends_before_the_silence_does(server_database_url: str) -> None:
    given_up = False
    async with open_store(server_database_url) as store:
        first, second = schedule(), schedule()
        await keep(store, first, second)
        # On a busy machine the server may have ended the silent one's session by the time it speaks again.
        with contextlib.suppress(Unavailable):
            async with store.begin() as silent:
                await SqlFiring(silent).lock_one(first.id)
                with pytest.raises(Contended):
                    await locked(store, second.id, first.id)
                await asyncio.wait_for(locked(store, second.id), 5)
                given_up = True

    assert given_up
