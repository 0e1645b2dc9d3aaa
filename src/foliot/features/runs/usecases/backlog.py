"""Throttles readers that catch up on a backlog: one batch at a time, and a pause after each for other requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

LONGEST_REST = 0.05


@dataclass(slots=True)
class ReadTurns:
    """A lock around batches: decompressing and encoding one blocks the event loop; many readers would saturate it."""

    longest_rest: float = LONGEST_REST
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def turn(self, *, needed: bool = True) -> AsyncIterator[None]:
        """Read and encode one batch inside. A reader that misses only the newest events does not need the lock."""
        if not needed:
            yield
            return
        loop = asyncio.get_running_loop()
        async with self._turn:
            began = loop.time()
            yield
            # As long as the batch took, so that catching up takes at most half of the loop's time.
            await asyncio.sleep(min(loop.time() - began, self.longest_rest))
