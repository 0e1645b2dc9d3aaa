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
        return self.slots - len(self.executor.flights)

    async def submit(self, run_ids: Sequence[str]) -> int:
        return await self.executor.take(run_ids)
