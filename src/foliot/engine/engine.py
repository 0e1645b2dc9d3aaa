"""The engine of one process: the actors of its role, started together and stopped in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import structlog

from foliot.core.errors import StoreRefusal, Unavailable
from foliot.core.redact import Redactor
from foliot.db.database import Database
from foliot.engine.broker.publisher import Broker, Intake, Publisher
from foliot.engine.broker.receiver import QueueFollower, Receiver
from foliot.engine.clock_sync import SettableClock, Timekeeper
from foliot.engine.dispatcher import Dispatcher
from foliot.engine.executor import Executor
from foliot.engine.extension import EngineContext, EngineExtension, Extend, Upkeep
from foliot.engine.janitor import Janitor
from foliot.engine.lease_renewer import LeaseRenewer
from foliot.engine.log_writer import LogWriter
from foliot.engine.loop import Actor, EnginePace, Loop
from foliot.engine.model.breaker import BREAKERS, OpenBreakerReport
from foliot.engine.model.node import NodeRequest, NodeRole
from foliot.engine.model.stall import PATIENCE
from foliot.engine.node_reporter import EngineCounters, NodeReporter
from foliot.engine.parked_runs import ParkedRunWatcher
from foliot.engine.ports import Actions, WorkerPool, is_watched
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.recorder import Recorder
from foliot.engine.slots import Slots
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.ticker import Ticker
from foliot.engine.watchdog import LOOK, Lookout, Watchdog, holders
from foliot.wakeups.feed import Feed

DISPATCH_BATCH = 500
CANCEL_PERIOD = 2.0
HERALD_PERIOD = 5.0
TAKING = ("dispatcher", "follower")
"""Actors that bring runs to the executor of this process."""
FOLLOW_PERIOD = 2.0

X = TypeVar("X", bound=EngineExtension)

log = structlog.get_logger("foliot.engine")


@dataclass(slots=True, kw_only=True)
class Engine:
    """The actors of one process, by its role.

    Without a broker, each process with slots claims from the database. With one, a scheduler publishes and executes
    nothing, and a worker takes the runs of its messages.
    """

    node_id: str
    clock: SettableClock
    store: Database
    feed: Feed
    actions: Actions
    pace: EnginePace
    workers_of: Callable[[Executor], WorkerPool]
    queues: Collection[str] | None = None
    role: NodeRole = NodeRole.SCHEDULER
    broker: Broker | None = None
    """Where a scheduler publishes."""
    intake: Intake | None = None
    """Where a worker's runs come from."""
    heard: Callable[[NodeRequest], None] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    """Constant fields of this process's report."""
    told: Callable[[], Mapping[str, Any]] = dict
    """Changing fields of it."""
    extensions: Sequence[Extend] = ()
    """Fields that features add to it."""
    upkeep: Sequence[Upkeep] = ()
    """Further pruning by features."""
    slots: Slots = field(default_factory=Slots)
    """The slots of this process."""
    refusal: Callable[[], StoreRefusal | None] = lambda: None
    """What the database refuses this process, from memory."""
    secrets: Redactor = field(default_factory=Redactor, repr=False)
    """The secrets of the process itself: redacted in logs, results and errors."""
    meter: EngineCounters = field(default_factory=EngineCounters)
    loop: Loop = field(init=False)
    executor: Executor = field(init=False)
    workers: WorkerPool = field(init=False)
    timekeeper: Timekeeper = field(init=False)
    watchdog: Watchdog = field(init=False)
    _lookout: Lookout = field(init=False)
    _recorder: Recorder = field(init=False)
    _publisher: Publisher | None = field(init=False, default=None)
    _receiver: Receiver | None = field(init=False, default=None)
    _extended: list[EngineExtension] = field(init=False, default_factory=list)
    _watchers: list[ParkedRunWatcher] = field(init=False, default_factory=list)
    _sources: list[Actor] = field(init=False, default_factory=list)
    """Actors that bring new work."""
    _alarm: ReadyTimes = field(default_factory=ReadyTimes)

    def __post_init__(self) -> None:
        pace = self.pace
        self.loop = Loop(self.clock, self.feed)
        self.timekeeper = Timekeeper(clock=self.clock, store=self.store, scale=pace.scale)
        self._recorder = Recorder(
            clock=self.clock,
            store=self.store,
            feed=self.feed,
            alarm=self._alarm,
            longest_rest=pace.tick,
            gather=pace.gather,
        )
        self.slots.brought = self.intake is not None
        self.executor = Executor(
            clock=self.clock,
            store=self.store,
            feed=self.feed,
            actions=self.actions,
            recorder=self._recorder,
            meter=self.meter,
            worker=self.node_id,
            lease=timedelta(seconds=pace.lease * pace.scale),
            slots=self.slots,
            secrets=self.secrets,
            monitor=None if self.intake is None else self.intake.monitor,
        )
        self.workers = self.workers_of(self.executor)
        self._watchers = self._watching()
        self._extended = self._extend()
        self._sources = [*self._firing(), *self._watchers]
        self._sources += [actor for each in self._extended for actor in each.sources()]
        self._lookout = Lookout(
            clock=self.clock,
            store=self.store,
            queues=self.queues,
            patience=PATIENCE * pace.scale,
            period=LOOK * pace.scale,
        )
        self.watchdog = self._guard()

    async def start(self) -> None:
        """Set the clock first: nothing may fire by a wrong one."""
        await self.timekeeper.run_once()
        self.loop.start([*self._sources, *self._finishing()])
        if self.intake is not None and self._receiver is not None:
            await self.intake.open(self._receiver.receive)
        log.info("engine started", action="engine_started", node=self.node_id, role=self.role.value)

    async def stop(self, grace: float) -> None:
        """Take nothing new, let running attempts finish or hand them back, and write every ending."""
        await self.take_nothing()
        handed_back = sum(
            await asyncio.gather(self.executor.drain(grace), *(each.drain(grace) for each in self._extended))
        )
        for each in self._extended:
            await self.loop.stop([actor.name for actor in each.finishers()])
            await each.flush()
        await self.loop.stop()
        if self.broker is not None:
            await self.broker.close()
        for each in self._extended:
            await each.close()
        await self._leave()
        log.info("the engine has stopped", action="engine_stopped", node=self.node_id, handed_back=handed_back)

    async def take_nothing(self) -> None:
        """Stop taking work; running attempts continue."""
        if self._receiver is not None:
            self._receiver.close()
        if self.intake is not None:
            await self.intake.close()
        for watcher in self._watchers:
            watcher.close()
        await self.loop.stop([actor.name for actor in self._sources])

    async def finish(self) -> None:
        """Take no new runs, and wait until all have ended, however long it takes. Firing continues."""
        if self._receiver is not None:
            self._receiver.close()
        if self.intake is not None:
            await self.intake.close()
        await self.loop.stop(TAKING)
        for each in self._extended:
            await each.drain(None)
        await self.executor.finish()

    def hear(self, wish: NodeRequest) -> None:
        """Passes on an operator's request to this process."""
        if self.heard is not None:
            self.heard(wish)

    async def _leave(self) -> None:
        """Remove this process from `nodes`, so that it is not reported as missing."""
        try:
            async with self.store.begin() as tx:
                await SqlRetention(tx).leave(self.node_id)
        except Unavailable as error:
            log.warning("could not report its shutdown", action="goodbye_failed", node=self.node_id, error=str(error))

    def _own_clock(self) -> bool:
        """While a step of the database's clock is unconfirmed, our clock decides what is due."""
        return self.timekeeper.holds

    @property
    def _executes(self) -> bool:
        return self.broker is None

    def _firing(self) -> list[Actor]:
        """Actors that bring new work."""
        return [*([] if self.role is NodeRole.WORKER else self._clockwork()), *self._fetching()]

    def _clockwork(self) -> list[Actor]:
        """Actors that fire and maintain; one of each per installation is enough, and any number is harmless."""
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
                own_clock=self._own_clock,
            ),
            Janitor(
                clock=self.clock,
                store=self.store,
                feed=self.feed,
                alarm=self._alarm,
                period=pace.sweep * pace.scale,
                retention=pace.retention,
                lease=timedelta(seconds=pace.lease * pace.scale),
                steady_for=self.timekeeper.steady_for,
                upkeep=self.upkeep,
            ),
        ]

    def _fetching(self) -> list[Actor]:
        """Actors that bring runs to their executors."""
        pace = self.pace
        if self.broker is not None:
            self._publisher = Publisher(
                clock=self.clock,
                store=self.store,
                broker=self.broker,
                alarm=self._alarm,
                batch=pace.batch,
                longest_rest=pace.tick,
                scale=pace.scale,
                gather=pace.gather,
            )
            return [self._publisher]
        if self.intake is not None:
            self._receiver = Receiver(clock=self.clock, store=self.store, feed=self.feed, workers=self.workers)
            period = FOLLOW_PERIOD * pace.scale
            return [] if self.queues else [QueueFollower(store=self.store, intake=self.intake, period=period)]
        dispatcher = Dispatcher(
            clock=self.clock,
            store=self.store,
            workers=self.workers,
            alarm=self._alarm,
            batch=DISPATCH_BATCH,
            longest_rest=pace.tick,
            queues=self.queues,
            gather=pace.gather,
        )
        return [dispatcher]

    def _watching(self) -> list[ParkedRunWatcher]:
        """One watcher per action whose effects continue elsewhere, wherever runs are executed."""
        pace, actions = self.pace, [self.actions.get(kind) for kind in self.actions.kinds()]
        return [
            ParkedRunWatcher(
                clock=self.clock,
                store=self.store,
                feed=self.feed,
                alarm=self._alarm,
                meter=self.meter,
                action=action,
                worker=self.node_id,
                lease=timedelta(seconds=pace.lease * pace.scale),
                longest_rest=pace.tick,
                scale=pace.scale,
                queues=self.queues,
                secrets=self.secrets,
                monitor=None if self.intake is None else self.intake.monitor,
            )
            for action in actions
            if is_watched(action) and self._executes
        ]

    def _extend(self) -> list[EngineExtension]:
        context = EngineContext(
            node_id=self.node_id,
            role=self.role,
            executes=self._executes,
            clock=self.clock,
            store=self.store,
            feed=self.feed,
            meter=self.meter,
            pace=self.pace,
            slots=self.slots,
            queues=self.queues,
            monitor=None if self.intake is None else self.intake.monitor,
            steady_for=self.timekeeper.steady_for,
        )
        return [extend(context) for extend in self.extensions]

    def _guard(self) -> Watchdog:
        pace, publisher = self.pace, self._publisher
        return Watchdog(
            clock=self.clock,
            refusal=self.refusal,
            doubt=lambda: self.timekeeper.doubt,
            lookout=self._lookout,
            fires=self.role is not NodeRole.WORKER,
            failed=self._failure,
            free=self.workers.free if self._executes else None,
            held=lambda: holders(self.executor),
            slots=self.workers.slots,
            broker=lambda: None if publisher is None else publisher.trouble,
            takers=None if publisher is None else publisher.takers,
            patience=PATIENCE * pace.scale,
            period=LOOK * pace.scale,
        )

    def _failure(self) -> str | None:
        """The error of an actor that fires or takes runs, if there is one."""
        rounds = [self.loop.progress.get(name) for name in ("ticker", *TAKING, "publisher")]
        return next((one.error for one in rounds if one is not None and one.error), None)

    def _finishing(self) -> list[Actor]:
        """Actors that are needed until the last ending is written."""
        pace = self.pace
        herald = NodeReporter(
            clock=self.clock,
            store=self.store,
            node_id=self.node_id,
            role=self.role.value,
            started_at=self.clock.now(),
            report=self.report,
            period=HERALD_PERIOD * pace.scale,
            heard=self.hear,
        )
        if not self._executes:
            return [herald, self.timekeeper, self._lookout, self.watchdog]
        return [
            self._recorder,
            LeaseRenewer(
                clock=self.clock,
                store=self.store,
                executor=self.executor,
                heartbeat=pace.heartbeat * pace.scale,
                period=CANCEL_PERIOD * pace.scale,
            ),
            LogWriter(store=self.store, feed=self.feed, executor=self.executor),
            *(actor for each in self._extended for actor in each.finishers()),
            herald,
            self.timekeeper,
            self._lookout,
            self.watchdog,
        ]

    def extension(self, kind: type[X]) -> X | None:
        """The part of this type, if this engine has it."""
        return next((each for each in self._extended if isinstance(each, kind)), None)

    def _open_breakers(self) -> list[OpenBreakerReport]:
        now = self.clock.now()
        theirs = [breaker for each in self._extended for breaker in each.open_breakers(now)]
        return [*self.slots.open_breakers(now), *theirs]

    def report(self) -> Mapping[str, Any]:
        free = max(self.workers.free(), 0) if self._executes else 0
        return {
            **self.about,
            **self.told(),
            "loops": self.loop.report(),
            "standstills": [one.as_dict() for one in self.watchdog.standstills()],
            "in_flight": len(self.executor.flights),
            **{name: value for each in self._extended for name, value in each.report().items()},
            "slots": self.workers.slots if self._executes else 0,
            "free": free,
            "outside": self.slots.outside,
            BREAKERS: [one.as_dict() for one in self._open_breakers()],
            "queues": sorted(self.queues) if self.queues is not None else None,
            **(self._publisher.report() if self._publisher is not None else {}),
            **(self._receiver.report() if self._receiver is not None else {}),
            **(self.intake.report() if self.intake is not None else {}),
            **self.meter.as_dict(),
            "per_minute": self.meter.pulse.per_minute(self.clock.now()),
        }
