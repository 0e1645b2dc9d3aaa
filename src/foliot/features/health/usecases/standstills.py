"""What this process and the others know of what stands still, whether or not the store says anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foliot.core.errors import Unavailable
from foliot.db.database import Database
from foliot.engine.model.stall import Standstill, worst
from foliot.engine.sql.retention import SqlRetention


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownStandstills:
    """Its own is what it knows now; that of others is as old as their reports."""

    store: Database
    standstills: Callable[[], Sequence[Standstill]] = tuple
    node_id: Callable[[], str | None] = lambda: None
    """Under which name this process reports: its report says nothing that it does not know better itself."""

    probes: bool = False

    async def own(self) -> list[Standstill]:
        """A process that only answers tries whether the store would take a write; an engine writes all the time."""
        if self.probes and self.node_id() is None:
            try:
                async with self.store.begin() as tx:
                    await SqlRetention(tx).probe()
            except Unavailable:
                # Why stands in what the store remembers of its refusals.
                pass
        return list(self.standstills())

    def told(self, own: Sequence[Standstill], nodes: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Standstill]:
        """One for each reason, of this process and of those that reported lately."""
        others = [
            read
            for node_id, report in nodes
            if node_id != self.node_id() and isinstance(said := report.get("standstills"), list)
            for one in said
            if (read := Standstill.read(one, node_id)) is not None
        ]
        return worst([*own, *others])
