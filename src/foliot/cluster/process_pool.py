"""A pool of processes for CPU-bound work: started on demand, recycled, killed when they must stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

import structlog

from foliot.cluster import page_reader, process_tree
from foliot.cluster.frames import BODY, LARGEST, BrokenFrame, pack, receive
from foliot.cluster.machine import ChildLimits, ReaderCapacity, environment, hide_from_children
from foliot.cluster.page_reader import CallResult, PoolCall, ProcessDied, ProgressSink
from foliot.core.ports import BackPressure, no_back_pressure

START = timedelta(seconds=60)
"""Timeout for a process to start and import what it needs; it does not count against the call."""
GRACE = 2.0
"""Seconds that a function has to end once it was asked to stop."""

TREE_GRACE = 5.0
"""Seconds that a supervisor has to kill what its program has started."""

BREATH = 20
"""Messages after which other tasks get the loop."""

log = structlog.get_logger("foliot.cluster")


_SUPERVISOR = (sys.executable, "-I", "-S", process_tree.__file__)


@dataclass(slots=True, eq=False)
class Child:
    """One process, and how often it was used."""

    process: Process
    calls: int = 0
    worn: int = 0
    """The summed weight of its calls."""
    spoiled: bool = False
    """It was asked to stop, and has not answered yet."""
    supervised: bool = False
    """It has a supervisor (`process_tree`), which kills what it has started."""

    @classmethod
    async def start(cls, bounds: ChildLimits, told: Mapping[str, str]) -> Child:
        arguments = [sys.executable, "-P", "-m", "foliot.features.tasks.run.child"]
        if bounds.tree is not None:
            arguments = [*_SUPERVISOR, str(os.getpid()), str(bounds.tree), *arguments]
        hide_from_children()
        # A group of its own: a signal from the terminal is for the parent, which ends its children itself.
        process = await asyncio.create_subprocess_exec(
            *arguments, stdin=PIPE, stdout=PIPE, limit=LARGEST, start_new_session=True, env=told
        )
        child = cls(process, supervised=bounds.tree is not None)
        await child.send({"path": sys.path, "bounds": bounds.as_dict()})
        return child

    async def send(self, message: dict[str, Any], body: bytes = b"") -> None:
        assert self.process.stdin is not None  # noqa: S101 -- asked for above
        self.process.stdin.write(pack(message, body))
        await self.process.stdin.drain()

    async def receive(self) -> dict[str, Any] | None:
        assert self.process.stdout is not None  # noqa: S101 -- asked for above
        return await receive(self.process.stdout)

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    async def kill(self) -> None:
        """Kill it, and with a supervisor what it has started; returns when it is gone."""
        if self.alive and self.supervised:
            with contextlib.suppress(ProcessLookupError):
                self.process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TREE_GRACE):
                    await self.process.wait()
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        if self.process.stdin is not None:
            self.process.stdin.close()
        await self.process.wait()


@dataclass(slots=True, kw_only=True)
class ProcessPool:
    """At most `size` processes, each replaced after `most` calls. None runs before the first call."""

    size: int
    most: int = 50
    grace: float = GRACE
    bounds: ChildLimits = field(default_factory=ChildLimits)
    environment: Mapping[str, str] = field(default_factory=environment)
    """The environment of a process: it holds no secret of this one."""
    warm_up: PoolCall | None = None
    """The first call of each process, so that no other pays for its imports."""
    _slots: asyncio.Semaphore = field(init=False)
    _idle: list[Child] = field(init=False, default_factory=list)
    _all: set[Child] = field(init=False, default_factory=set)
    _closed: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.size)

    @property
    def processes(self) -> int:
        return len(self._all)

    async def call(
        self, call: PoolCall, tell: ProgressSink, patience: timedelta, room: BackPressure = no_back_pressure
    ) -> CallResult:
        """Run it in a process; the wait for one counts against its timeout."""
        async with asyncio.timeout(patience.total_seconds()) as limit, self._child(limit) as child:
            child.worn += call.weight
            return await self._converse(child, call, tell, patience, room)

    async def _converse(
        self, child: Child, call: PoolCall, tell: ProgressSink, patience: timedelta, room: BackPressure
    ) -> CallResult:
        child.calls += 1
        # Never cancelled itself, so that no message is read halfway.
        hearing = asyncio.create_task(_hear(child, tell, child.calls, room))
        request = {"call": _asked(call), "number": child.calls, "seconds": patience.total_seconds()}
        try:
            await child.send(request, call.body)
            return await asyncio.shield(hearing)
        except asyncio.CancelledError:
            await asyncio.shield(self._stop(child, hearing))
            raise
        except (ConnectionError, BrokenFrame) as error:
            await self._stop(child, hearing)
            raise ProcessDied(_death(child, str(error))) from None

    async def _stop(self, child: Child, hearing: asyncio.Task[CallResult]) -> None:
        """Ask it to stop, wait a moment, and kill it: nothing may continue after the run has ended."""
        child.spoiled = True
        with contextlib.suppress(TimeoutError):
            # A process that no longer reads does not receive the request either.
            async with asyncio.timeout(self.grace):
                with contextlib.suppress(ConnectionError):
                    await child.send({"stop": True})
                await asyncio.wait([hearing])
        child.spoiled = not hearing.done() or hearing.exception() is not None
        if child.spoiled:
            await child.kill()
            await asyncio.wait([hearing])
            hearing.exception()

    @asynccontextmanager
    async def _child(self, limit: asyncio.Timeout) -> AsyncIterator[Child]:
        async with self._slots:
            if self._closed:
                raise ProcessDied("the pool of processes is closed: this process is shutting down")
            child = await self._take(limit)
            try:
                yield child
            finally:
                await self._give_back(child)

    async def _take(self, limit: asyncio.Timeout) -> Child:
        while self._idle:
            child = self._idle.pop()
            if child.alive:
                return child
            self._all.discard(child)
        child = await Child.start(self.bounds, self.environment)
        self._all.add(child)
        if self.warm_up is not None:
            await self._warmed(child, self.warm_up, limit)
        return child

    async def _warmed(self, child: Child, call: PoolCall, limit: asyncio.Timeout) -> None:
        """Let it import what it needs; the caller keeps its whole timeout for afterwards."""
        at, begun = limit.when(), asyncio.get_running_loop().time()
        limit.reschedule(begun + START.total_seconds())
        try:
            await self._converse(child, call, NullProgress(), START, no_back_pressure)
        except BaseException:
            self._all.discard(child)
            await asyncio.shield(child.kill())
            raise
        if at is not None:
            limit.reschedule(at + asyncio.get_running_loop().time() - begun)

    async def _give_back(self, child: Child) -> None:
        if child.alive and not child.spoiled and child.worn < self.most and not self._closed:
            self._idle.append(child)
            return
        self._all.discard(child)
        await child.kill()

    async def close(self) -> None:
        """Kill all processes; calls in progress are cancelled by their callers."""
        self._closed = True
        for child in list(self._all):
            await child.kill()
        self._all.clear()
        self._idle.clear()


class NullProgress:
    """Discards log lines and progress."""

    def log(self, message: str, level: str) -> None: ...

    def progress(self, data: Mapping[str, Any]) -> None: ...


def _asked(call: PoolCall) -> dict[str, Any]:
    """A call as JSON, without the fields that an internal function does not need."""
    request = {"module": call.module, "function": call.function, "task": call.task, "parameters": call.parameters}
    return request | {"attempt": asdict(call.attempt)} if call.task else request


async def _hear(child: Child, tell: ProgressSink, number: int, room: BackPressure) -> CallResult:
    """The messages until the function has ended; those of a thread that an earlier call left behind are skipped."""
    heard = 0
    while (message := await child.receive()) is not None:
        heard += 1
        if heard % BREATH == 0:
            # Messages that have arrived already are read without waiting.
            await asyncio.sleep(0)
        if message.get("number") != number:
            continue
        if "log" in message:
            tell.log(str(message["log"]), str(message.get("level", "info")))
            await room()
        elif "progress" in message:
            tell.progress(message["progress"])
            await room()
        else:
            return CallResult(**message["ended"], body=message.get(BODY, b""))
    await child.process.wait()
    raise ProcessDied(_death(child))


_WHY: Mapping[int, str] = {
    signal.SIGKILL: "; the operating system does that when memory runs out",
    signal.SIGXCPU: ": it ran for longer than its time limit",
}


def _death(child: Child, why: str = "") -> str:
    code = child.process.returncode
    said = "the process that ran the task"
    if code == process_tree.TOO_MUCH_MEMORY:
        return f"{said} and its child processes used more memory than allowed"
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        hint = _WHY.get(-code, "")
        return f"{said} was ended by signal {-code} ({name}){hint}"
    if why:
        return f"{said} could not be understood: {why}"
    return f"{said} exited with code {code} before the task had finished"


READS_EACH = 2000
"""Pages after which a reader is replaced."""
READER_GRACE = 0.1
"""Timeout in seconds; a page that takes longer will not be read by waiting."""
FILES = 64
SAMPLE = b"<html><body><article><p>It was a bright cold day in April, and the clocks were striking.</p></article>"
"""The first page of a new reader, so that its imports are done."""


def reader_pool(room: ReaderCapacity) -> ProcessPool:
    """Nothing is started before the first page."""
    about = {"content_type": "text/html", "url": "http://localhost/"}
    return ProcessPool(
        size=room.many,
        most=READS_EACH,
        grace=READER_GRACE,
        bounds=ChildLimits(memory=room.memory, files=FILES, processes=0, sealed=True),
        warm_up=page_reader.asked("foliot.pages.article", "extract", about, SAMPLE),
    )
