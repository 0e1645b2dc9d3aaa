"""Workers in this process: as many runs at once as there are slots, on one event loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foliot.engine.executor import Executor


@dataclass(frozen=True, slots=True)
class EmbeddedWorkers:
    """Slots around the executor."""

    executor: Executor
    slots: int

    def free(self) -> int:
        """An attempt that only waits for its ending to be written takes no slot, so claims and writes overlap."""
        waiting = len(self.executor.flights) - self.executor.performing
        return self.slots - self.executor.performing if waiting <= self.slots else 0

    async def submit(self, run_ids: Sequence[str]) -> int:
        return await self.executor.take(run_ids)
