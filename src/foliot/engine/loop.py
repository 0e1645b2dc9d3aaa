"""Drives the actors: wake, run once, sleep, back off. No other module waits in a loop.

Periods of the actors, the length of leases, and helpers for how long an actor sleeps between two rounds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

import structlog

from foliot.core.document import rfc3339
from foliot.core.errors import Unavailable
from foliot.core.ports import Clock
from foliot.wakeups.feed import STOP_TOPIC, Feed, Waiter

FINEST = 0.001
"""Resolution of timers: anything nearer is now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePace:
    """Periods of the engine; `scale` below 1 makes recovery faster, for tests that cause faults."""

    tick: float = 1.0
    batch: int = 1000
    lease: float = 30.0
    heartbeat: float = 10.0
    sweep: float = 5.0
    scale: float = 1.0
    gather: float = 0.015
    """How long few runs wait for more, when they come in quick succession (group commit)."""
    retention: timedelta | None = timedelta(days=30)


def rest_until(moment: datetime | None, now: datetime, longest: float, shortest: float = FINEST) -> float:
    """Seconds until this moment; `longest` when there is none, and at most that."""
    return longest if moment is None else min(max((moment - now).total_seconds(), shortest), longest)


def backoff(failures: int, first: float, longest: float) -> float:
    """Seconds to sleep after so many failures in a row: exponential."""
    return min(first * 2.0 ** min(failures - 1, 10), longest)


@dataclass(slots=True)
class Spacing:
    """Keeps the rounds of an actor apart: one costs the database the same, however little it finds or writes."""

    gap: float = 0.0
    _last: float = float("-inf")

    def mark(self) -> None:
        """A round was made now."""
        self._last = asyncio.get_running_loop().time()

    def clear(self) -> None:
        """The next round may follow at once."""
        self._last = float("-inf")

    def early(self, gap: float | None = None) -> float:
        """Seconds until the next round is due; 0 when it is."""
        left = self._last + (self.gap if gap is None else gap) - asyncio.get_running_loop().time()
        return left if left > FINEST else 0.0


FIRST_BACKOFF = 0.05
LONGEST_BACKOFF = 1.0

log = structlog.get_logger("foliot.engine")


class RoundResult(Protocol):
    """What one round did, and how long the actor wants to sleep: 0 means there is more to do now."""

    @property
    def rest(self) -> float: ...


class Actor(Protocol):
    """A loop with one job, done once per round."""

    @property
    def name(self) -> str: ...
    @property
    def topics(self) -> Sequence[str]:
        """Topics that wake this actor early."""
        ...

    async def run_once(self) -> RoundResult: ...


@dataclass(slots=True)
class ActorStatus:
    """The progress of an actor, for reports."""

    rounds: int = 0
    last_at: datetime | None = None
    failures: int = 0
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        last_at = rfc3339(self.last_at)
        return {"rounds": self.rounds, "last_at": last_at, "failures": self.failures, "error": self.error}


@dataclass(slots=True)
class Loop:
    """Runs each actor in a task of its own; a failing one backs off and retries, without affecting the others."""

    clock: Clock
    feed: Feed
    progress: dict[str, ActorStatus] = field(default_factory=dict)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _stopping: set[str] = field(default_factory=set)

    def start(self, actors: Sequence[Actor]) -> None:
        for actor in actors:
            self.progress[actor.name] = ActorStatus()
            self._stopping.discard(actor.name)
            self._tasks[actor.name] = asyncio.create_task(self._drive(actor), name=f"foliot-{actor.name}")

    async def stop(self, names: Sequence[str] | None = None) -> None:
        """Let each finish its round, then stop it."""
        chosen = [name for name in (list(self._tasks) if names is None else names) if name in self._tasks]
        self._stopping.update(chosen)
        for name in chosen:
            self.feed.wake(_stop_topic(self, name))
        await asyncio.gather(*(self._tasks.pop(name) for name in chosen), return_exceptions=True)

    def report(self) -> Mapping[str, Any]:
        return {name: progress.as_dict() for name, progress in self.progress.items()}

    async def _drive(self, actor: Actor) -> None:
        progress = self.progress[actor.name]
        async with self.feed.listen(*actor.topics, _stop_topic(self, actor.name)) as waiter:
            while actor.name not in self._stopping:
                rest = await self._round(actor, progress)
                if progress.failures:
                    await self._back_off(actor.name, waiter, rest)
                elif rest > 0:
                    await waiter.wait(rest)
                else:
                    await asyncio.sleep(0)

    async def _back_off(self, name: str, waiter: Waiter, rest: float) -> None:
        """A failing actor is not woken early; only by the end."""
        loop = asyncio.get_running_loop()
        until = loop.time() + rest
        while name not in self._stopping and loop.time() < until:
            await waiter.wait(until - loop.time())

    async def _round(self, actor: Actor, progress: ActorStatus) -> float:
        """How long to sleep after it."""
        try:
            did = await actor.run_once()
        except Exception as error:  # noqa: BLE001 -- an actor that dies silently is the worst failure there is
            progress.failures += 1
            progress.error = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            rest = backoff(progress.failures, FIRST_BACKOFF, LONGEST_BACKOFF)
            _tell(actor.name, progress, error)
            return rest
        if progress.failures:
            log.info("works again", action="round_recovered", actor=actor.name, failures=progress.failures)
        progress.rounds += 1
        progress.last_at = self.clock.now()
        progress.failures, progress.error = 0, None
        return did.rest


def _tell(name: str, progress: ActorStatus, error: Exception) -> None:
    """Logs the 1st, 2nd, 4th, 8th… failure in a row; the traceback of a bug only at the first."""
    if progress.failures & (progress.failures - 1):
        return
    bug = error if progress.failures == 1 and not isinstance(error, Unavailable) else None
    log.warning(
        "a round failed and will be retried",
        action="round_failed",
        actor=name,
        error=progress.error,
        failures=progress.failures,
        exc_info=bug,
    )


def _stop_topic(loop: Loop, name: str) -> str:
    return f"{STOP_TOPIC}{id(loop)}:{name}"
