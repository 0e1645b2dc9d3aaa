"""A clock that steps under a running engine, on every database: held, then followed, and nothing doubles or is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import ColumnElement, literal_column

from foliot.core.time.trigger import FixedInterval
from foliot.db.clock import StoreClock, wall
from foliot.db.database import Database
from foliot.db.dialects import MariaDB, PostgreSQL
from foliot.db.metadata import Moment
from foliot.db.migrate import migrate
from foliot.engine.clock_sync import LEAST
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.loop import Actor, EnginePace
from foliot.engine.model.run import Succeeded
from foliot.engine.sql import retention
from foliot.engine.sql.due_schedules import SqlFiring
from foliot.engine.sql.runs import SqlRuns
from foliot.testing import GivenActions
from foliot.wakeups.feed import MemoryFeed
from tests.engine.engine_bench import answers, hangs
from tests.givens import keep, request, runs_of, schedule, spec

DAY = 86_400


class SteppedPostgreSQL(PostgreSQL):
    """The server's clock, and a step of it; an instance of its own has statements of its own."""

    def __init__(self, seconds: int) -> None:
        self.clock = f"clock_timestamp() + interval '{seconds} seconds'"

    def now(self) -> ColumnElement[datetime]:
        return literal_column(f"({self.clock})", type_=Moment())

    begun = now


class SteppedMariaDB(MariaDB):
    """The same."""

    def __init__(self, seconds: int) -> None:
        self.clock = f"TIMESTAMPADD(SECOND, {seconds}, UTC_TIMESTAMP(6))"

    def now(self) -> ColumnElement[datetime]:
        return literal_column(self.clock, type_=Moment())


class Bench:
    """An engine with the clock of production, each actor driven by hand."""

    def __init__(self, store: Database, monkeypatch: pytest.MonkeyPatch, action: Any) -> None:
        self.store, self.patch, self.clock = store, monkeypatch, StoreClock()
        self.engine = Engine(
            node_id="n1",
            clock=self.clock,
            store=store,
            feed=MemoryFeed(),
            actions=GivenActions.of(action),
            pace=EnginePace(retention=None, gather=0.0),
            workers_of=lambda executor: EmbeddedWorkers(executor, 10),
        )
        self.actors: dict[str, Actor] = {
            actor.name: actor for actor in [*self.engine._firing(), *self.engine._finishing()]
        }
        self.dialect = store.dialect

    def step(self, seconds: int) -> None:
        """Set the reference this far from the truth."""
        match self.dialect.name:
            case "sqlite":
                self.patch.setattr(retention, "wall", lambda: wall() + timedelta(seconds=seconds))
            case "postgresql":
                self.store.dialect = SteppedPostgreSQL(seconds) if seconds else self.dialect
            case _:
                self.store.dialect = SteppedMariaDB(seconds) if seconds else self.dialect

    async def do(self, *names: str) -> list[Any]:
        return [await self.actors[name].run_once() for name in names]

    def wrong(self) -> float:
        return abs((self.clock.now() - wall()).total_seconds())


Benches = Callable[[Any], Any]


@pytest.fixture
def on(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Benches:
    @asynccontextmanager
    async def opened(action: Any) -> AsyncIterator[Bench]:
        await migrate(database_url)
        store = Database(database_url)
        bench = Bench(store, monkeypatch, action)
        await bench.do("timekeeper")
        try:
            yield bench
        finally:
            await bench.engine.executor.drain(0)
            await store.close()

    return opened


@pytest.mark.parametrize("seconds", [DAY, -DAY])
async def test_a_step_that_does_not_last_moves_no_cursor_and_silences_nothing(on: Benches, seconds: int) -> None:
    async with on(answers(Succeeded())) as bench:
        now = bench.clock.now().replace(microsecond=0)
        one = schedule(spec(FixedInterval(3600, now - timedelta(hours=5))), next_at=now, created_at=now)
        await keep(bench.store, one)

        bench.step(seconds)
        await bench.do("timekeeper", "lookout", "watchdog", "ticker")

        # What was due fires all the same, and nothing beyond it.
        assert len(await runs_of(bench.store, one.id)) == 1
        async with bench.store.read() as tx:
            assert await SqlFiring(tx).next_due() == now + timedelta(hours=1)
        assert bench.wrong() < 30
        assert [found.why for found in bench.engine.watchdog.standstills()] == ["clock"]
        bench.step(0)
        await bench.do("timekeeper", "watchdog", "ticker")
        assert bench.engine.watchdog.standstills() == []
        assert len(await runs_of(bench.store, one.id)) == 1


async def test_a_step_that_lasts_is_followed_and_takes_no_run_from_its_worker(on: Benches) -> None:
    async with on(hangs()) as bench:
        async with bench.store.begin() as tx:
            asked = request()
            await SqlRuns(tx).add([asked], bench.clock.now())
        await bench.do("dispatcher")
        assert set(bench.engine.executor.flights) == {asked.id}

        bench.step(DAY)
        bench.engine.timekeeper.scale = 0.0
        for _ in range(LEAST):
            (swept,) = await bench.do("janitor")
            assert swept.lost == 0
            await bench.do("timekeeper")

        assert DAY - 60 < bench.wrong() < DAY + 60
        assert bench.engine.timekeeper.steady_for() < 30
        # Whoever holds a lease renews it first.
        (swept,) = await bench.do("janitor")
        assert swept.lost == 0
