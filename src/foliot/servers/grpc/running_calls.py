"""Running calls of the gRPC server, shielded from cancellation: a client that disconnects does not abort the work.

grpc.aio cancels the handler of a call whose client is gone. In the middle of a transaction that would invalidate the
database connection, and leave unknown whether the change was committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class RunningCalls:
    """The handlers that are running."""

    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    async def finish(self, begun: Coroutine[Any, Any, T]) -> T:
        """Await the result; the handler runs to its end even when the awaiting task is cancelled."""
        task = asyncio.create_task(begun)
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def rest(self, seconds: float) -> None:
        """Wait for the running handlers, at most this long."""
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=seconds)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            # Retrieve the exception: asyncio warns of one that is never retrieved, as when the client is gone.
            task.exception()
