"""The engine of one process: its actors, started together and stopped in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import structlog

from foliot.domain.errors import Unavailable
from foliot.engine.alarm import Alarm
from foliot.engine.dispatcher import Dispatcher
from foliot.engine.executor import Executor
from foliot.engine.herald import Herald
from foliot.engine.janitor import Janitor
from foliot.engine.keeper import Keeper
from foliot.engine.logbook import Logbook
from foliot.engine.loop import Actor, Loop
from foliot.engine.meter import Meter
from foliot.engine.recorder import Recorder
from foliot.engine.ticker import Ticker
from foliot.engine.timekeeper import SettableClock, Timekeeper
from foliot.ports import Actions, Feed, Store, Workers

DISPATCH_BATCH = 500
CANCEL_PERIOD = 2.0
HERALD_PERIOD = 5.0

log = structlog.get_logger("foliot.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast the engine's clockwork turns; `scale` below 1 makes faults heal sooner, for tests that cause them."""

    tick: float = 1.0
    batch: int = 1000
    lease: float = 30.0
    heartbeat: float = 10.0
    sweep: float = 5.0
    scale: float = 1.0
    retention: timedelta | None = timedelta(days=30)


@dataclass(slots=True, kw_only=True)
class Engine:
    """Everything that makes time move in this process."""

    node_id: str
    clock: SettableClock
    store: Store
    feed: Feed
    actions: Actions
    pace: Pace
    workers_of: Callable[[Executor], Workers]
    queues: Collection[str] | None = None
    meter: Meter = field(default_factory=Meter)
    loop: Loop = field(init=False)
    executor: Executor = field(init=False)
    workers: Workers = field(init=False)
    timekeeper: Timekeeper = field(init=False)
    _recorder: Recorder = field(init=False)
    _alarm: Alarm = field(default_factory=Alarm)

    def __post_init__(self) -> None:
        pace = self.pace
        self.loop = Loop(self.clock, self.feed)
        self.timekeeper = Timekeeper(clock=self.clock, store=self.store)
        self._recorder = Recorder(
            clock=self.clock, store=self.store, feed=self.feed, alarm=self._alarm, longest_rest=pace.tick
        )
        self.executor = Executor(
            clock=self.clock,
            store=self.store,
            feed=self.feed,
            actions=self.actions,
            recorder=self._recorder,
            meter=self.meter,
            worker=self.node_id,
            lease=timedelta(seconds=pace.lease * pace.scale),
        )
        self.workers = self.workers_of(self.executor)

    async def start(self) -> None:
        """Set the clock first: nothing fires by a wrong one."""
        await self.timekeeper.run_once()
        self.loop.start([*self._firing(), *self._finishing()])
        log.info("the engine runs", action="engine_started", node=self.node_id)

    async def stop(self, grace: float) -> None:
        """Take nothing new, let what runs finish or hand it back, and write every ending down."""
        await self.loop.stop([actor.name for actor in self._firing()])
        handed_back = await self.executor.drain(grace)
        await self.loop.stop()
        await self._leave()
        log.info("the engine has stopped", action="engine_stopped", node=self.node_id, handed_back=handed_back)

    async def _leave(self) -> None:
        """A process that stopped on purpose is not missed."""
        try:
            async with self.store.begin() as tx:
                await tx.upkeep.leave(self.node_id)
        except Unavailable as error:
            log.warning("could not say goodbye", action="goodbye_failed", node=self.node_id, error=str(error))

    def _firing(self) -> list[Actor]:
        pace = self.pace
        return [
            Ticker(
                clock=self.clock,
                store=self.store,
                feed=self.feed,
                meter=self.meter,
                alarm=self._alarm,
                batch=pace.batch,
                longest_rest=pace.tick,
            ),
            Dispatcher(
                clock=self.clock,
                store=self.store,
                workers=self.workers,
                alarm=self._alarm,
                batch=DISPATCH_BATCH,
                longest_rest=pace.tick,
                queues=self.queues,
            ),
            Janitor(
                clock=self.clock,
                store=self.store,
                feed=self.feed,
                alarm=self._alarm,
                period=pace.sweep * pace.scale,
                retention=pace.retention,
            ),
        ]

    def _finishing(self) -> list[Actor]:
        """Those who are needed until the last ending is written."""
        pace = self.pace
        return [
            self._recorder,
            Keeper(
                clock=self.clock,
                store=self.store,
                executor=self.executor,
                heartbeat=pace.heartbeat * pace.scale,
                period=CANCEL_PERIOD * pace.scale,
            ),
            Logbook(store=self.store, feed=self.feed, executor=self.executor),
            Herald(
                clock=self.clock,
                store=self.store,
                node_id=self.node_id,
                role="scheduler",
                started_at=self.clock.now(),
                report=self.report,
                period=HERALD_PERIOD * pace.scale,
            ),
            self.timekeeper,
        ]

    def report(self) -> Mapping[str, Any]:
        return {
            "loops": self.loop.report(),
            "in_flight": len(self.executor.flights),
            "free": self.workers.free(),
            "queues": sorted(self.queues) if self.queues is not None else None,
            **self.meter.as_dict(),
        }
