"""How many round trips a write of a schedule takes on each database."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.access import LOCAL
from foliot.core.errors import Invalid, NotFound
from foliot.db import dialects
from foliot.db.batch_statements import in_one_hop
from foliot.db.database import Database
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.schedules.usecases.schedules import Schedules
from tests.givens import statements
from tests.world import HOURLY, World

FRAME = {"postgresql": 2, "mysql": 1, "sqlite": 2}
"""BEGIN and COMMIT; MariaDB begins a transaction with its first statement."""


@pytest.fixture
def world(store: Database) -> World:
    return World.on(store)


@contextmanager
def round_trips(store: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The statements sent meanwhile; those that SQLite executes in one visit to its thread are one."""
    with statements(store) as seen, monkeypatch.context() as patch:

        async def noted(conn: AsyncConnection, changes: Sequence[Any]) -> None:
            seen.append("; ".join(sql for sql, _ in changes))
            await in_one_hop(conn, changes)

        patch.setattr(dialects, "in_one_hop", noted)
        yield seen


async def test_a_create_takes_at_most_four(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.schedule(HOURLY)

    with round_trips(world.store, monkeypatch) as seen:
        await world.schedule(HOURLY)

    assert 1 <= len(seen) <= 4 - FRAME[world.store.dialect.name], seen


async def test_fifty_concurrent_creates_take_as_many_as_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.schedule(HOURLY)

    with round_trips(world.store, monkeypatch) as seen:
        made = await asyncio.gather(*(world.schedule(HOURLY, name=f"Hourly {number}") for number in range(50)))

    assert 1 <= len(seen) <= 4 - FRAME[world.store.dialect.name], seen
    stored = await world.cases[Schedules].list(LOCAL, PageRequest(limit=100))
    assert {one.id for one in made} < {one.id for one in stored}
    assert len(stored) == 51


@pytest.mark.parametrize("edit", ["patch", "pause"])
async def test_an_edit_takes_at_most_five(world: World, monkeypatch: pytest.MonkeyPatch, edit: str) -> None:
    one, other = await world.schedule(HOURLY), await world.schedule(HOURLY)
    cases = world.cases[Schedules]

    async def change(schedule: Schedule) -> Schedule:
        if edit == "pause":
            return await cases.pause(LOCAL, schedule.id)
        return await cases.patch(LOCAL, schedule.id, {"description": "changed"})

    await change(one)
    with round_trips(world.store, monkeypatch) as seen:
        changed = await change(other)

    assert 1 <= len(seen) <= 5 - FRAME[world.store.dialect.name], seen
    assert changed == await cases.get(LOCAL, other.id)


async def test_concurrent_edits_take_as_many_as_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [await world.schedule(HOURLY, name=f"Hourly {number}") for number in range(20)]
    cases = world.cases[Schedules]
    await cases.pause(LOCAL, made[0].id)

    with round_trips(world.store, monkeypatch) as seen:
        changed = await asyncio.gather(
            *(cases.patch(LOCAL, one.id, {"tags": [one.name], "queue": "other"}) for one in made),
            cases.patch(LOCAL, made[1].id, {"priority": 77}),
            cases.patch(LOCAL, "sch_" + "0" * 32, {"priority": 1}),
            return_exceptions=True,
        )

    assert [type(one) for one in changed] == [Schedule] * 20 + [Invalid, NotFound]
    assert [one.version for one in changed if isinstance(one, Schedule)] == [3] + [2] * 19
    for one in changed[:20]:
        assert isinstance(one, Schedule)
        assert one == await cases.get(LOCAL, one.id)
        async with world.store.read() as tx:
            spans = await SqlSchedules(tx).spans(one.id)
        assert [span.end is None for span in spans] == [False] * (one.version - 1) + [True]
    assert (await world.cases[LedgerVerifier].prove(LOCAL)).holes == []
    written = [sql for sql in seen if "INSERT INTO versions" in sql]
    assert len(written) == 1, written
