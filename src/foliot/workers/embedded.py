"""Workers in this process: as many runs at once as there are slots, on one event loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foliot.engine.executor import Executor


@dataclass(slots=True)
class EmbeddedWorkers:
    """Slots around the executor."""

    executor: Executor
    slots: int
    most: int | None = None
    """After so many runs this process takes no more, and says that it is spent."""
    spent: Callable[[], None] | None = None
    taken: int = 0

    def free(self) -> int:
        """An attempt that only waits for its ending to be written takes no slot, so claims and writes overlap."""
        waiting = len(self.executor.flights) - self.executor.performing
        free = self.slots - self.executor.performing if waiting <= self.slots else 0
        self.executor.wanted = free <= 0
        return free if self.most is None else min(free, self.most - self.taken)

    async def submit(self, run_ids: Sequence[str]) -> int:
        taken = await self.executor.take(run_ids)
        self.taken += taken
        if self.most is not None and self.taken >= self.most and self.spent is not None:
            self.spent()
        return taken
