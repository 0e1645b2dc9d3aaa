"""Allots turns at hosts to this process: batches of start times from the database, handed to requests as they come."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.loop import rest_until
from foliot.features.fetching.model import HostTurn, HostUpdate
from foliot.features.fetching.politeness import SLICE, Politeness
from foliot.features.fetching.sql import hosts
from foliot.features.fetching.sql.hosts import HostCapacity, HostUpdates
from foliot.features.fetching.sql.turns import AHEAD, HostGrant, HostUse, HostWish, SqlHostTurns
from foliot.wakeups.feed import TURNS_TOPIC, Feed

HELD = timedelta(seconds=60)
"""How long the database counts what this process holds; renewed at half of it."""
LONGEST_LEAD = 2.0
"""Upper bound of the seconds by which requests are planned ahead, however slow the database."""
IDLE = timedelta(milliseconds=500)
"""How long turns stay with this process after the last request: a sequence of requests costs no query for each."""


@dataclass(slots=True, eq=False)
class TurnRequest:
    """A request that waits for its turn."""

    tenant_id: str
    caller: str
    answer: asyncio.Future[HostTurn]


@dataclass(slots=True, eq=False)
class HostQueue:
    """The requests of this process to one host: those that wait, and those that are being sent."""

    host: str
    tenants: dict[str, dict[str, deque[TurnRequest]]] = field(default_factory=dict)
    """Those that wait, by tenant and caller; the tenant whose turn it is comes first, and so does its caller."""
    holding: Counter[str] = field(default_factory=Counter)
    planned: int = 0
    """Turns that are given to a request, and whose start time has not come."""
    spare: deque[datetime] = field(default_factory=deque)
    """Start times without a request."""
    news: list[tuple[str, HostUpdate]] = field(default_factory=list)
    room: HostCapacity | None = None
    late: timedelta | None = None
    slowed: frozenset[str] = frozenset()
    slots: int = 0
    """As many as the database counts for this process."""
    until: datetime | None = None
    """How long it counts them."""
    retry_at: datetime | None = None
    crowded: bool = False
    """The host's concurrency was used up."""
    idle_since: datetime | None = None
    recent: deque[datetime] = field(default_factory=deque)
    """When turns were last handed out, for how many are worth having ahead."""

    @property
    def waiting(self) -> int:
        return sum(self.waiting_by_tenant.values())

    @property
    def waiting_by_tenant(self) -> dict[str, int]:
        return {tenant: sum(map(len, callers.values())) for tenant, callers in self.tenants.items()}

    def join(self, request: TurnRequest, *, front: bool = False) -> None:
        queue = self.tenants.setdefault(request.tenant_id, {}).setdefault(request.caller, deque())
        queue.appendleft(request) if front else queue.append(request)

    def next_of(self, tenant: str) -> TurnRequest | None:
        """The tenant's next request that still waits; the tenant, and the caller in it, go to the end of the line."""
        callers = self.tenants.pop(tenant, {})
        request = None
        while callers and request is None:
            caller = next(iter(callers))
            queue = callers.pop(caller)
            while queue and request is None:
                first = queue.popleft()
                request = None if first.answer.done() else first
            if queue:
                callers[caller] = queue
        if callers:
            self.tenants[tenant] = callers
        return request

    def forget_cancelled(self) -> None:
        for tenant, callers in list(self.tenants.items()):
            for caller, queue in list(callers.items()):
                callers[caller] = deque(request for request in queue if not request.answer.done())
                if not callers[caller]:
                    del callers[caller]
            if not callers:
                del self.tenants[tenant]

    def unlimited(self, now: datetime) -> bool:
        """Whether the slots that are held may be used again without a start time."""
        room = self.room
        known = room is not None and not room.robots_due and not room.interval and not self.slowed
        return known and self.until is not None and self.until > now

    def due_at(self, now: datetime) -> datetime | None:
        """When this host needs the database again; None when it can be forgotten."""
        if any(update.asks or update.robots is not None for _, update in self.news):
            return now
        if self.waiting:
            return self.retry_at or now
        if self.holding.total() or self.planned:
            return (self.until or now) - HELD / 2
        return None if self.idle_since is None or self.until is None else self.idle_since + IDLE


