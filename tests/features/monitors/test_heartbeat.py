"""Foliot's own heartbeat is sent only while work is done on time and a worker takes runs."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from foliot.engine.model.stall import Standstill, StandstillReason
from foliot.engine.sql.retention import SqlRetention
from foliot.features.health.usecases import KnownStandstills
from foliot.features.monitors.heartbeat import AGAIN, EVERY, HeartbeatSender
from tests.features.alerts.alerting import Receiver
from tests.world import World

URL = "https://watch.example/ping/the-key"


@dataclass
class Heart:
    """A sender whose process can be made to stand still."""

    world: World
    receiver: Receiver = field(default_factory=Receiver)
    stalls: list[Standstill] = field(default_factory=list)

    def __post_init__(self) -> None:
        knowledge = KnownStandstills(store=self.world.store, standstills=lambda: self.stalls)
        self.sender = HeartbeatSender(
            clock=self.world.clock, store=self.world.store, egress=self.receiver, knowledge=knowledge, url=URL
        )

    async def report(self, slots: int = 1) -> None:
        now = self.world.clock.now()
        async with self.world.store.begin() as tx:
            await SqlRetention(tx).report("node-1", "up", now, now, {"slots": slots})

    async def beat(self) -> tuple[bool, float, int]:
        """Whether it was sent, how long it rests, and how many requests there were in all."""
        done = await self.sender.run_once()
        return done.sent, done.rest, len(self.receiver.requests)


@pytest.fixture
def heart(world: World) -> Heart:
    return Heart(world)


async def test_it_is_sent_while_a_worker_takes_runs(heart: Heart) -> None:
    assert await heart.beat() == (False, AGAIN, 0)
    await heart.report(slots=0)
    assert await heart.beat() == (False, AGAIN, 0)
    await heart.report()
    assert await heart.beat() == (True, EVERY, 1)
    assert [(request.method, request.url) for request in heart.receiver.requests] == [("GET", URL)]


async def test_it_stops_when_the_worker_is_silent(heart: Heart) -> None:
    await heart.report()
    assert (await heart.beat())[0]
    heart.world.clock.advance(120)
    assert await heart.beat() == (False, AGAIN, 1)


async def test_it_stops_while_instants_are_not_fired(heart: Heart) -> None:
    await heart.report()
    heart.stalls.append(Standstill(why=StandstillReason.SCHEDULER, told="schedules are due", seconds=40))
    assert await heart.beat() == (False, AGAIN, 0)
    heart.stalls.clear()
    assert await heart.beat() == (True, EVERY, 1)


async def test_it_is_tried_again_soon_when_the_service_does_not_accept_it(heart: Heart) -> None:
    await heart.report()
    heart.receiver.statuses = [500, 0, 200]
    assert [await heart.beat() for _ in range(3)] == [(False, AGAIN, 1), (False, AGAIN, 2), (True, EVERY, 3)]


async def test_its_silence_is_logged_once_without_its_address(heart: Heart, logged: list[dict[str, object]]) -> None:
    await heart.report()
    heart.receiver.statuses = [0, 0, 0, 200]
    for _ in range(4):
        await heart.beat()
    assert [each["event"] for each in logged] == ["heartbeats are not sent", "heartbeats are sent again"]
    assert "the-key" not in repr(logged)
