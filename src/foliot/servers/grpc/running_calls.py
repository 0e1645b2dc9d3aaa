"""What this door has begun. A caller who hangs up ends the wait for it, never the work itself.

The library cancels whatever a caller no longer waits for. In the middle of a transaction that would take the connection
down with it, and nobody could say whether the change they asked for was made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class RunningCalls:
    """Whatever is under way."""

    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    async def finish(self, begun: Coroutine[Any, Any, T]) -> T:
        """The result. Goes on to its end even when whoever waits for it does not."""
        task = asyncio.create_task(begun)
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def rest(self, seconds: float) -> None:
        """Wait for what is under way."""
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=seconds)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            # Where nobody waits any more, nobody hears it; asyncio would complain of that.
            task.exception()
