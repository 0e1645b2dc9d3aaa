"""What a broker may lose, double and delay, and what comes of it: nothing."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from foliot.cluster.celery.publisher import CeleryBroker
from foliot.cluster.frames import BrokerMessage
from foliot.core.errors import Unavailable
from foliot.engine.broker.publisher import Broker
from foliot.engine.model.run import RunState
from foliot.engine.sql.retention import SqlRetention
from tests.brokers import a_broker
from tests.celery_cluster import PACE, House, a_house, until
from tests.conftest import Session
from tests.givens import row_of, run_of

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
POISON = Path(__file__).parent / "poisoned.py"


@pytest.fixture(scope="module", params=["rabbitmq", "redis"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    with a_broker(request.param, tmp_path_factory.mktemp(request.param)) as url:
        yield request.param, url


@pytest.fixture
async def house(place: tuple[str, str], databases_of_session: Session) -> AsyncIterator[House]:
    async with a_house(*place, databases_of_session("postgresql", "main")) as made:
        yield made


@dataclass
class Wayward:
    """A broker that sends everything several times, and can be away."""

    inner: Broker
    times: int = 1
    away: bool = False

    @property
    def shown(self) -> str:
        return self.inner.shown

    async def publish(self, parcels: Sequence[BrokerMessage]) -> None:
        await self.check()
        for _ in range(self.times):
            await self.inner.publish(parcels)

    async def check(self) -> None:
        if self.away:
            raise Unavailable("away")
        await self.inner.check()

    async def close(self) -> None:
        await self.inner.close()


async def done(house: House, run_ids: Sequence[str]) -> None:
    async def all_done() -> bool:
        async with house.store.read() as tx:
            counts = await SqlRetention(tx).counts()
        return not counts["runs"]

    await until(all_done, f"{len(run_ids)} runs done", seconds=60)


async def test_every_message_five_times_is_every_run_once(house: House) -> None:
    await house.begin(lambda broker: Wayward(broker, times=5))
    await house.worker(20)
    held = await house.ask(10, do="wait")
    run_ids = await house.ask(190)

    async def only_the_held_are_left() -> bool:
        return set(run_ids) <= set(house.probe.started)

    # A message that comes again finds some of its runs ended, and others still running.
    await until(only_the_held_are_left, "the others done", seconds=60)
    house.probe.go.set()
    await done(house, [*held, *run_ids])

    assert Counter(house.probe.started) == Counter([*held, *run_ids])


async def test_a_message_that_comes_while_its_run_runs_changes_nothing(house: House) -> None:
    await house.begin()
    engine = await house.worker(20)
    run_ids = await house.ask(3, do="wait")
    for run_id in run_ids:
        await house.reaches(run_id, RunState.RUNNING)

    again = CeleryBroker(house.broker.url)
    parcels = [BrokerMessage(house.broker.queue(), 5, [run_id], engine.clock.now()) for run_id in run_ids]
    await again.publish(parcels)
    await again.close()

    async def all_are_stale() -> bool:
        return int(engine.report()["stale"]) >= len(run_ids)

    await until(all_are_stale, "every message received and put aside")
    house.probe.go.set()
    await done(house, run_ids)

    assert Counter(house.probe.started) == Counter(run_ids)


async def test_a_wiped_broker_loses_no_run(house: House) -> None:
    await house.begin()
    run_ids = await house.ask(500)

    async def published() -> bool:
        return house.broker.depth(house.broker.queue()) > 0

    await until(published, "some lie with the broker")
    house.broker.wipe()
    marked = [row["offered_at"] for row in [await row_of(house.store, run_id) for run_id in run_ids]]
    await house.worker(20)
    await done(house, run_ids)

    assert 0 < len(marked) - marked.count(None) <= 100
    assert Counter(house.probe.started) == Counter(run_ids)


async def test_while_a_broker_is_away_runs_wait_and_then_go(house: House) -> None:
    brokers: list[Wayward] = []

    def wayward(broker: Broker) -> Broker:
        brokers.append(Wayward(broker, away=True))
        return brokers[0]

    await house.begin(wayward)
    await house.worker()
    run_ids = await house.ask(20)
    await asyncio.sleep(0.5)
    waiting = [(await run_of(house.store, run_id)).state for run_id in run_ids]
    brokers[0].away = False
    await done(house, run_ids)

    assert set(waiting) == {RunState.QUEUED}
    assert Counter(house.probe.started) == Counter(run_ids)


async def test_one_worker_has_two_hundred_sleeping_runs_in_flight(house: House) -> None:
    await house.begin()
    engine = await house.worker(200)
    run_ids = await house.ask(200, do="wait")

    async def all_fly() -> bool:
        return len(engine.executor.flights) == 200

    await until(all_fly, "200 in flight")
    house.probe.go.set()
    await done(house, run_ids)


async def test_a_flood_of_one_tenant_does_not_delay_the_few_of_another(house: House) -> None:
    await house.begin()
    await house.ask(4900, tenant_id="flood")
    quiet = await house.ask(100, tenant_id="quiet")
    await house.worker(20)

    async def quiet_done() -> bool:
        return set(quiet) <= set(house.probe.started)

    await until(quiet_done, "the quiet tenant's runs done", seconds=60)

    last = max(house.probe.started.index(run_id) for run_id in quiet)
    assert last < 600


async def test_a_run_that_kills_its_worker_is_given_up_after_its_attempts(house: House, tmp_path: Path) -> None:
    house.pace = replace(PACE, scale=0.05)
    await house.begin()
    queue = house.broker.queue()
    (poison,) = await house.ask(do="die", max_attempts=2)

    deaths = 0

    async def given_up() -> bool:
        nonlocal deaths
        if (await run_of(house.store, poison)).state is RunState.DEAD_LETTER:
            return True
        command = {"database": house.store.url, "broker": house.broker.url, "queue": queue, "scale": 0.05}
        worker = await asyncio.to_thread(
            subprocess.run, [sys.executable, str(POISON), json.dumps(command)], timeout=60, check=False
        )
        deaths += worker.returncode == 9
        return False

    await until(given_up, "given up", seconds=90)

    assert deaths == 2
    assert ((await run_of(house.store, poison)).error or {})["code"] == "worker_lost"
