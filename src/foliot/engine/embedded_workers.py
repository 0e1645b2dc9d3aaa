"""Executes runs in this process: as many at once as there are slots, on one event loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foliot.engine.claimed_ahead import LOOK, MOST
from foliot.engine.executor import Executor


@dataclass(slots=True)
class EmbeddedWorkers:
    """Slots around the executor."""

    executor: Executor
    slots: int
    most: int | None = None
    """After this many runs the process takes no more, and requests its restart."""
    spent: Callable[[], None] | None = None
    taken: int = 0
    _looked: float = float("-inf")

    def __post_init__(self) -> None:
        self.executor.slots.total = self.slots

    @property
    def passed_over(self) -> int:
        return self.executor.passed_over

    def free(self) -> int:
        """An attempt whose ending is being written takes no slot, so claims and writes overlap."""
        executor = self.executor
        ending = len(executor.flights) - len(executor.slots.performing) - executor.ahead.count
        free = executor.slots.free if ending <= max(self.slots, MOST) else 0
        executor.wanted = free <= 0
        return free if self.most is None else min(free, self.most - self.taken)

    def room(self) -> int:
        """While many wait for slots, free ones are for other targets: a look now and then finds their runs."""
        busy = self.executor.ahead.count > MOST // 2 and time.monotonic() - self._looked < LOOK
        room = 0 if busy else self.free() + self._ahead()
        self.executor.wanted = room <= 0
        return room

    def _ahead(self) -> int:
        """In large rounds: the next is made when half of the last has started."""
        executor = self.executor
        room = MOST - executor.ahead.count
        most = min(room, executor.slots.quickest()) if 2 * room >= MOST else 0
        return most if self.most is None else max(min(most, self.most - self.taken - executor.slots.free), 0)

    async def submit(self, run_ids: Sequence[str]) -> int:
        free, ahead = self.free(), self._ahead()
        self._looked = time.monotonic()
        taken = await self.executor.take(run_ids, free, ahead)
        self.taken += taken
        if self.most is not None and self.taken >= self.most and self.spent is not None:
            self.spent()
        return taken
