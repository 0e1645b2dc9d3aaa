"""The history of queues: one sample per minute, whichever process takes it, and what charts show of it."""

from __future__ import annotations

from datetime import timedelta

from foliot.core.access import Caller, Role
from foliot.core.queue_name import KNOWN_QUEUES
from foliot.db.database import Database
from foliot.engine.sql.retention import SqlRetention
from foliot.features.queues import schema
from foliot.features.queues.actor import QueueSampler
from foliot.features.queues.model import (
    EVERY_QUEUE,
    HISTORY_KEPT,
    HistoryRange,
    QueueQuarter,
    QueueSample,
    empty,
    history,
)
from foliot.features.queues.sql import SqlQueueHistory
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.testing import StoppedClock
from tests.asgi import Client
from tests.declared import conforms
from tests.world import EVERY_MINUTE, World

MINUTE = timedelta(minutes=1)


def sampler(world: World) -> QueueSampler:
    return QueueSampler(clock=world.clock, store=world.store)


async def reports(world: World, **report: object) -> None:
    now = world.clock.now()
    async with world.store.begin() as tx:
        await SqlRetention(tx).report("host-1:1:a", "worker", now, now, {"slots": 4, "in_flight": 3, **report})


async def kept(store: Database, clock: StoppedClock) -> dict[str, QueueQuarter]:
    async with store.read() as tx:
        return {row.queue: row for row in await SqlQueueHistory(tx).since(clock.now() - timedelta(days=30))}


async def test_a_quarter_keeps_the_highest_sample_and_the_sum_of_what_ended(world: World, client: Client) -> None:
    owner = Caller("default", "ada", Role.ADMIN)
    await world.cases[Schedules].create(owner, {**EVERY_MINUTE, "queue": "scraping", "max_runs": 2})
    await world.pass_time(2)
    await reports(world, per_minute={"scraping": 5})

    first = await sampler(world).run_once()
    again = await sampler(world).run_once()
    world.clock.advance(60)
    await reports(world, per_minute={"scraping": 7}, in_flight=1)
    second = await sampler(world).run_once()

    assert (first.taken, again.taken, second.taken) == (True, False, True)
    assert 59 <= again.rest <= 60
    rows = await kept(world.store, world.clock)
    scraping = rows["scraping"]
    assert (scraping.waiting, scraping.running, scraping.ended) == (2, 0, 12)
    assert scraping.oldest_ms >= 60_000
    assert (rows[EVERY_QUEUE].slots, rows[EVERY_QUEUE].running, rows[EVERY_QUEUE].waiting) == (4, 3, 2)

    shown = (await client.get("/api/queues/history")).json
    conforms(schema.QueueHistory, shown)
    assert (shown["step_seconds"], len(shown["at"]), [one["name"] for one in shown["queues"]]) == (
        900,
        96,
        list(KNOWN_QUEUES),
    )
    assert (shown["slots"][-1], shown["busy"][-1], shown["slots"][0]) == (4, 3, None)
    (one,) = (await client.get("/api/queues/history?range=7d&queue=scraping")).json["queues"]
    assert (one["waiting"][-1], one["ended"][-1], len(one["ended"])) == (2, 12, 168)
    assert (await client.get("/api/queues/history?range=3d")).status == 422


async def test_of_many_processes_one_takes_the_sample_of_a_minute(store: Database) -> None:
    clock, taken = StoppedClock(), 0
    for _ in range(3):
        async with store.begin() as tx:
            if await SqlQueueHistory(tx).claim_minute(clock.now()):
                taken += 1
                found = {EVERY_QUEUE: QueueSample(slots=8), "a": QueueSample(ended=1)}
                await SqlQueueHistory(tx).add(clock.now(), found)
        clock.advance(30)
    assert taken == 2
    assert (await kept(store, clock))["a"].ended == 2


async def test_samples_are_kept_for_eight_days(world: World) -> None:
    await reports(world)
    await sampler(world).run_once()
    world.clock.advance(HISTORY_KEPT.total_seconds() + 1000)
    async with world.store.begin() as tx:
        await SqlQueueHistory(tx).prune(world.clock.now() - HISTORY_KEPT, 500)
    assert await kept(world.store, world.clock) == {}


def test_a_step_without_a_sample_is_unknown_and_an_empty_queue_is_zero() -> None:
    now = StoppedClock().now()
    start = now.replace(minute=0, second=0, microsecond=0)
    sampled = empty(EVERY_QUEUE, start - 2 * timedelta(hours=1))
    busy = [
        empty("a", sampled.at + place * timedelta(minutes=15)).with_sample(QueueSample(waiting=place, ended=1))
        for place in range(4)
    ]

    found = history(HistoryRange.WEEK, now, [sampled, *busy], ["default"])

    assert [one.name for one in found.queues] == ["default", "a"]
    place = list(found.at).index(sampled.at)
    default, other = found.queues
    assert default.points[place] == empty("default", sampled.at)
    assert default.points[place + 1] is None
    hour = other.points[place]
    assert hour is not None
    assert (hour.waiting, hour.ended) == (3, 4)
