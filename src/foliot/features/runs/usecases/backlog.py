"""Turns for those who read a backlog: one batch at a time, and a rest after each, in which others are answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

LONGEST_REST = 0.05


@dataclass(slots=True)
class ReadTurns:
    """Unpacking and rendering a batch keeps the loop busy: forty readers who are behind would have it to themselves."""

    longest_rest: float = LONGEST_REST
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def turn(self, *, needed: bool = True) -> AsyncIterator[None]:
        """Read and render one batch inside. Not `needed` by a reader who has seen everything but the newest."""
        if not needed:
            yield
            return
        loop = asyncio.get_running_loop()
        async with self._turn:
            began = loop.time()
            yield
            # As long as the batch took, so that at most half of the time goes to those who are behind.
            await asyncio.sleep(min(loop.time() - began, self.longest_rest))
