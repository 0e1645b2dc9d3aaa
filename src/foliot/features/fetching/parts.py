"""What every caller of one process fetches with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from foliot.features.fetching.actor import TurnAllocator
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.fetching.politeness import Politeness
from foliot.features.fetching.render.renderer import BrowserRenderer
from foliot.features.fetching.sql.host_list import SqlHosts


@dataclass(frozen=True, slots=True)
class FetchParts:
    """What every caller of one process shares."""

    pages: PageFetcher
    """One request at a time, for callers that claim their turns themselves."""
    fetcher: Fetcher
    turns: TurnAllocator
    manners: Politeness
    renderer: BrowserRenderer | None = None

    async def delay_of(self, hosts: Sequence[str]) -> timedelta:
        """The longest interval of these hosts now, for spiders that can get no turns."""
        async with self.turns.store.read() as tx:
            return await SqlHosts(tx).longest_interval(hosts, self.manners)
