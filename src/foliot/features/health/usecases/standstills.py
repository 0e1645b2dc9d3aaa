"""Standstills known to this process and reported by others, also while the store is unavailable."""

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
    """Its own are current; those of others are as old as their reports."""

    store: Database
    standstills: Callable[[], Sequence[Standstill]] = tuple
    node_id: Callable[[], str | None] = lambda: None
    """The name under which this process reports: its own report is ignored, for it is older than `own`."""

    probes: bool = False

    async def own(self) -> list[Standstill]:
        """A process with only an API tries a write to the store; an engine writes all the time."""
        if self.probes and self.node_id() is None:
            try:
                async with self.store.begin() as tx:
                    await SqlRetention(tx).probe()
            except Unavailable:
                # The reason is in the store's record of refused writes.
                pass
        return list(self.standstills())

    def told(self, own: Sequence[Standstill], nodes: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Standstill]:
        """One for each reason, of this process and of those that reported lately."""
        others = [
            read
            for node_id, report in nodes
            if node_id != self.node_id() and isinstance(reported := report.get("standstills"), list)
            for one in reported
            if (read := Standstill.read(one, node_id)) is not None
        ]
        return worst([*own, *others])
