"""Collects health: an overall status, every dependency, and the numbers of the metrics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from foliot.commands.envelope import QueryContext, query, requires
from foliot.core.access import Caller, Thing, Verb
from foliot.core.errors import Unavailable
from foliot.core.histogram import DURATION_BUCKETS, LATENESS_BUCKETS, Histogram
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.model.breaker import BREAKERS
from foliot.engine.model.node import SEEN
from foliot.engine.model.queue import QueuePause
from foliot.engine.model.run import RunState
from foliot.engine.model.stall import Standstill, StandstillReason, worst
from foliot.engine.sql.queues import SqlQueues
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.usecases.change import SKEW
from foliot.wakeups.feed import FeedReach

SCHEDULERS = frozenset({"up", "scheduler"})
WORKERS = frozenset({"up", "scheduler", "worker"})
MAX_FAULTS = 20
OVERDUE = timedelta(seconds=60)
"""A check of a parked run that is so late is reported."""
CANCELLED = RunState.CANCELLED.value


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One process that reported lately."""

    id: str
    role: str
    started_at: datetime
    seen_at: datetime
    report: Mapping[str, Any]
    wish: str | None = None

    @property
    def queues(self) -> frozenset[str] | None:
        """The queues it takes runs from; None when it takes every queue."""
        named = self.report.get("queues")
        return None if named is None else frozenset(named)

    @property
    def takes_runs(self) -> bool:
        """False for a scheduler that publishes to a broker, which has no slots, and for a process that drains."""
        return self.role in WORKERS and self.report.get("slots") != 0 and self.wish is None


@dataclass(frozen=True, slots=True)
class BrokerReport:
    """The broker, as the schedulers that publish to it see it."""

    url: str
    publishing: bool
    error: str | None


