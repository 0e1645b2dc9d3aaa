"""Limits concurrency per target, with fair queueing between tenants."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _HostQueue:
    """Current holders, and waiters by tenant."""

    inside: int = 0
    waiting: OrderedDict[str, deque[asyncio.Future[None]]] = field(default_factory=OrderedDict)


class FairSlots:
    """At most `most` concurrent holders per target. Targets do not affect each other; at a target, tenants take turns.

    A target is remembered only while it has holders or waiters.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines: dict[str, _HostQueue] = {}

    @asynccontextmanager
    async def turn(self, target: str, tenant: str) -> AsyncIterator[None]:
        await self.enter(target, tenant)
        try:
            yield
        finally:
            self.leave(target)

    async def enter(self, target: str, tenant: str) -> None:
        """Returns when the caller has a slot; it then must `leave`."""
        line = self._lines.setdefault(target, _HostQueue())
        if line.inside < self._most:
            line.inside += 1
            return
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.waiting.setdefault(tenant, deque()).append(called)
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():
                # Granted and cancelled at the same moment: the slot goes to the next waiter.
                self.leave(target)
            else:
                self._forget(line, tenant, called)
            raise

    def leave(self, target: str) -> None:
        """Grants the slot to the longest waiting caller of the tenant whose turn it is."""
        line = self._lines[target]
        while line.waiting:
            tenant, queue = line.waiting.popitem(last=False)
            called = queue.popleft()
            if queue:
                line.waiting[tenant] = queue
            if not called.done():
                called.set_result(None)
                return
        line.inside -= 1
        if not line.inside:
            del self._lines[target]

    @staticmethod
    def _forget(line: _HostQueue, tenant: str, called: asyncio.Future[None]) -> None:
        queue = line.waiting.get(tenant)
        if queue is None or called not in queue:
            return
        queue.remove(called)
        if not queue:
            del line.waiting[tenant]