@dataclass(frozen=True, slots=True)
class TurnsAllotted:
    """How many turns one round brought."""

    turns: int
    rest: float


@dataclass(slots=True, kw_only=True)
class TurnAllocator:
    """One in each process that fetches; the rows of hosts keep processes apart."""

    clock: Clock
    store: Database
    feed: Feed
    holder: str
    use: HostUse
    """Requests of articles, which claim their start times themselves."""
    manners: Politeness = field(default_factory=Politeness)
    longest_rest: float = 5.0
    name: str = "turns"
    topics: Sequence[str] = (TURNS_TOPIC,)
    queues: dict[str, HostQueue] = field(default_factory=dict)
    _lead: float = 0.0
    """How long allotting has taken lately, with a margin: start times begin after that, or they would be too late."""

    async def take(self, host: str, tenant_id: str, caller: str = "") -> HostTurn:
        """Waits until this tenant may send one request to the host; the turn is ended with `done`.

        `caller` is what the tenant's requests are for, such as a run: its callers take turns too.
        """
        queue = self.queues.setdefault(host, HostQueue(host))
        now = self.clock.now()
        request = TurnRequest(tenant_id, caller, asyncio.get_running_loop().create_future())
        if not self._give_held(queue, request, now):
            queue.join(request)
            self.feed.wake(TURNS_TOPIC)
        try:
            return await request.answer
        except asyncio.CancelledError:
            if request.answer.done() and not request.answer.cancelled():
                self._release(queue, tenant_id)
            raise

    async def done(self, turn: HostTurn, update: HostUpdate) -> None:
        """Ends a turn, with what the answer says about the host."""
        queue = self.queues[turn.host]
        self._release(queue, turn.tenant_id)
        if update != HostUpdate():
            queue.news.append((turn.tenant_id, update))
        if update.asks or update.robots is not None:
            # What was allotted under the old limits is void.
            queue.spare.clear()
            queue.until = None
            queue.retry_at = None
            self.feed.wake(TURNS_TOPIC)

    def _release(self, queue: HostQueue, tenant_id: str) -> None:
        queue.holding[tenant_id] -= 1
        if not queue.holding[tenant_id]:
            del queue.holding[tenant_id]
        now = self.clock.now()
        queue.idle_since = now
        if queue.crowded:
            queue.retry_at = None
        if queue.waiting and queue.unlimited(now):
            self._hand_on(queue, now)
        elif queue.waiting or not queue.holding:
            self.feed.wake(TURNS_TOPIC)

    def _hand_on(self, queue: HostQueue, now: datetime) -> None:
        """A slot of a host without an interval goes to the next request."""
        tenant = next(iter(queue.tenants))
        if (request := queue.next_of(tenant)) is not None:
            self._start(queue, request, now)

    def _give_held(self, queue: HostQueue, request: TurnRequest, now: datetime) -> bool:
        """Uses a turn that this process has already, where one is free; whether there was one."""
        if queue.waiting:
            return False
        if queue.unlimited(now) and queue.holding.total() + queue.planned < queue.slots:
            self._start(queue, request, now)
            return True
        while queue.spare and not queue.slowed:
            at = queue.spare.popleft()
            if queue.late is None or at + queue.late > now:
                self._plan(queue, request, at)
                return True
        return False

    def _plan(self, queue: HostQueue, request: TurnRequest, at: datetime) -> None:
        """The request starts at `at`."""
        early = (at - self.clock.now()).total_seconds()
        queue.planned += 1
        if early <= 0:
            self._come(queue, request, at)
        else:
            asyncio.get_running_loop().call_later(early, self._come, queue, request, at)

    def _come(self, queue: HostQueue, request: TurnRequest, at: datetime) -> None:
        queue.planned -= 1
        now = self.clock.now()
        if request.answer.done():
            return
        if queue.late is not None and now > at + queue.late:
            # This process was slow: the request would come too close to the next one.
            queue.join(request, front=True)
            self.feed.wake(TURNS_TOPIC)
            return
        self._start(queue, request, at)

    def _start(self, queue: HostQueue, request: TurnRequest, at: datetime) -> None:
        room, tenant = queue.room, request.tenant_id
        assert room is not None  # noqa: S101 -- a turn was allotted
        latest = None
        if queue.late is not None:
            left = (at + queue.late - self.clock.now()).total_seconds()
            latest = asyncio.get_running_loop().time() + left
        queue.holding[tenant] += 1
        queue.recent.append(at)
        queue.idle_since = None
        request.answer.set_result(
            HostTurn(
                host=queue.host,
                tenant_id=tenant,
                robots=room.robots,
                robots_due=room.robots_due,
                slowed=room.slowed or tenant in queue.slowed,
                settings=room.settings,
                latest=latest,
            )
        )

    async def run_once(self) -> TurnsAllotted:
        now = self.clock.now()
        due = list(self._due(now))
        turns = 0
        if due:
            wishes = {queue.host: self._wish(queue, now) for queue in due}
            news: HostUpdates = {queue.host: queue.news for queue in due if queue.news}
            for queue in due:
                queue.news = []
            manners = replace(self.manners, lead=timedelta(seconds=self._lead))
            began = self.clock.monotonic()
            try:
                async with self.store.begin() as tx:
                    await hosts.learn(tx.conn, tx.dialect, news, now, self.manners)
                    grants = await SqlHostTurns(tx).allot(wishes, self.holder, now, manners, now + HELD, self.use)
            except BaseException:
                for host, updates in news.items():
                    self.queues[host].news[:0] = updates
                raise
            self._lead = min(max((self.clock.monotonic() - began) * 1.5, self._lead * 0.8), LONGEST_LEAD)
            for queue in due:
                turns += self._granted(queue, grants[queue.host], now)
        now = self.clock.now()
        moments = [at for queue in self.queues.values() if (at := queue.due_at(now)) is not None]
        return TurnsAllotted(turns, rest_until(min(moments, default=None), now, self.longest_rest))

    def _due(self, now: datetime) -> Iterator[HostQueue]:
        for host, queue in list(self.queues.items()):
            queue.forget_cancelled()
            at = queue.due_at(now)
            if at is None:
                if not queue.news and not queue.holding and not queue.planned:
                    del self.queues[host]
            elif at <= now:
                yield queue

    def _wish(self, queue: HostQueue, now: datetime) -> HostWish:
        while queue.recent and queue.recent[0] < now - SLICE:
            queue.recent.popleft()
        queue.spare.clear()
        holding = dict(queue.holding)
        if queue.planned:
            holding[AHEAD] = queue.planned
        waiting = queue.waiting_by_tenant
        return HostWish(waiting=waiting, holding=holding, ahead=len(queue.recent) if waiting else 0)

    def _granted(self, queue: HostQueue, grant: HostGrant, now: datetime) -> int:
        queue.retry_at, queue.crowded = grant.retry_at, False
        if grant.room is None:
            queue.idle_since = now
            return 0
        queue.crowded = not grant.starts and grant.room.free_at is None
        queue.room, queue.late, queue.slowed = grant.room, grant.late, grant.slowed
        queue.slots = queue.holding.total() + queue.planned + len(grant.starts)
        queue.until = now + HELD if queue.slots else None
        if not queue.slots:
            queue.idle_since = None
        for tenant, at in grant.starts:
            request = queue.next_of(tenant) if tenant else None
            if request is None:
                queue.spare.append(at)
            else:
                self._plan(queue, request, at)
        if queue.spare:
            queue.idle_since = now
        return len(grant.starts)
