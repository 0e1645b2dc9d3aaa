"""The watchdog of a process: the engine's, or without an engine one that watches the database and the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.engine.clock_sync import Timekeeper
from foliot.engine.engine import Engine
from foliot.engine.loop import Loop
from foliot.engine.model.stall import Standstill
from foliot.engine.watchdog import Watchdog


@dataclass(slots=True)
class ProcessWatchdog:
    """Clock sync and watchdog of a process; they are the engine's where one runs."""

    store: Database
    clock: StoreClock
    engine: Engine | None = None
    timekeeper: Timekeeper = field(init=False)
    watchdog: Watchdog = field(init=False)

    def __post_init__(self) -> None:
        self.timekeeper = Timekeeper(clock=self.clock, store=self.store)
        self.watchdog = Watchdog(
            clock=self.clock, refusal=self.store.refusal, doubt=lambda: self.timekeeper.doubt, name="guard"
        )

    @property
    def node_id(self) -> str | None:
        """The node id that the engine of this process reports under."""
        return None if self.engine is None else self.engine.node_id

    async def start(self, loop: Loop) -> None:
        """Synchronise the clock first, then keep it synchronised."""
        if self.engine is not None:
            await self.engine.start()
            return
        await self.timekeeper.run_once()
        loop.start([self.timekeeper, self.watchdog])

    def standstills(self) -> Sequence[Standstill]:
        return (self.watchdog if self.engine is None else self.engine.watchdog).standstills()
