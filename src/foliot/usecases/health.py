"""How Foliot is, in one word and in detail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from foliot.domain.access import Caller, Thing, Verb, demand
from foliot.domain.errors import Unavailable
from foliot.domain.histogram import DURATION_BUCKETS, LATENESS_BUCKETS, Histogram
from foliot.ports import Clock, Store

SEEN = timedelta(seconds=30)
"""A node that has not reported for this long is gone."""
SCHEDULERS = frozenset({"up", "scheduler"})
WORKERS = frozenset({"up", "scheduler", "worker"})
MAX_FAULTS = 20


@dataclass(frozen=True, slots=True)
class Node:
    """One process that reported lately."""

    id: str
    role: str
    started_at: datetime
    seen_at: datetime
    report: Mapping[str, Any]

    @property
    def queues(self) -> frozenset[str] | None:
        """The queues it takes runs from; None when it takes every queue."""
        named = self.report.get("queues")
        return None if named is None else frozenset(named)


@dataclass(frozen=True, slots=True)
class Health:
    """Every dependency, and what stands out."""

    status: str
    """ok, degraded (works, but something is missing) or down (the database is gone)."""
    problems: Sequence[str]
    latency_ms: float | None = None
    error: str | None = None
    nodes: Sequence[Node] = ()
    queues: Mapping[str, Mapping[str, Any]] | None = None
    damaged: Sequence[tuple[str, str]] = ()
    disk: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Numbers:
    """What the metrics show."""

    schedules: Mapping[str, int]
    runs: Mapping[str, int]
    queues: Mapping[str, Mapping[str, Any]]
    lateness: Histogram
    duration: Histogram
    stale_writes: int
    workers: int
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Wellbeing:
    """Looks at the database, at the nodes that report into it, and at the disk below it."""

    store: Store
    clock: Clock
    disk: Callable[[], Mapping[str, Any]] | None = None
    """Size of the database file and free space, where the database is a file."""

    async def detailed(self, caller: Caller) -> Health:
        demand(caller, Verb.READ, Thing.HOUSE)
        began = self.clock.monotonic()
        try:
            async with self.store.read() as tx:
                nodes = [_node(row) for row in await tx.upkeep.nodes(self.clock.now() - SEEN)]
                latency = (self.clock.monotonic() - began) * 1000
                queues = await tx.upkeep.queues()
                damaged = await tx.schedules.faults(MAX_FAULTS)
        except Unavailable as error:
            return Health("down", ["the database does not answer"], error=str(error))
        problems = [*_missing(nodes, queues), *_damage(damaged)]
        return Health(
            status="degraded" if problems else "ok",
            problems=problems,
            latency_ms=round(latency, 3),
            nodes=nodes,
            queues=queues,
            damaged=damaged,
            disk=None if self.disk is None else self.disk(),
        )

    async def numbers(self, caller: Caller) -> Numbers:
        """Counts over all tenants, and the histograms of all nodes added up."""
        demand(caller, Verb.READ, Thing.HOUSE)
        now = self.clock.now()
        async with self.store.read() as tx:
            counts = await tx.upkeep.counts()
            nodes = [_node(row) for row in await tx.upkeep.nodes(now - SEEN)]
        lateness, duration = Histogram(LATENESS_BUCKETS), Histogram(DURATION_BUCKETS)
        for node in nodes:
            lateness.add(node.report.get("lateness") or {})
            duration.add(node.report.get("duration") or {})
        return Numbers(
            schedules=counts["schedules"],
            runs=counts["runs"],
            queues=counts["queues"],
            lateness=lateness,
            duration=duration,
            stale_writes=sum(int(node.report.get("stale_writes", 0)) for node in nodes),
            workers=sum(node.role in WORKERS for node in nodes),
            now=now,
        )


def _node(row: Mapping[str, Any]) -> Node:
    return Node(row["id"], row["role"], row["started_at"], row["seen_at"], row["report"] or {})


def _missing(nodes: Sequence[Node], queues: Mapping[str, Any]) -> list[str]:
    missing = []
    if not any(node.role in SCHEDULERS for node in nodes):
        missing.append("no scheduler has been seen for 30 s: nothing fires")
    workers = [node.queues for node in nodes if node.role in WORKERS]
    if any(taken is None for taken in workers):
        return missing
    consumed = frozenset[str]().union(*(taken for taken in workers if taken is not None))
    lonely = sorted(set(queues) - consumed)
    if lonely:
        missing.append(f"nobody takes runs from {', '.join(lonely)}")
    return missing


def _damage(damaged: Sequence[tuple[str, str]]) -> list[str]:
    if not damaged:
        return []
    count = f"at least {MAX_FAULTS}" if len(damaged) == MAX_FAULTS else str(len(damaged))
    return [f"{count} damaged schedule{'s' if len(damaged) > 1 else ''} will not fire until mended"]
