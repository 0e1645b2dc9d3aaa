"""Chooses the Scrapyd for the next crawl: the least loaded of those that answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from zlib import crc32

from foliot.core.egress import Egress
from foliot.core.ports import Clock
from foliot.features.crawls.action.scrapyd_client import NodeFailed, ScrapydClient, ScrapydLoad, ScrapydNode

PATIENCE = timedelta(seconds=5)
FRESH = 1.0
"""Seconds for which a node's load is cached; crawls started there meanwhile are added to it."""
AVOIDED = 30.0
"""Seconds for which a node that did not answer is not requested, unless no other answers."""


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """Load of a node, or why it is unknown."""

    url: str
    name: str
    load: ScrapydLoad | None = None
    error: str | None = None
    latency_ms: float | None = None

    def as_dict(self) -> dict[str, object]:
        return {
            "url": self.url,
            "name": self.name,
            "status": "ok" if self.error is None else "down",
            "pending": None if self.load is None else self.load.pending,
            "running": None if self.load is None else self.load.running,
            "latency_ms": self.latency_ms,
            "error": self.error,
        }


class ScrapydNodes:
    """All configured Scrapyd nodes, with their cached load; no state per crawl."""

    def __init__(self, nodes: Sequence[ScrapydNode], *, egress: Egress, clock: Clock) -> None:
        named = nodes if len(nodes) == 1 else [replace(node, name=f"Scrapyd {n}") for n, node in enumerate(nodes, 1)]
        self._all = {node.url: ScrapydClient(node, egress) for node in named}
        self._clock = clock
        self._weights: dict[str, int] = {}
        self._asked_at = float("-inf")
        self._answered = False
        self._avoided: dict[str, float] = {}
        self._asking = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._all)

    def at(self, url: str) -> ScrapydClient | None:
        """The client of a node; None when it is no longer configured."""
        return self._all.get(url)

    @property
    def everyone(self) -> Sequence[ScrapydClient]:
        return list(self._all.values())

    async def by_load(self, key: str) -> list[ScrapydClient]:
        """Nodes that answer, the least loaded first; ties are ordered by a hash with `key`. Empty when none answers."""
        async with self._asking:
            # No node answered: callers that waited for this result need not repeat the requests one after the other.
            gone = self._answered and not self._weights
            if gone or self._clock.monotonic() - self._asked_at > FRESH:
                await self._weigh()
        return [
            self._all[url] for url in sorted(self._weights, key=lambda url: (self._weights[url], _spread(key, url)))
        ]

    def sent(self, url: str) -> None:
        """Counts a crawl that was started there."""
        if url in self._weights:
            self._weights[url] += 1

    def answered(self, url: str) -> None:
        self._avoided.pop(url, None)

    def failed(self, url: str) -> None:
        """Avoids this node for a while."""
        self._avoided[url] = self._clock.monotonic() + AVOIDED
        self._weights.pop(url, None)

    async def seen(self, patience: timedelta = PATIENCE) -> list[NodeStatus]:
        """Status of each node, requested now."""
        return list(await asyncio.gather(*(self._look_at(url, patience) for url in self._all)))

    async def has(self, url: str, project: str) -> bool:
        """Whether the project is deployed there; false when the node does not answer."""
        try:
            return project in await self._all[url].projects()
        except NodeFailed:
            return False

    async def _weigh(self) -> None:
        now = self._clock.monotonic()
        trusted = [url for url in self._all if self._avoided.get(url, now) <= now]
        self._weights = await self._ask(trusted)
        if not self._weights:
            self._weights = await self._ask([url for url in self._all if url not in trusted])
        self._answered = bool(self._weights)
        self._asked_at = self._clock.monotonic()

    async def _ask(self, urls: Sequence[str]) -> dict[str, int]:
        found: Mapping[str, NodeStatus] = {seen.url: seen for seen in await asyncio.gather(*map(self._look_at, urls))}
        return {url: seen.load.pending + seen.load.running for url, seen in found.items() if seen.load is not None}

    async def _look_at(self, url: str, patience: timedelta = PATIENCE) -> NodeStatus:
        began, name = self._clock.monotonic(), self._all[url].node.name
        try:
            load = await self._all[url].within(patience).load()
        except NodeFailed as failure:
            self.failed(url)
            return NodeStatus(url, name, error=str(failure))
        self.answered(url)
        return NodeStatus(url, name, load, latency_ms=round((self._clock.monotonic() - began) * 1000, 3))


def _spread(key: str, url: str) -> int:
    return crc32(f"{key} {url}".encode())
