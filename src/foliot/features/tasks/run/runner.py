"""Runs a task's function: async ones on the loop, synchronous ones in a thread, CPU-bound ones in a process."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from foliot.cluster.page_reader import AttemptInfo, CallResult, Pool, PoolCall
from foliot.engine.ports import ActionContext
from foliot.features.tasks.model.context import TaskContext
from foliot.features.tasks.model.task import Task
from foliot.features.tasks.run.call import call, call_async

GRACE = 2.0
"""Seconds to wait for a thread that was asked to stop; a thread cannot be killed."""

WAITING = 100
"""Log lines of a thread that may be queued for the loop; a thread that logs more blocks until they are written."""

LOOK = 1.0
"""Seconds after which a blocked thread checks whether the attempt still takes lines."""

STUBBORN = "It does not stop, and its thread is left to itself: a loop should look at ctx.cancelled."


@dataclass(slots=True)
class RunProgress:
    """Passes log lines and progress of a function to its run, from any thread. Created on the loop."""

    ctx: ActionContext
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    home: int = field(default_factory=threading.get_ident)
    most: int = WAITING
    _space: threading.Condition = field(init=False, default_factory=threading.Condition)
    _waiting: list[Callable[[], None]] = field(init=False, default_factory=list)
    _closed: bool = field(init=False, default=False)
    _passing: set[asyncio.Task[None]] = field(init=False, default_factory=set)

    def log(self, message: str, level: str) -> None:
        self._say(lambda: self.ctx.log(message, level=level))

    def progress(self, data: Mapping[str, Any]) -> None:
        self._say(lambda: self.ctx.progress(**data))

    async def room(self) -> None:
        """Back-pressure for a function in another process: its pipe is not read faster than its lines are written."""
        if not self._closed:
            await self.ctx.room()

    def _say(self, say: Callable[[], None]) -> None:
        if threading.get_ident() == self.home:
            say()
            return
        with self._space:
            while len(self._waiting) >= self.most and not self._over:
                # The function waits as long as its lines do: it is the one that floods.
                self._space.wait(LOOK)
            if self._over:
                return
            self._waiting.append(say)
            if len(self._waiting) == 1:
                # One batch after the other, so that the lines keep their order.
                self.loop.call_soon_threadsafe(self._begin)

    @property
    def _over(self) -> bool:
        """Whether the attempt no longer takes lines."""
        return self._closed or self.loop.is_closed()

    def _begin(self) -> None:
        passing = asyncio.ensure_future(self._pass_on())
        self._passing.add(passing)
        passing.add_done_callback(self._passing.discard)

    async def _pass_on(self) -> None:
        await self.room()
        self.flush()

    def flush(self) -> None:
        """Pass on the queued lines now."""
        with self._space:
            waiting, self._waiting = self._waiting, []
            self._space.notify_all()
        for say in waiting:
            say()

    def close(self) -> None:
        """Pass on the queued lines; later ones are dropped, and blocked threads are released."""
        self.flush()
        with self._space:
            self._closed = True
            self._space.notify_all()
        for passing in list(self._passing):
            passing.cancel()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun:
    """One attempt of a task, ready to run."""

    task: Task
    given: Mapping[str, Any]
    attempt: AttemptInfo
    ctx: ActionContext
    patience: timedelta

    async def on_loop(self) -> CallResult:
        """Awaits an async function on the process's event loop; a timeout cancels it."""
        tell = RunProgress(self.ctx)
        context = TaskContext.of(self.task.name, self.attempt, tell)
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                return await call_async(self.task, self.given, context)
        finally:
            context.stop.set()
            tell.close()

    async def in_thread(self) -> CallResult:
        """Runs a synchronous function in a daemon thread of its own: one that hangs blocks no pool and no exit."""
        tell = RunProgress(self.ctx)
        context = TaskContext.of(self.task.name, self.attempt, tell)
        ended: asyncio.Future[CallResult] = tell.loop.create_future()

        def work() -> None:
            result = call(self.task, self.given, context)
            if not tell.loop.is_closed():
                tell.loop.call_soon_threadsafe(_settle, ended, result)

        copied = contextvars.copy_context()
        threading.Thread(target=copied.run, args=(work,), name=f"foliot-task-{self.task.name}", daemon=True).start()
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                return await asyncio.shield(ended)
        except (TimeoutError, asyncio.CancelledError):
            context.stop.set()
            await asyncio.wait([ended], timeout=GRACE)
            if not ended.done():
                tell.flush()
                self.ctx.log(STUBBORN, level="warning")
            raise
        finally:
            tell.close()

    async def in_process(self, pool: Pool) -> CallResult:
        """Runs a CPU-bound function in a child process, which can be killed."""
        request = PoolCall(
            module=self.task.module,
            function=self.task.function.__qualname__,
            task=self.task.name,
            parameters=self.given,
            attempt=self.attempt,
        )
        tell = RunProgress(self.ctx)
        try:
            return await pool.call(request, tell, self.patience, tell.room)
        finally:
            tell.close()


def _settle(ended: asyncio.Future[CallResult], result: CallResult) -> None:
    if not ended.done():
        ended.set_result(result)
