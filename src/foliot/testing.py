"""Fakes and helpers that ship, for Foliot's own tests and for those of its users."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from foliot.auth.keyring import Keyring
from foliot.core.egress import Egress, EgressFailed, OutgoingRequest, OutgoingResponse
from foliot.core.ports import Clock
from foliot.core.redact import Redactor
from foliot.db.database import Database
from foliot.db.migrate import create, migrate
from foliot.db.sealer import Sealer
from foliot.engine.dispatcher import Dispatcher
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.executor import Executor
from foliot.engine.log_writer import LogWriter
from foliot.engine.loop import Loop
from foliot.engine.node_reporter import EngineCounters
from foliot.engine.parked_runs import ParkedRunWatcher
from foliot.engine.ports import Action, is_watched
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.recorder import Recorder
from foliot.engine.slots import Slots
from foliot.engine.ticker import Ticker
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.pipelines.chain.context import StepContext, StepCounts, Transform
from foliot.features.pipelines.chain.run import ChainRun
from foliot.features.pipelines.model import Item, OnError
from foliot.wakeups.feed import MemoryFeed

MEMORY = "sqlite+aiosqlite:///:memory:"
MASTER = "the master key of a test, and of nothing else"
"""Encrypts credentials in databases of tests."""


class StoppedClock:
    """A clock that moves only by `advance` and `set`."""

    def __init__(self, now: datetime = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)) -> None:
        self._now = now
        self._monotonic = 1000.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, delay: timedelta | float) -> datetime:
        """Move on, and return the new time."""
        delay = delay if isinstance(delay, timedelta) else timedelta(seconds=delay)
        self._now += delay
        self._monotonic += delay.total_seconds()
        return self._now

    def set(self, now: datetime) -> None:
        """Jump, as a system clock may; the monotonic clock does not."""
        self._now = now

    def adjust(self, moment: datetime, monotonic: float) -> None:
        """Does nothing: the database's clock does not move a stopped one."""

    def suspended(self) -> float:
        """A stopped clock never sleeps."""
        return 0.0


@asynccontextmanager
async def open_store(url: str = MEMORY) -> AsyncIterator[Database]:
    """A database with every table, whose clock is the caller's."""
    store = Database(url, bind_clock=True, sealer=Sealer(Keyring.of([MASTER])))
    if ":memory:" in url:
        async with store.engines.write.connect() as conn:
            await create(conn)
    else:
        await migrate(url)
    try:
        yield store
    finally:
        await store.close()


@dataclass(frozen=True, slots=True)
class GivenActions:
    """Exactly the actions a test gives, by kind."""

    actions: Mapping[str, Action]

    @classmethod
    def of(cls, *actions: Action) -> GivenActions:
        return cls({action.kind: action for action in actions})

    def get(self, kind: str) -> Action | None:
        return self.actions.get(kind)

    def kinds(self) -> Sequence[str]:
        return sorted(self.actions)


async def _look(watchers: Sequence[ParkedRunWatcher]) -> int:
    return sum([(await watcher.run_once()).looked for watcher in watchers])


@dataclass(frozen=True, slots=True)
class Drained:
    """What a drain did: the runs it made from instants, and the attempts that ended, by the state of their run then."""

    fired: int
    ended: Mapping[str, int]


async def drain(
    store: Database, clock: Clock, *actions: Action, patience: float = 10.0, secrets: Redactor | None = None
) -> Drained:
    """Settle every instant that has come and perform every run that is ready, until there is nothing left to do now.

    The real engine does the work, so what is tested is what runs in production. The clock stands still meanwhile: a run
    that waits for its next attempt stays `retrying` until the test moves the clock and drains again, and one whose
    effect continues elsewhere is checked when the clock has reached its next check. Attempts that have not ended after
    `patience` seconds are handed back, and `TimeoutError` is raised. `secrets` are redacted in what is written.
    """
    feed, alarm, meter = MemoryFeed(), ReadyTimes(), EngineCounters()
    recorder = Recorder(clock=clock, store=store, feed=feed, alarm=alarm, longest_rest=1.0)
    executor = Executor(
        clock=clock,
        store=store,
        feed=feed,
        actions=GivenActions.of(*actions),
        recorder=recorder,
        meter=meter,
        worker="drain",
        lease=timedelta(hours=1),
        # The clock stands still: a postponed run would never become ready.
        slots=Slots(share=1.0, most=10_000, failures=0),
        secrets=secrets or Redactor(),
    )
    ticker = Ticker(clock=clock, store=store, feed=feed, meter=meter, alarm=alarm, batch=1000, longest_rest=1.0)
    dispatcher = Dispatcher(
        clock=clock,
        store=store,
        workers=EmbeddedWorkers(executor, slots=100),
        alarm=alarm,
        batch=100,
        longest_rest=1.0,
    )
    watchers = [
        ParkedRunWatcher(
            clock=clock,
            store=store,
            feed=feed,
            alarm=alarm,
            meter=meter,
            action=action,
            worker="drain",
            lease=timedelta(hours=1),
            longest_rest=1.0,
            secrets=secrets or Redactor(),
        )
        for action in actions
        if is_watched(action)
    ]
    loop = Loop(clock, feed)
    # An action that logs much waits for the log writer (back-pressure).
    loop.start([recorder, LogWriter(store=store, feed=feed, executor=executor)])
    try:
        while (await ticker.run_once()).settled or (await dispatcher.run_once()).offered or await _look(watchers):
            tasks = [flight.task for flight in executor.flights.values() if flight.task is not None]
            if tasks and (await asyncio.wait(tasks, timeout=patience))[1]:
                raise TimeoutError(f"still running after {patience:g} s: {', '.join(sorted(executor.flights))}")
    finally:
        await executor.drain(0)
        await loop.stop()
    return Drained(meter.fired, dict(meter.finished))


