"""Deadlines of many short operations, with one timer for all that may take equally long: nearly all end in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Deadline:
    """One operation that may take so long."""

    seconds: float
    at: float
    """When it is over, by the loop's clock."""
    expire: Callable[[], None]


@dataclass(slots=True)
class DeadlineQueue:
    """The deadlines of one duration: they expire in the order in which they began."""

    waiting: dict[Deadline, None] = field(default_factory=dict)
    timer: asyncio.TimerHandle | None = None


@dataclass(slots=True)
class Deadlines:
    """Calls `expire` of every operation that has not ended in time. `asyncio.timeout` costs a timer for each."""

    _queues: dict[float, DeadlineQueue] = field(default_factory=dict)

    def begin(self, seconds: float, expire: Callable[[], None]) -> Deadline:
        """The operation begins; it must `end`, whatever becomes of it."""
        loop = asyncio.get_running_loop()
        deadline = Deadline(seconds, loop.time() + seconds, expire)
        queue = self._queues.get(seconds)
        if queue is None:
            queue = self._queues[seconds] = DeadlineQueue()
            queue.timer = loop.call_at(deadline.at, self._expire, seconds, queue)
        queue.waiting[deadline] = None
        return deadline

    def end(self, deadline: Deadline) -> None:
        """It has ended, or its deadline has been called."""
        queue = self._queues.get(deadline.seconds)
        if queue is None or deadline not in queue.waiting:
            return
        del queue.waiting[deadline]
        if not queue.waiting:
            self._drop(deadline.seconds, queue)

    def _expire(self, seconds: float, queue: DeadlineQueue) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        while queue.waiting:
            deadline = next(iter(queue.waiting))
            if deadline.at > now:
                queue.timer = loop.call_at(deadline.at, self._expire, seconds, queue)
                return
            del queue.waiting[deadline]
            deadline.expire()
        self._drop(seconds, queue)

    def _drop(self, seconds: float, queue: DeadlineQueue) -> None:
        if self._queues.get(seconds) is queue:
            del self._queues[seconds]
        if queue.timer is not None:
            queue.timer.cancel()


class TaskDeadline:
    """Cancels the current task when the time is over, as `asyncio.timeout` does, and raises `TimeoutError` instead."""

    __slots__ = ("_before", "_deadline", "_deadlines", "_expired", "_seconds", "_task")

    def __init__(self, deadlines: Deadlines, seconds: float) -> None:
        self._deadlines, self._seconds = deadlines, seconds
        self._expired = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline needs a task")
        self._task, self._before = task, task.cancelling()
        self._deadline = self._deadlines.begin(self._seconds, self._expire)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._deadlines.end(self._deadline)
        # A cancellation that came from elsewhere as well is theirs.
        if self._expired and self._task.uncancel() <= self._before and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _expire(self) -> None:
        self._expired = True
        self._task.cancel()
