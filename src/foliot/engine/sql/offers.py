"""Publication marks: runs are marked when they are published, so that no two schedulers publish the same."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Select, TextClause, bindparam, case, func, or_, select, text, update

from foliot.core.queue_name import PRIORITIES
from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.db.metadata import Moment, moment_out
from foliot.engine.model.queue import OfferedBatch, OfferedRun, PublishWindow
from foliot.engine.model.run import AGEING
from foliot.engine.sql.claims import SHARED, SHARES, RunPick, rounded, urgency
from foliot.engine.sql.tables import runs
from foliot.engine.sql.tenant_limits import ConcurrencyLimits

NEVER = datetime(1970, 1, 1, tzinfo=UTC)

_LYING = (
    select(
        runs.c.lane,
        runs.c.tenant_id,
        func.count(),
        func.sum(case((runs.c.offered_at >= bindparam("before", type_=Moment()), 1), else_=0)),
    )
    .where(runs.c.offered_at.is_not(None), runs.c.lane.is_not(None))
    .group_by(runs.c.lane, runs.c.tenant_id)
)


@lru_cache(maxsize=SHARES)
def _picks(shares: int, each: int) -> TextClause:
    """Like the candidates of a claim, without published ones."""
    part = (
        "SELECT * FROM (SELECT {0} AS share, id, order_key FROM runs"
        " WHERE lane = :lane AND tenant_id = :tenant{0} AND order_key <= :horizon AND ready_at <= :now"
        " AND (offered_at IS NULL OR offered_at < :before)"
        " ORDER BY order_key LIMIT {1}) s{0}"
    )
    return text(" UNION ALL ".join(part.format(at, each) for at in range(shares)))


@cache
def _free(dialect: Dialect) -> Select[Any]:
    """Of these runs, those that were neither claimed nor published in the meantime."""
    before = bindparam("before", type_=Moment())
    query = select(runs.c.id, runs.c.lane, runs.c.order_key).where(
        dialect.listed(runs.c.id, "ids"),
        runs.c.lane.is_not(None),
        or_(runs.c.offered_at.is_(None), runs.c.offered_at < before),
    )
    return dialect.lock(query, skip=True)


@dataclass(frozen=True, slots=True)
class SqlOffers(Statements):
    """Statements of the publisher."""

    @property
    def caps(self) -> ConcurrencyLimits:
        return self.tx.cache(ConcurrencyLimits)

    async def lanes(self) -> list[str]:
        """The queues in which runs wait, without paused ones."""
        return sorted({lane for lane, _ in await self.conn.execute(SHARED)})

    async def offer(
        self, now: datetime, before: datetime, window_of: Callable[[str], PublishWindow], most: int
    ) -> OfferedBatch:
        """Mark ready runs as published, a share for each tenant, the most urgent first, as far as the windows allow.

        Runs published since `before` are with the broker; those published earlier and still unclaimed count as lost
        where the window says `again`. Runs that another scheduler marks concurrently are skipped.
        """
        picked, full = await self._pick(now, before, window_of, most)
        if not picked:
            return OfferedBatch(full=full)
        free = await self.conn.execute(_free(self.dialect), {"ids": picked, "before": before})
        rows = sorted(free, key=lambda row: (row.order_key, row.id))
        if rows:
            marked = update(runs).where(self.dialect.among(runs.c.id, [row.id for row in rows]))
            await self.conn.execute(marked.values(offered_at=now))
        return OfferedBatch([OfferedRun(row.id, row.lane, _priority(row.order_key, now)) for row in rows], full)

    async def take_back(self, run_ids: Sequence[str], offered_at: datetime) -> int:
        """Clear this mark where it is still set, so that the runs are published again at once."""
        ours = (self.dialect.among(runs.c.id, run_ids), runs.c.lane.is_not(None), runs.c.offered_at == offered_at)
        return (await self.conn.execute(update(runs).where(*ours).values(offered_at=None))).rowcount

    async def _pick(
        self, now: datetime, before: datetime, window_of: Callable[[str], PublishWindow], most: int
    ) -> tuple[list[str], bool]:
        shares = sorted((lane, tenant) for lane, tenant in await self.conn.execute(SHARED))
        if not shares:
            return [], False
        await self.caps.refresh(self.conn, now)
        rooms = await self.caps.rooms(self.conn, self.dialect, {tenant for _, tenant in shares})
        lying = {(row[0], row[1]): (row[2], int(row[3])) for row in await self.conn.execute(_LYING, {"before": before})}
        rooms = _less(rooms, lying)
        picked: list[str] = []
        full = False
        for lane, members in groupby(shares, key=itemgetter(0)):
            window = window_of(lane)
            there = sum(fresh if window.again else old for (at, _), (old, fresh) in lying.items() if at == lane)
            room = min(window.most - there, most - len(picked))
            full = full or room <= 0
            tenants = [tenant for _, tenant in members if rooms.get(tenant) != 0]
            if room > 0 and tenants:
                bound = {"lane": lane, "before": moment_out(self.dialect.name, before if window.again else NEVER)}
                chosen = _shared(await self._most_urgent(now, tenants[:SHARES], room, bound), rooms, room)
                full = full or len(chosen) == room
                picked += chosen
        return picked, full

    async def _most_urgent(
        self, now: datetime, tenants: Sequence[str], room: int, bound: Mapping[str, Any]
    ) -> list[RunPick]:
        horizon = now + (len(PRIORITIES) - 1) * AGEING
        name = self.dialect.name
        values = {**bound, "now": moment_out(name, now), "horizon": moment_out(name, horizon)}
        values |= {f"tenant{at}": tenant for at, tenant in enumerate(tenants)}
        query = _picks(len(tenants), rounded(math.ceil(room / len(tenants))))
        rows = sorted((share, order, run_id) for share, run_id, order in await self.conn.execute(query, values))
        return [
            RunPick(rank, order, run_id, tenants[share])
            for share, members in groupby(rows, key=itemgetter(0))
            for rank, (_, order, run_id) in enumerate(members)
        ]


def _shared(picks: Sequence[RunPick], rooms: dict[str, int], room: int) -> list[str]:
    """Each tenant gets its first before any has a second; what is taken counts against the tenants' limits."""
    chosen: list[RunPick] = []
    for pick in sorted(picks, key=lambda pick: (pick.rank, *urgency(pick))):
        left = rooms.get(pick.tenant_id)
        if left == 0 or len(chosen) >= room:
            continue
        if left is not None:
            rooms[pick.tenant_id] = left - 1
        chosen.append(pick)
    return [pick.run_id for pick in chosen]


def _less(rooms: Mapping[str, int], lying: Mapping[tuple[str, str], tuple[int, int]]) -> dict[str, int]:
    """What capped tenants may start, without what is on its way to be started."""
    offered: Counter[str] = Counter()
    for (_, tenant), (count, _) in lying.items():
        offered[tenant] += count
    return {tenant: max(room - offered[tenant], 0) for tenant, room in rooms.items()}


def _priority(order_key: datetime, now: datetime) -> int:
    """Maps the order in the database, which includes ageing, to one of the broker's few priorities."""
    steps = math.ceil((order_key - now) / AGEING)
    return max(PRIORITIES[0], min(PRIORITIES[-1], PRIORITIES[0] + steps))