class ScrapydProbe(Protocol):
    """A Scrapyd that runs crawls."""

    @property
    def url(self) -> str:
        """Without user and password."""
        ...

    @property
    def error(self) -> str | None: ...

    def as_dict(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class HealthStatus:
    """Every dependency, and what is wrong."""

    status: str
    """ok, degraded (works, but something is missing) or down (the database is gone)."""
    problems: Sequence[str]
    latency_ms: float | None = None
    error: str | None = None
    nodes: Sequence[NodeReport] = ()
    queues: Mapping[str, Mapping[str, Any]] | None = None
    damaged: Sequence[tuple[str, str]] = ()
    disk: Mapping[str, Any] | None = None
    feed: FeedReach | None = None
    broker: BrokerReport | None = None
    """None where no scheduler uses one."""
    crawlers: Sequence[ScrapydProbe] = ()
    parked: Mapping[str, Any] | None = None
    """Runs whose work goes on elsewhere: how many, and when the next check is due."""
    standstills: Sequence[Standstill] = ()
    """Due work that does not begin, and why, as far as any process can see."""
    ahead: Sequence[tuple[str, str]] = ()
    """Schedules (tenant, id) that a wrong clock has moved into the future."""


@dataclass(frozen=True, slots=True)
class MetricNumbers:
    """The numbers of the metrics."""

    schedules: Mapping[str, int]
    runs: Mapping[str, int]
    queues: Mapping[str, Mapping[str, Any]]
    lateness: Histogram
    duration: Histogram
    stale_writes: int
    workers: int
    now: datetime
    schedulers: int = 0
    slots: int = 0
    free: int = 0
    in_flight: Mapping[str, int] = field(default_factory=dict)
    """By queue."""
    paused: frozenset[str] = frozenset()
    parked: int = 0
    outside: int = 0
    """Attempts that wait for an answer and hold no slot."""
    breakers: int = 0
    """Open ones, over all tenants and processes."""
    standstills: Mapping[str, float] = field(default_factory=dict)
    """For how many seconds work has stood still, by reason."""
    browsers: Mapping[str, int] = field(default_factory=dict)
    """What browsers rendered, did not render, and asked in vain."""
    alerts: Mapping[str, int] = field(default_factory=dict)
    """Those that are not resolved, by state."""
    waiting: Mapping[str, int] = field(default_factory=dict)
    """Deliveries that wait, by kind of channel."""
    deliveries: Mapping[str, int] = field(default_factory=dict)
    """Messages by kind of channel and outcome, as in `slack_sent`."""
    alert_delay: Histogram = field(default_factory=lambda: Histogram(DURATION_BUCKETS))
    """From the moment at which a message was due to its acceptance."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthChecks:
    """Checks the database, the nodes that report into it, and the disk below it."""

    store: Database
    clock: Clock
    knowledge: KnownStandstills
    disk: Callable[[], Mapping[str, Any]] | None = None
    """Size of the database file and free space, where the database is a file."""
    remarks: Callable[[], Sequence[str]] | None = None
    """Further problems of this process."""
    reach: Callable[[], FeedReach] | None = None
    """How far its wake-ups reach."""
    crawlers: Callable[[], Awaitable[Sequence[ScrapydProbe]]] | None = None
    """Checks the Scrapyd nodes."""
    alerting: Callable[[Transaction], Awaitable[Mapping[str, Mapping[str, int]]]] | None = None
    """`alerts` by state, and deliveries `waiting` by kind of channel."""

    @query(Verb.READ, Thing.INSTALLATION)
    async def detailed(self, ctx: QueryContext) -> HealthStatus:
        own = await self.knowledge.own()
        began, now = self.clock.monotonic(), self.clock.now()
        try:
            async with ctx.read(across_tenants=True) as tx:
                nodes = await live_nodes(tx, now)
                latency = (self.clock.monotonic() - began) * 1000
                queues = await SqlRetention(tx).queues()
                said = await SqlQueues(tx).said()
                damaged = await SqlSchedules(tx).faults(MAX_FAULTS)
                parked = await SqlRetention(tx).parked()
                ahead = [(tenant, found) for tenant, found, _ in await SqlSchedules(tx).ahead(now + SKEW, MAX_FAULTS)]
        except Unavailable as error:
            own = self.knowledge.told(own, ())
            told = [one.whole() for one in own if one.why is not StandstillReason.STORE]
            return HealthStatus("down", [error.told, *told], error=str(error), standstills=own)
        stands = self.knowledge.told(own, [(node.id, node.report) for node in nodes])
        feed = self.reach() if self.reach else None
        broker = _broker(nodes)
        crawlers = await self.crawlers() if self.crawlers else ()
        problems = [
            *(f"{one.whole()}, for {one.seconds:.0f} s" for one in stands),
            *_ahead(ahead),
            *_missing(nodes, queues),
            *_paused(said, queues),
            *_stuck(broker),
            *_unsunk(nodes),
            *_damage(damaged),
            *_overdue(parked, now),
            *_away(feed),
            *(f"the Scrapyd at {each.url} cannot be used: {each.error}" for each in crawlers if each.error),
            *(self.remarks() if self.remarks else ()),
        ]
        return HealthStatus(
            status="degraded" if problems else "ok",
            problems=problems,
            latency_ms=round(latency, 3),
            nodes=nodes,
            queues=queues,
            damaged=damaged,
            disk=None if self.disk is None else self.disk(),
            feed=feed,
            broker=broker,
            crawlers=crawlers,
            parked=parked,
            standstills=stands,
            ahead=ahead,
            error=next((one.told for one in stands if one.why is StandstillReason.STORE), None),
        )

    @query(Verb.READ, Thing.INSTALLATION)
    async def numbers(self, ctx: QueryContext) -> MetricNumbers:
        """Counts over all tenants, and the sums of all nodes' counters."""
        own = await self.knowledge.own()
        now = self.clock.now()
        async with ctx.read(across_tenants=True) as tx:
            counts = await SqlRetention(tx).counts()
            # Nodes that are gone too: counters must not go back.
            nodes = [_node(row) for row in await SqlRetention(tx).nodes()]
            gone = await SqlRetention(tx).gone()
            in_flight = await SqlQueues(tx).in_flight()
            said = await SqlQueues(tx).said()
            alerting = {} if self.alerting is None else await self.alerting(tx)
        reports = [*(node.report for node in nodes), gone]
        live = [node for node in nodes if node.seen_at >= now - SEEN]
        workers = [node for node in live if node.takes_runs]
        lateness, duration = Histogram(LATENESS_BUCKETS), Histogram(DURATION_BUCKETS)
        delay = Histogram(DURATION_BUCKETS)
        delay.add(gone.get("alert_delay") or {})
        for report in reports:
            lateness.add(report.get("lateness") or {})
            duration.add(report.get("duration") or {})
        # Versions before counted the runs that a later instant ended in their reports only.
        cancelled = gone["runs"].get(CANCELLED, 0) + sum(int(report.get("replaced", 0)) for report in reports)
        return MetricNumbers(
            schedules=counts["schedules"],
            runs={**gone["runs"], CANCELLED: max(cancelled, 0), **counts["runs"]},
            queues=counts["queues"],
            lateness=lateness,
            duration=duration,
            stale_writes=sum(int(report.get("stale_writes", 0)) for report in reports),
            workers=len(workers),
            now=now,
            schedulers=sum(node.role in SCHEDULERS for node in live),
            slots=sum(int(node.report.get("slots") or 0) for node in workers),
            free=sum(int(node.report.get("free") or 0) for node in workers),
            in_flight=in_flight,
            paused=frozenset(queue.name for queue in said if queue.paused_at is not None),
            parked=counts["parked"]["count"],
            outside=sum(int(node.report.get("outside") or 0) for node in workers),
            breakers=sum(len(node.report.get(BREAKERS) or ()) for node in workers),
            standstills=_seconds(self.knowledge.told(own, [(node.id, node.report) for node in live])),
            browsers={
                name: sum(int(report.get(name, 0)) for report in reports)
                for name in ("pages_rendered", "pages_not_rendered", "page_requests_refused")
            },
            alerts=alerting.get("alerts", {}),
            waiting=alerting.get("waiting", {}),
            deliveries=gone.get("alert_deliveries", {}),
            alert_delay=delay,
        )

    @requires(Verb.READ, Thing.INSTALLATION)
    async def silent(self, caller: Caller) -> Mapping[str, float]:
        """The metrics of a process whose store is unavailable: how long work has stood still, by reason."""
        return _seconds(self.knowledge.told(await self.knowledge.own(), ()))


async def live_nodes(tx: Transaction, now: datetime) -> list[NodeReport]:
    """The processes that reported lately."""
    return [_node(row) for row in await SqlRetention(tx).nodes(now - SEEN)]


def _node(row: Mapping[str, Any]) -> NodeReport:
    return NodeReport(row["id"], row["role"], row["started_at"], row["seen_at"], row["report"] or {}, row["wish"])


def _seconds(found: Sequence[Standstill]) -> dict[str, float]:
    return {one.why.value: one.seconds for one in found}


def _ahead(found: Sequence[tuple[str, str]]) -> list[str]:
    if not found:
        return []
    count = f"at least {MAX_FAULTS}" if len(found) == MAX_FAULTS else str(len(found))
    what = "schedules have" if len(found) > 1 else "schedule has"
    named = ", ".join(schedule_id for _, schedule_id in found[:3])
    return [f"{count} {what} a next instant that a wrong clock moved ahead ({named}): run foliot schedule realign"]


def _missing(nodes: Sequence[NodeReport], queues: Mapping[str, Any]) -> list[str]:
    missing = []
    if not any(node.role in SCHEDULERS for node in nodes):
        missing.append("no scheduler has been seen for 30 s: nothing fires")
    workers = [node.queues for node in nodes if node.takes_runs]
    if any(taken is None for taken in workers):
        return missing
    consumed = frozenset[str]().union(*(taken for taken in workers if taken is not None))
    lonely = sorted(set(queues) - consumed)
    if lonely:
        missing.append(f"no worker serves {', '.join(lonely)}")
    return missing


def _paused(said: Sequence[QueuePause], queues: Mapping[str, Mapping[str, Any]]) -> list[str]:
    waits = {queue.name: queues[queue.name]["depth"] for queue in said if queue.paused_at and queue.name in queues}
    return [f"the queue {name} is paused, and {count} of its runs wait" for name, count in sorted(waits.items())]


def _broker(nodes: Sequence[NodeReport]) -> BrokerReport | None:
    """One scheduler that cannot publish is reported, though others can."""
    seen = [node.report for node in nodes if node.role in SCHEDULERS and node.report.get("broker")]
    if not seen:
        return None
    worst = min(seen, key=lambda report: bool(report.get("publishing")))
    return BrokerReport(str(worst["broker"]), bool(worst.get("publishing")), worst.get("trouble"))


def _stuck(broker: BrokerReport | None) -> list[str]:
    if broker is None or broker.publishing:
        return []
    return ["the broker does not accept runs: they wait, and are passed on when it is back"]


def _unsunk(nodes: Sequence[NodeReport]) -> list[str]:
    """A sink that is down loses nothing, but its readers wait."""
    reports = [node.report.get(name) or {} for node in nodes for name in ("mongodb", "mongodb_jobs")]
    errors = {str(report["error"]) for report in reports if report.get("error")}
    return [f"{why}: they are written there when it does; jobs are not affected" for why in sorted(errors)]


def _away(feed: FeedReach | None) -> list[str]:
    if feed is None or feed.connected:
        return []
    effect = "this process and the others see each other's changes up to 1 s late"
    return [f"the wake-up connection ({feed.kind}) is down: {effect}"]


def _overdue(parked: Mapping[str, Any], now: datetime) -> list[str]:
    oldest: datetime | None = parked["oldest"]
    if oldest is None or now - oldest < OVERDUE:
        return []
    late = int((now - oldest).total_seconds())
    return [f"a parked run is not checked: its check has been due for {late} s; is a worker for its queue running?"]


def _damage(damaged: Sequence[tuple[str, str]]) -> list[str]:
    if not damaged:
        return []
    count = f"at least {MAX_FAULTS}" if len(damaged) == MAX_FAULTS else str(len(damaged))
    return [f"{count} damaged schedule{'s' if len(damaged) > 1 else ''} will not fire until repaired"]
