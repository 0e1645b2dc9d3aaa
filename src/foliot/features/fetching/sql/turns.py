"""Turns of processes at hosts: start times and slots, allotted under the lock of the host's row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import cycle
from typing import Any

from sqlalchemy import Select, bindparam, case, delete, func, select

from foliot.db.database import Statements, Transaction
from foliot.db.dialects import Dialect
from foliot.db.metadata import Moment
from foliot.features.fetching.politeness import Politeness, leeway, spacing
from foliot.features.fetching.sql import host_pauses, hosts
from foliot.features.fetching.sql.hosts import HostCapacity, HostDemand
from foliot.features.fetching.tables import host_turns

CROWDED = timedelta(milliseconds=200)
"""Until the next try, where other requests have to end first."""
LOCKED = timedelta(milliseconds=20)
"""The same, where another process allots turns of the host at this moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWish:
    """What one process asks for at one host."""

    waiting: Mapping[str, int]
    """Requests that wait for a turn, by tenant; tenants whose turn it is come first."""
    holding: Mapping[str, int]
    """Requests that are being sent, by tenant."""
    ahead: int = 0
    """Start times that may be allotted before there is a request for them, to whichever tenant comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGrant:
    """What the process was allotted."""

    room: HostCapacity | None
    """None while another process has the row."""
    starts: Sequence[tuple[str, datetime]] = ()
    """Tenant and start time; the tenant is empty for those ahead."""
    late: timedelta | None = None
    """How long after its start time a request may still start."""
    slowed: frozenset[str] = frozenset()
    """Tenants whose own pace is slower than the host's."""
    retry_at: datetime
    """When it is worthwhile to ask again for those that got none."""


@dataclass(frozen=True, slots=True)
class HostUse:
    """How another feature uses hosts: its requests in flight, and those that wait, by tenant."""

    in_flight: Callable[[Transaction, Sequence[str]], Awaitable[Mapping[str, int]]]
    wanted: Callable[[Transaction, Sequence[str]], Awaitable[Collection[str]]]
    """Those of these hosts that something waits for."""
    waiting: Callable[[Transaction, Sequence[str]], Awaitable[Mapping[str, Mapping[str, int]]]]
    """How much waits for each of these hosts, by tenant."""


@cache
def held(dialect: Dialect) -> Select[Any]:
    """Requests that processes hold turns for, and how many of them wait for more, by host; takes `bound`."""
    busy = func.sum(host_turns.c.slots).label("busy")
    waiting = func.sum(case((host_turns.c.waiting > 0, 1), else_=0)).label("waiting")
    query = select(host_turns.c.host, busy, waiting).where(
        dialect.listed(host_turns.c.host, "names"),
        host_turns.c.until > bindparam("b_until", type_=Moment()),
        host_turns.c.holder != bindparam("b_holder"),
    )
    return query.group_by(host_turns.c.host)


def bound(now: datetime, holder: str = "") -> dict[str, Any]:
    """The parameters of `held`; without the turns of one holder."""
    return {"b_until": now, "b_holder": holder}


def added(rows: Iterable[Any]) -> dict[str, HostDemand]:
    """The demand by host, over several kinds of requests."""
    demand: dict[str, HostDemand] = {}
    for row in rows:
        before = demand.get(row.host, hosts.IDLE)
        demand[row.host] = HostDemand(before.busy + int(row.busy), before.waiting + int(row.waiting))
    return demand


