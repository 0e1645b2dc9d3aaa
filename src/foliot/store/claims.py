"""Runs pass from hand to hand: picked fairly, claimed by one, renewed, and taken back from the dead."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, TextClause, Update, bindparam, func, or_, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.domain.errors import Invalid
from foliot.domain.ids import new_id
from foliot.domain.run import AGEING, CLAIMABLE, PRIORITIES, Fence, RunState
from foliot.domain.schedule import Spec, load_spec
from foliot.ports import Claimed, Ending, Finished
from foliot.store import endings as ends
from foliot.store import gate
from foliot.store.caps import Caps, first_of_each
from foliot.store.columns import Damaged, Moment, moment_out
from foliot.store.dialects import Dialect
from foliot.store.tables import runs, versions

SHARES = 100
"""How many tenants and queues one pick is divided among at most."""

_ROW = (
    runs.c.id,
    runs.c.tenant_id,
    runs.c.schedule_id,
    runs.c.version,
    runs.c.kind,
    runs.c.queue,
    runs.c.attempt,
    runs.c.max_attempts,
    runs.c.timeout_seconds,
    runs.c.scheduled_for,
    runs.c.ready_at,
    runs.c.epoch,
    runs.c.token,
    runs.c.attempt_at,
    runs.c.cancel_requested,
    runs.c.action,
)

# Hops from one (queue, tenant) to the next through the index, instead of reading every ready row.
SHARED = text("""
WITH RECURSIVE q(lane) AS (
  SELECT min(lane) FROM runs WHERE lane IS NOT NULL
  UNION ALL
  SELECT (SELECT min(r.lane) FROM runs r WHERE r.lane > q.lane) FROM q WHERE q.lane IS NOT NULL
), t(lane, tenant_id) AS (
  SELECT q.lane, (SELECT min(r.tenant_id) FROM runs r WHERE r.lane = q.lane) FROM q
  WHERE q.lane IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM queues p WHERE p.name = q.lane AND p.paused_at IS NOT NULL)
  UNION ALL
  SELECT t.lane, (SELECT min(r.tenant_id) FROM runs r WHERE r.lane = t.lane AND r.tenant_id > t.tenant_id)
  FROM t WHERE t.tenant_id IS NOT NULL
)
SELECT lane, tenant_id FROM t WHERE tenant_id IS NOT NULL
""")


@lru_cache(maxsize=SHARES)
def _picks(shares: int, each: int) -> TextClause:
    """The limit is part of the text: a plan for any limit would read and sort every ready run."""
    part = (
        "SELECT * FROM (SELECT {0} AS share, id, order_key FROM runs"
        " WHERE lane = :lane{0} AND tenant_id = :tenant{0} AND order_key <= :horizon AND ready_at <= :now"
        " ORDER BY order_key LIMIT {1}) s{0}"
    )
    return text(" UNION ALL ".join(part.format(at, each) for at in range(shares)))


def rounded(count: int) -> int:
    """Up to a power of two, so that there are few texts to plan; whoever asked takes no more than it wanted."""
    return 1 << (count - 1).bit_length()


@cache
def _takeable(dialect: Dialect) -> Select[Any]:
    query = select(*_ROW).where(
        dialect.listed(runs.c.id, "ids"),
        runs.c.state.in_(sorted(CLAIMABLE)),
        runs.c.lane.is_not(None),
        # A row that somebody put back by hand without a try left would make the whole claim break its CHECK.
        runs.c.attempt < runs.c.max_attempts,
        runs.c.ready_at <= bindparam("now", type_=Moment()),
        *gate.open_to(dialect),
    )
    return dialect.lock(query, skip=True)


@cache
def _take(dialect: Dialect, own_clock: bool) -> Update:  # noqa: FBT001 -- part of the cache's key
    now = bindparam("b_now", type_=Moment())
    return (
        update(runs)
        .where(dialect.listed(runs.c.id, "ids"), runs.c.state.in_(sorted(CLAIMABLE)))
        .where(*gate.open_to(dialect))
        .ordered_values(
            (runs.c.started_seq, runs.c.event_seq + 1),
            (runs.c.event_seq, runs.c.event_seq + 1),
            (runs.c.epoch, runs.c.epoch + 1),
            (runs.c.attempt, runs.c.attempt + 1),
            (runs.c.state, RunState.RUNNING.value),
            (runs.c.lane, None),
            (runs.c.token, bindparam("b_token")),
            (runs.c.lease_until, _until(dialect, own_clock)),
            (runs.c.worker, bindparam("b_worker")),
            (runs.c.attempt_at, now),
            (runs.c.started_at, func.coalesce(runs.c.started_at, now)),
            (runs.c.due_at, func.coalesce(runs.c.due_at, runs.c.ready_at)),
        )
    )


def _until(dialect: Dialect, own_clock: bool) -> ColumnElement[datetime]:  # noqa: FBT001 -- see above
    return bindparam("b_until", type_=Moment()) if own_clock else dialect.later()


@cache
def _versions(dialect: Dialect) -> Select[Any]:
    """Of these schedules, the versions with these numbers: a few more than asked for, by a text that stays the same."""
    columns = (versions.c.schedule_id, versions.c.version, versions.c.spec, versions.c.anchor, versions.c.action)
    return select(*columns).where(
        dialect.listed(versions.c.schedule_id, "ids"),
        versions.c.version.in_(bindparam("numbers", expanding=True)),
    )


Versions = dict[tuple[str, int], tuple[Spec | None, Mapping[str, Any], str | None]]


class Pick(NamedTuple):
    """A ready run: its rank in its share, and what orders it among all."""

    rank: int
    order: Any
    run_id: str
    tenant_id: str


def urgency(pick: Pick) -> tuple[Any, str]:
    return pick.order, pick.run_id


@dataclass(frozen=True, slots=True)
class SqlClaims:
    """The workers' view of the store."""

    conn: AsyncConnection
    dialect: Dialect
    bind_clock: bool
    versions: Versions
    caps: Caps

    async def ready(self, now: datetime, queues: Collection[str] | None, limit: int) -> list[str]:
        shares = [
            (lane, tenant) for lane, tenant in await self.conn.execute(SHARED) if queues is None or lane in queues
        ]
        await self.caps.refresh(self.conn, now)
        rooms = await self.caps.rooms(self.conn, self.dialect, {tenant for _, tenant in shares})
        shares = [share for share in shares if rooms.get(share[1]) != 0]
        # Whoever comes first by name must not always come first.
        random.shuffle(shares)
        found: list[Pick] = []
        for start in range(0, len(shares), SHARES):
            found += await self._pick(now, shares[start : start + SHARES], limit)
            found = first_of_each(sorted(found, key=urgency), rooms) if rooms else found
            if len(found) >= limit:
                break
        # With fewer places than tenants, each has its first before anybody has a second.
        chosen = sorted(found, key=lambda pick: pick.rank)[:limit]
        return [pick.run_id for pick in sorted(chosen, key=urgency)]

    async def _pick(self, now: datetime, shares: Sequence[tuple[str, str]], limit: int) -> list[Pick]:
        """The most urgent ready runs of each share, share by share."""
        horizon = now + (len(PRIORITIES) - 1) * AGEING
        bound: dict[str, Any] = {
            "now": moment_out(self.dialect.name, now),
            "horizon": moment_out(self.dialect.name, horizon),
        }
        for at, (lane, tenant) in enumerate(shares):
            bound[f"lane{at}"], bound[f"tenant{at}"] = lane, tenant
        rows = sorted(
            (share, order, run_id)
            for share, run_id, order in await self.conn.execute(
                _picks(len(shares), rounded(math.ceil(limit / len(shares)))), bound
            )
        )
        return [
            Pick(rank, order, run_id, shares[share][1])
            for share, members in groupby(rows, key=itemgetter(0))
            for rank, (_, order, run_id) in enumerate(members)
        ]

    async def claim(
        self, run_ids: Sequence[str], worker: str, lease: timedelta, now: datetime, token: str | None = None
    ) -> list[Claimed]:
        rows = (await self.conn.execute(_takeable(self.dialect), {"ids": list(run_ids), "now": now})).all()
        rows = await self._let_through(rows, run_ids, now)
        if not rows:
            return []
        token = token or new_id("tok")
        taken = {"ids": [row.id for row in rows], "b_token": token, "b_worker": worker, "b_now": now}
        made = await self.conn.execute(_take(self.dialect, self._own_clock), taken | self._lease(lease, now))
        if made.rowcount != len(rows):
            # A queue was paused between the two statements.
            ours = {claimed.fence.run_id for claimed in await self.held([row.id for row in rows], token)}
            rows = [row for row in rows if row.id in ours]
        await self._load_versions(rows)
        return [self._claimed(row, Fence(row.id, row.epoch + 1, token), row.attempt + 1, now) for row in rows]

    async def _let_through(self, rows: Sequence[Any], run_ids: Sequence[str], now: datetime) -> Sequence[Any]:
        """Those that the caps of their tenants allow, the most urgent first."""
        await self.caps.refresh(self.conn, now)
        if not self.caps.capped({row.tenant_id for row in rows}):
            return rows
        rank = {run_id: at for at, run_id in enumerate(run_ids)}
        return await self.caps.within(self.conn, self.dialect, sorted(rows, key=lambda row: rank[row.id]))

    async def held(self, run_ids: Sequence[str], token: str) -> list[Claimed]:
        mine = (self.dialect.among(runs.c.id, run_ids), runs.c.token == token, runs.c.state == RunState.RUNNING)
        rows = (await self.conn.execute(select(*_ROW).where(*mine))).all()
        await self._load_versions(rows)
        return [self._claimed(row, Fence(row.id, row.epoch, token), row.attempt, row.attempt_at) for row in rows]

    async def extend(self, fences: Sequence[Fence], lease: timedelta, now: datetime) -> set[str]:
        ids, tokens = [fence.run_id for fence in fences], sorted({fence.token for fence in fences})
        ours = (
            self.dialect.among(runs.c.id, ids),
            self.dialect.among(runs.c.token, tokens),
            runs.c.state == RunState.RUNNING,
        )
        renewed = update(runs).where(*ours).values(lease_until=_until(self.dialect, self._own_clock))
        await self.conn.execute(renewed, self._lease(lease, now))
        held = {
            (row.id, row.epoch, row.token)
            for row in await self.conn.execute(select(runs.c.id, runs.c.epoch, runs.c.token).where(*ours))
        }
        return {fence.run_id for fence in fences if (fence.run_id, fence.epoch, fence.token) in held}

    async def cancels(self, run_ids: Sequence[str]) -> set[str]:
        # A run that runs no more, seen by whoever still performs it, was taken away.
        stop = or_(runs.c.cancel_requested.is_(True), runs.c.state != RunState.RUNNING)
        query = select(runs.c.id).where(self.dialect.among(runs.c.id, run_ids), stop)
        return set((await self.conn.execute(query)).scalars())

    async def finish(self, endings: Sequence[Ending], now: datetime) -> Finished:
        return await ends.finish(self.conn, self.dialect, endings, now)

    async def lock_expired(self, now: datetime, limit: int) -> list[Claimed]:
        clock = None if self.bind_clock else self.dialect.now()
        query = select(*_ROW).where(runs.c.lease_until < (now if clock is None else clock))
        query = query.order_by(runs.c.lease_until).limit(limit)
        rows = (await self.conn.execute(self.dialect.lock(query, skip=True))).all()
        await self._load_versions(rows)
        return [self._claimed(row, Fence(row.id, row.epoch, row.token), row.attempt, row.attempt_at) for row in rows]

    async def release(self, now: datetime, schedule_ids: Sequence[str] | None = None, limit: int = 1000) -> int:
        return await ends.release(self.conn, self.dialect, now, schedule_ids, limit)

    @property
    def _own_clock(self) -> bool:
        """Whether leases end by the caller's clock instead of the database's."""
        return self.bind_clock or self.dialect.now() is None

    def _lease(self, lease: timedelta, now: datetime) -> dict[str, Any]:
        if self._own_clock:
            return {"b_until": now + lease}
        return {"b_micros": int(lease.total_seconds() * 1_000_000)}

    async def _load_versions(self, rows: Sequence[Any]) -> None:
        """Versions never change, so what was read once is kept."""
        wanted = {(row.schedule_id, row.version) for row in rows if row.schedule_id is not None}
        missing = sorted(key for key in wanted if key not in self.versions)
        if not missing:
            return
        if len(self.versions) > 10_000:
            self.versions.clear()
            missing = sorted(wanted)
        wanted_ids = {"ids": [schedule_id for schedule_id, _ in missing], "numbers": sorted({at for _, at in missing})}
        for row in await self.conn.execute(_versions(self.dialect), wanted_ids):
            try:
                fault = "its action is not JSON" if isinstance(row.action, Damaged) else None
                self.versions[row.schedule_id, row.version] = (load_spec(row.spec, row.anchor), row.action, fault)
            except Invalid as error:
                self.versions[row.schedule_id, row.version] = (None, {}, str(error))

    def _claimed(self, row: Any, fence: Fence, attempt: int, started_at: datetime) -> Claimed:
        absent: tuple[Spec | None, Mapping[str, Any], str | None] = (None, {}, "its schedule's version is gone")
        spec, config, fault = (
            self.versions.get((row.schedule_id, row.version), absent) if row.schedule_id else (None, {}, None)
        )
        if isinstance(row.action, Damaged):
            fault = "its action is not JSON"
        return Claimed(
            fence=fence,
            tenant_id=row.tenant_id,
            schedule_id=row.schedule_id,
            kind=row.kind,
            queue=row.queue,
            attempt=attempt,
            max_attempts=row.max_attempts,
            timeout_seconds=row.timeout_seconds,
            scheduled_for=row.scheduled_for,
            ready_at=row.ready_at,
            started_at=started_at,
            cancel_requested=row.cancel_requested,
            spec=spec,
            config=row.action if row.action is not None else config,
            fault=fault,
        )