@dataclass(frozen=True, slots=True)
class GivenPages:
    """A fake egress that answers with the pages of a test, and sends nothing.

    By URL: the body (bytes or text), or a status with a body, or an `OutgoingResponse`. Every request is in `asked`;
    any other URL fails as unreachable.
    """

    pages: Mapping[str, Any]
    asked: list[OutgoingRequest] = field(default_factory=list)

    def check(self, url: str) -> None:
        """Allows every target."""

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        self.asked.append(request)
        given = self.pages.get(request.url)
        if given is None:
            raise EgressFailed("connection_failed", f"the test gives no page {request.url}")
        if isinstance(given, OutgoingResponse):
            return given
        status, body = given if isinstance(given, tuple) else (200, given)
        raw = body.encode() if isinstance(body, str) else body
        kind = {"Content-Type": "text/html; charset=utf-8"}
        return OutgoingResponse(
            status=status,
            headers=kind,
            body=raw[: request.keep],
            truncated=len(raw) > request.keep,
            elapsed=timedelta(milliseconds=1),
        )


@dataclass(frozen=True, slots=True)
class GivenSecrets:
    """Secrets that a test gives."""

    values: Mapping[str, str]

    async def named(self, tenant_id: str, names: Collection[str], url: str | None = None) -> Mapping[str, str]:
        return {name: self.values[name] for name in names if name in self.values}


async def _in_thread(function: Callable[..., Any], body: bytes, parameters: Mapping[str, Any], tenant_id: str) -> Any:  # noqa: ARG001 -- as the port has it
    """As a step's `ctx.apart`, in a thread: quick, and a test may step into it."""
    return await asyncio.to_thread(function, body=body, **parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed:
    """The result of a chain."""

    items: Sequence[Item]
    failed: int
    steps: Sequence[Mapping[str, Any]]
    """Each with `name`, `state`, `in`, `out`, `failed` and `seconds`."""
    log: Sequence[str]


async def stream(
    *steps: Transform,
    items: Iterable[Item] = (),
    on_error: OnError = "fail",
    egress: Egress | None = None,
    secrets: Mapping[str, str] | None = None,
    out: Path | None = None,
) -> Streamed:
    """Let items through transforms, as a pipeline does; for tests of one's own.

    `ChainFailed` when a step raised, or an item failed and `on_error` is "fail". Steps reach what the test gives them:
    pages by `egress=GivenPages({…})`, secrets, and files below `out`, without which none are written.
    """
    said: list[str] = []
    kept: list[Item] = []
    given = [_GivenItems(given=list(items)), *steps]
    chosen = contexts(given, on_error=on_error, egress=egress, secrets=secrets, out=out, said=said)
    chain = ChainRun(steps=chosen, tell=lambda _: None, keep=kept.append)
    await chain.run()
    tallies = chain.tallies[1:]
    return Streamed(
        items=kept,
        failed=sum(tally.failed for tally in tallies),
        steps=[tally.as_dict() for tally in tallies],
        log=said,
    )


def contexts(
    steps: Iterable[Transform],
    *,
    on_error: OnError = "fail",
    egress: Egress | None = None,
    secrets: Mapping[str, str] | None = None,
    out: Path | None = None,
    said: list[str] | None = None,
) -> list[tuple[Transform, StepContext]]:
    """The steps of a chain, each with its context; their log lines are appended to `said`."""
    from foliot.features.pipelines.wiring import step_resources

    def say(message: str, *, level: str = "info", **_: Any) -> None:
        if said is not None:
            said.append(message if level == "info" else f"{level}: {message}")

    wallet = GivenSecrets(secrets or {})
    way_out = egress or GivenPages({})
    # Without a database there are no turns of hosts to wait for.
    fetcher = Fetcher(pages=PageFetcher(egress=way_out), clock=StoppedClock())
    reached = step_resources(egress=way_out, fetcher=fetcher, wallet=wallet, apart=_in_thread, out=out, more=())
    return [
        (
            step,
            StepContext(
                pipeline="test",
                step=type(step).__name__,
                run_id="run_test",
                tenant_id="default",
                attempt=1,
                now=datetime(2027, 1, 4, 12, 0, tzinfo=UTC),
                on_error=on_error,
                outside=reached,
                tally=StepCounts(type(step).__name__),
                say=say,
                hide=lambda *_: None,
            ),
        )
        for step in steps
    ]


class _GivenItems(Transform):
    """The items of a test."""

    given: list[dict[str, Any]]

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        for item in self.given:
            yield item
