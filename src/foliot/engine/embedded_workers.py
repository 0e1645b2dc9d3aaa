"""Executes runs in this process: as many at once as there are slots, on one event loop."""

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
    """After this many runs the process takes no more, and requests its restart."""
    spent: Callable[[], None] | None = None
    taken: int = 0

    def __post_init__(self) -> None:
        self.executor.slots.total = self.slots

    @property
    def passed_over(self) -> int:
        return self.executor.passed_over

    def free(self) -> int:
        """An attempt whose ending is being written takes no slot, so claims and writes overlap."""
        held = self.executor.slots
        waiting = len(self.executor.flights) - len(held.performing)
        free = held.free if waiting <= self.slots else 0
        self.executor.wanted = free <= 0
        return free if self.most is None else min(free, self.most - self.taken)

    async def submit(self, run_ids: Sequence[str]) -> int:
        taken = await self.executor.take(run_ids, self.free())
        self.taken += taken
        if self.most is not None and self.taken >= self.most and self.spent is not None:
            self.spent()
        return taken
