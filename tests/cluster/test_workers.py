"""Every kind of worker gives the same guarantees: embedded, and through Celery on RabbitMQ and on Redis.

On PostgreSQL; and, through one of the brokers, on MariaDB.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from foliot.engine.model.outcome import RetryPolicy
from foliot.engine.model.run import RunState
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from tests.brokers import a_broker
from tests.celery_cluster import House, a_house, until
from tests.conftest import Session
from tests.givens import events_of, keep, row_of, run_of, schedule, spec

PLACES = {
    "embedded": ("embedded", "postgresql"),
    "rabbitmq": ("rabbitmq", "postgresql"),
    "redis": ("redis", "postgresql"),
    "redis-mariadb": ("redis", "mariadb"),
}


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """Who executes, the URL of what brings the runs, and where they are kept."""
    kind, database = PLACES[request.param]
    if kind == "embedded":
        yield kind, "", database
        return
    with a_broker(kind, tmp_path_factory.mktemp(kind)) as url:
        yield kind, url, database


@pytest.fixture
async def house(place: tuple[str, str, str], databases_of_session: Session) -> AsyncIterator[House]:
    kind, url, database = place
    async with a_house(kind, url, databases_of_session(database, "main")) as made:
        await made.begin()
        yield made


pytestmark = pytest.mark.services


async def test_a_run_succeeds(house: House) -> None:
    await house.worker()

    (run_id,) = await house.ask()
    await house.reaches(run_id, RunState.SUCCESS)

    run = await run_of(house.store, run_id)
    assert (run.attempt, run.result) == (1, {"attempt": 1})
    assert house.probe.started == [run_id]


async def test_a_failed_run_is_tried_again(house: House) -> None:
    await house.worker()
    retry = RetryPolicy(delay_seconds=1, jitter=0)
    one = schedule(spec(retry=retry, queue=house.broker.queue()), next_at=None)
    await keep(house.store, one)

    (run_id,) = await house.ask(do="fail once", schedule_id=one.id, version=1)
    await house.reaches(run_id, RunState.SUCCESS)

    assert (await run_of(house.store, run_id)).result == {"attempt": 2}


async def test_a_running_run_can_be_cancelled(house: House) -> None:
    await house.worker()
    (run_id,) = await house.ask(do="wait")
    await house.reaches(run_id, RunState.RUNNING)

    async with house.store.begin() as tx:
        await SqlRuns(tx).cancel([run_id], await SqlRetention(tx).time(), "enough")

    await house.reaches(run_id, RunState.CANCELLED)


async def test_a_run_that_takes_too_long_is_stopped(house: House) -> None:
    await house.worker()

    (run_id,) = await house.ask(do="wait", timeout_seconds=1, max_attempts=1)
    await house.reaches(run_id, RunState.DEAD_LETTER)

    assert ((await run_of(house.store, run_id)).error or {})["code"] == "timeout"


async def test_what_a_run_says_is_kept(house: House) -> None:
    await house.worker()

    (run_id,) = await house.ask(do="speak")
    await house.reaches(run_id, RunState.SUCCESS)

    assert [event.message for event in await events_of(house.store, run_id) if event.level == "warning"] == ["half way"]


async def test_what_a_worker_cannot_finish_before_it_leaves_another_does(house: House) -> None:
    first = await house.worker()
    (run_id,) = await house.ask(do="wait")
    await house.reaches(run_id, RunState.RUNNING)

    await first.stop(0.0)
    handed_back = await row_of(house.store, run_id)
    house.probe.go.set()
    await house.worker()
    await house.reaches(run_id, RunState.SUCCESS)

    assert (handed_back["state"], handed_back["attempt"]) == ("queued", 0)
    assert (await run_of(house.store, run_id)).result == {"attempt": 1}


async def test_with_one_slot_the_most_urgent_of_a_queue_comes_first(house: House) -> None:
    await house.worker(1)
    (first,) = await house.ask(do="wait", priority=1)
    await house.reaches(first, RunState.RUNNING)
    patient = await house.ask(5, priority=10)
    urgent = await house.ask(5, priority=1)
    if house.kind != "embedded":

        async def offered() -> bool:
            rows = [await row_of(house.store, run_id) for run_id in [*patient, *urgent]]
            return sum(row["offered_at"] is not None for row in rows) >= 9

        await until(offered, "all lie with the broker")

    house.probe.go.set()
    for run_id in [*urgent, *patient]:
        await house.reaches(run_id, RunState.SUCCESS)

    assert house.probe.started[0] == first
    # A worker may have taken one message from the broker before the urgent ones came.
    in_hand = 0 if house.kind == "embedded" else 1
    assert set(urgent) <= set(house.probe.started[1 : 6 + in_hand])


async def test_a_worker_takes_its_own_queues_only(house: House) -> None:
    await house.worker(10, "scraping")
    (other,) = await house.ask(name="analysis")
    (mine,) = await house.ask(name="scraping")

    await house.reaches(mine, RunState.SUCCESS)
    await asyncio.sleep(0.3)

    assert (await run_of(house.store, other)).state is RunState.QUEUED


async def test_more_runs_than_slots_are_all_done_once(house: House) -> None:
    await house.worker(7)

    run_ids = await house.ask(150)
    for run_id in run_ids:
        await house.reaches(run_id, RunState.SUCCESS)

    assert sorted(house.probe.started) == sorted(run_ids)
