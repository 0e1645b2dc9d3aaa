"""Where a task runs: async functions on the loop, plain ones in a thread, heavy ones in a process."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from foliot.ports import Context
from foliot.ports.tasks import Attempt, Call, Pool, Told
from foliot.tasks.calling import call, call_async
from foliot.tasks.context import TaskContext
from foliot.tasks.task import Task

GRACE = 2.0
"""Seconds for which a thread that was asked to stop is waited for; nobody can end it."""

WAITING = 10_000
"""Lines of a thread that may wait for the loop; what comes faster is counted, not kept."""

STUBBORN = "It does not stop, and its thread is left to itself: a loop should look at ctx.cancelled."


@dataclass(slots=True)
class ToRun:
    """Tells the run what its function says, from whichever thread. Made on the loop."""

    ctx: Context
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    home: int = field(default_factory=threading.get_ident)
    most: int = WAITING
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _waiting: list[Callable[[], None]] = field(init=False, default_factory=list)
    _over: int = field(init=False, default=0)

    def log(self, message: str, level: str) -> None:
        self._say(lambda: self.ctx.log(message, level=level))

    def progress(self, data: Mapping[str, Any]) -> None:
        self._say(lambda: self.ctx.progress(**data))

    def _say(self, say: Callable[[], None]) -> None:
        if threading.get_ident() == self.home:
            say()
        elif not self.loop.is_closed():
            with self._lock:
                if len(self._waiting) >= self.most:
                    self._over += 1
                    return
                self._waiting.append(say)
                first = len(self._waiting) == 1
            if first:
                # One after the other in the order said, and all before the function's end is heard.
                self.loop.call_soon_threadsafe(self._pass_on)

    def _pass_on(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
            over, self._over = self._over, 0
        for say in waiting:
            say()
        if over:
            self.ctx.log(f"{over} more lines came too fast and were not kept", level="warning")


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """One attempt of a task, ready to run."""

    task: Task
    given: Mapping[str, Any]
    attempt: Attempt
    ctx: Context
    patience: timedelta

    async def on_loop(self) -> Told:
        """An async function shares the loop with everything else, and is cancelled like everything else."""
        made = TaskContext.of(self.task.name, self.attempt, ToRun(self.ctx))
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                return await call_async(self.task, self.given, made)
        finally:
            made.stop.set()

    async def in_thread(self) -> Told:
        """A plain function gets a thread of its own: one that hangs takes nobody else's, and holds up no exit."""
        tell = ToRun(self.ctx)
        made = TaskContext.of(self.task.name, self.attempt, tell)
        ended: asyncio.Future[Told] = tell.loop.create_future()

        def work() -> None:
            told = call(self.task, self.given, made)
            if not tell.loop.is_closed():
                tell.loop.call_soon_threadsafe(_settle, ended, told)

        copied = contextvars.copy_context()
        threading.Thread(target=copied.run, args=(work,), name=f"foliot-task-{self.task.name}", daemon=True).start()
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                return await asyncio.shield(ended)
        except (TimeoutError, asyncio.CancelledError):
            made.stop.set()
            await asyncio.wait([ended], timeout=GRACE)
            if not ended.done():
                self.ctx.log(STUBBORN, level="warning")
            raise

    async def in_process(self, pool: Pool) -> Told:
        """A heavy function gets a process, which can be killed."""
        asked = Call(
            module=self.task.module,
            function=self.task.function.__qualname__,
            task=self.task.name,
            parameters=self.given,
            attempt=self.attempt,
        )
        return await pool.call(asked, ToRun(self.ctx), self.patience)


def _settle(ended: asyncio.Future[Told], told: Told) -> None:
    if not ended.done():
        ended.set_result(told)
