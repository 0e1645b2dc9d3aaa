"""Who may go at once, and who is next."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Line:
    """Those who are in, and those who wait, by party."""

    inside: int = 0
    waiting: OrderedDict[str, deque[asyncio.Future[None]]] = field(default_factory=OrderedDict)


class Turns:
    """At most `most` at once behind each door. One door's queue holds up no other; at a door, parties take turns.

    A door is remembered only while somebody is at it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines: dict[str, _Line] = {}

    @asynccontextmanager
    async def turn(self, door: str, party: str) -> AsyncIterator[None]:
        await self.enter(door, party)
        try:
            yield
        finally:
            self.leave(door)

    async def enter(self, door: str, party: str) -> None:
        """Returns when it is the caller's turn, who then must `leave`."""
        line = self._lines.setdefault(door, _Line())
        if line.inside < self._most:
            line.inside += 1
            return
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.waiting.setdefault(party, deque()).append(called)
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():
                # Called and sent away in the same moment: the turn is somebody else's.
                self.leave(door)
            else:
                self._forget(line, party, called)
            raise

    def leave(self, door: str) -> None:
        """Calls the next in, the longest waiting of the party whose turn it is."""
        line = self._lines[door]
        while line.waiting:
            party, queue = line.waiting.popitem(last=False)
            called = queue.popleft()
            if queue:
                line.waiting[party] = queue
            if not called.done():
                called.set_result(None)
                return
        line.inside -= 1
        if not line.inside:
            del self._lines[door]

    @staticmethod
    def _forget(line: _Line, party: str, called: asyncio.Future[None]) -> None:
        queue = line.waiting.get(party)
        if queue is None or called not in queue:
            return
        queue.remove(called)
        if not queue:
            del line.waiting[party]