@dataclass(frozen=True, slots=True)
class SqlHostTurns(Statements):
    """Allots turns to one process."""

    async def allot(
        self,
        wishes: Mapping[str, HostWish],
        holder: str,
        now: datetime,
        manners: Politeness,
        until: datetime,
        use: HostUse,
    ) -> dict[str, HostGrant]:
        """Start times for what waits, within the limits of each host; records what the process holds until `until`."""

        async def count(_: Transaction, names: Sequence[str], at: datetime) -> dict[str, HostDemand]:
            return await self._demand(names, at, holder, wishes, use)

        most = max((sum(wish.waiting.values()) + wish.ahead for wish in wishes.values()), default=0)
        rooms = await hosts.host_capacities(self.tx, wishes, now, manners, max(most, 1), count, holder)
        pauses = await host_pauses.of(self.conn, self.dialect, wishes)
        grants = {host: _grant(host, wish, rooms.get(host), pauses, now) for host, wish in wishes.items()}
        used = {host: (room, len(grants[host].starts)) for host, room in rooms.items()}
        await hosts.use(self.conn, self.dialect, used)
        allotted = [((host, tenant), at) for host, grant in grants.items() for tenant, at in grant.starts if tenant]
        await host_pauses.write(self.conn, self.dialect, host_pauses.held_back(allotted, pauses), pauses)
        await self._record({host: wish for host, wish in wishes.items() if host in rooms}, grants, holder, until)
        return grants

    async def _demand(
        self, names: Sequence[str], now: datetime, holder: str, wishes: Mapping[str, HostWish], use: HostUse
    ) -> dict[str, HostDemand]:
        others = added(await self.conn.execute(held(self.dialect), {"names": names} | bound(now, holder)))
        articles = await use.in_flight(self.tx, names)
        asking = [host for host in names if wishes[host].waiting]
        wanted = await use.wanted(self.tx, asking) if asking else ()
        demand = {}
        for host in names:
            of = others.get(host, hosts.IDLE)
            own = sum(wishes[host].holding.values())
            demand[host] = HostDemand(of.busy + own + articles.get(host, 0), of.waiting + (host in wanted))
        return demand

    async def _record(
        self, wishes: Mapping[str, HostWish], grants: Mapping[str, HostGrant], holder: str, until: datetime
    ) -> None:
        """Replaces the rows of this process at these hosts."""
        if not wishes:
            return
        own = self.dialect.among(host_turns.c.host, sorted(wishes))
        await self.conn.execute(delete(host_turns).where(own, host_turns.c.holder == holder))
        columns: dict[str, list[Any]] = {name: [] for name in ("host", "tenant_id", "slots", "waiting")}
        for host, wish in wishes.items():
            slots, waiting = defaultdict(int, wish.holding), defaultdict(int, wish.waiting)
            for tenant, _ in grants[host].starts:
                slots[tenant or AHEAD] += 1
                if tenant:
                    waiting[tenant] -= 1
            for tenant in {*slots, *waiting}:
                if slots[tenant] or waiting[tenant]:
                    for column, value in zip(
                        columns.values(), (host, tenant, slots[tenant], waiting[tenant]), strict=True
                    ):
                        column.append(value)
        if count := len(columns["host"]):
            row = columns | {"holder": [holder] * count, "until": [until] * count}
            await self.dialect.insert(self.conn, host_turns, row)


AHEAD = "-"
"""In place of a tenant: turns that were allotted before there was a request."""


def _grant(
    host: str,
    wish: HostWish,
    room: HostCapacity | None,
    pauses: Mapping[host_pauses.Pair, host_pauses.HostPause],
    now: datetime,
) -> HostGrant:
    """Start times in turn between the tenants, as far as the host and their own pauses allow."""
    if room is None:
        return HostGrant(room=None, retry_at=now + LOCKED)
    left = dict(wish.waiting)
    own = {tenant: pauses[host, tenant] for tenant in left if (host, tenant) in pauses}
    free = {tenant: pause.room(now, len(room.starts)) for tenant, pause in own.items()}
    starts: list[tuple[str, datetime]] = []
    times = iter(room.starts)
    tenants = [tenant for tenant, count in left.items() if count and free.get(tenant, 1)]
    for tenant in cycle(tenants) if tenants else ():
        if not any(left[each] and free.get(each, 1) for each in tenants):
            break
        if not left[tenant] or not free.get(tenant, 1):
            continue
        if (at := next(times, None)) is None:
            break
        left[tenant] -= 1
        if tenant in free:
            free[tenant] -= 1
        starts.append((tenant, at))
    if not any(left.values()):
        # A pause of one tenant is not for others, so nothing is allotted ahead while there is one.
        starts += [("", at) for at in list(times)[: wish.ahead]] if not own and not room.robots_due else []
    return HostGrant(
        room=room,
        starts=starts,
        late=leeway(room.interval),
        slowed=frozenset(tenant for tenant, pause in own.items() if pause.interval),
        retry_at=_retry_at(room, own, left, starts, now),
    )


def _retry_at(
    room: HostCapacity,
    own: Mapping[str, host_pauses.HostPause],
    left: Mapping[str, int],
    starts: Sequence[tuple[str, datetime]],
    now: datetime,
) -> datetime:
    if room.free_at is not None:
        return room.free_at
    last = dict(starts)
    moments = []
    for tenant in (tenant for tenant, count in left.items() if count):
        pause = own.get(tenant)
        if pause is not None and (pause.pace or pause.next_at > now):
            moments.append(last[tenant] + spacing(pause.pace) if tenant in last else max(pause.next_at, now + LOCKED))
        elif starts and room.interval:
            moments.append(starts[-1][1] + spacing(room.interval))
        else:
            moments.append(now + CROWDED)
    return min(moments, default=now + CROWDED)
