"""Claims of runs: fair selection, conditional update, renewal of leases, and reclaiming expired ones."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Select, TextClause, Update, bindparam, func, null, or_, select, text, update

from foliot.core.ids import new_id
from foliot.core.queue_name import PRIORITIES
from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.db.metadata import Moment, moment_out
from foliot.engine.model.run import AGEING, CLAIMABLE, Fence, RunState, order_key
from foliot.engine.model.views import Admit, AttemptEnding, ClaimedRun, EndingsResult, PostponedRun
from foliot.engine.sql import endings as ends
from foliot.engine.sql.claimed_row import ROW, ClaimableRun, SqlClaimedRows
from foliot.engine.sql.leases import Leases, until
from foliot.engine.sql.queues import open_to
from foliot.engine.sql.tables import runs
from foliot.engine.sql.tenant_limits import ConcurrencyLimits, first_of_each

SHARES = 100
"""How many tenants and queues one selection is divided among at most."""

_EXPIRED = (*ROW, runs.c.handle, runs.c.lost_looks)

# Hops from one (queue, tenant) to the next through the index (loose index scan), instead of reading every ready row.
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
    """Rounded up to a power of two, so that there are few texts to plan; the caller takes no more than it wanted."""
    return 1 << (count - 1).bit_length()


@cache
def _takeable(dialect: Dialect) -> Select[Any]:
    query = select(*ROW).where(
        dialect.listed(runs.c.id, "ids"),
        runs.c.state.in_(sorted(CLAIMABLE)),
        runs.c.lane.is_not(None),
        # A row that was changed by hand and has no attempt left would make the whole claim violate its CHECK.
        runs.c.attempt < runs.c.max_attempts,
        runs.c.ready_at <= bindparam("now", type_=Moment()),
        *open_to(dialect),
    )
    return dialect.lock(query, skip=True)


@cache
def _take(dialect: Dialect, own_clock: bool) -> Update:  # noqa: FBT001 -- part of the cache's key
    now = bindparam("b_now", type_=Moment())
    return (
        update(runs)
        .where(dialect.listed(runs.c.id, "ids"), runs.c.state.in_(sorted(CLAIMABLE)))
        .where(*open_to(dialect))
        .ordered_values(
            (runs.c.started_seq, runs.c.event_seq + 1),
            (runs.c.event_seq, runs.c.event_seq + 1),
            (runs.c.epoch, runs.c.epoch + 1),
            (runs.c.attempt, runs.c.attempt + 1),
            (runs.c.state, RunState.RUNNING.value),
            (runs.c.lane, None),
            (runs.c.token, bindparam("b_token")),
            (runs.c.lease_until, until(dialect, own_clock)),
            (runs.c.worker, bindparam("b_worker")),
            (runs.c.attempt_at, now),
            (runs.c.started_at, func.coalesce(runs.c.started_at, now)),
            (runs.c.due_at, func.coalesce(runs.c.due_at, runs.c.ready_at)),
            (runs.c.waiting, null()),
        )
    )


class RunPick(NamedTuple):
    """A ready run: its rank in its share, and what orders it among all."""

    rank: int
    order: Any
    run_id: str
    tenant_id: str


def urgency(pick: RunPick) -> tuple[Any, str]:
    return pick.order, pick.run_id


@dataclass(frozen=True, slots=True)
class SqlClaims(Statements):
    """Statements of the workers."""

    @property
    def holding(self) -> SqlClaimedRows:
        return SqlClaimedRows(self.tx)

    @property
    def leases(self) -> Leases:
        return Leases(self.tx, runs)

    @property
    def caps(self) -> ConcurrencyLimits:
        return self.tx.cache(ConcurrencyLimits)

    async def ready(self, now: datetime, queues: Collection[str] | None, limit: int) -> list[str]:
        """Ids that could be claimed, most urgent first, each tenant its share."""
        shares = [
            (lane, tenant) for lane, tenant in await self.conn.execute(SHARED) if queues is None or lane in queues
        ]
        await self.caps.refresh(self.conn, now)
        rooms = await self.caps.rooms(self.conn, self.dialect, {tenant for _, tenant in shares})
        shares = [share for share in shares if rooms.get(share[1]) != 0]
        # The tenant that is first by name must not always be first.
        random.shuffle(shares)
        picks: list[RunPick] = []
        for start in range(0, len(shares), SHARES):
            picks += await self._pick(now, shares[start : start + SHARES], limit)
            picks = first_of_each(sorted(picks, key=urgency), rooms) if rooms else picks
            if len(picks) >= limit:
                break
        # With fewer slots than tenants, each gets its first before any has a second.
        chosen = sorted(picks, key=lambda pick: pick.rank)[:limit]
        return [pick.run_id for pick in sorted(chosen, key=urgency)]

    async def _pick(self, now: datetime, shares: Sequence[tuple[str, str]], limit: int) -> list[RunPick]:
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
            RunPick(rank, order, run_id, shares[share][1])
            for share, members in groupby(rows, key=itemgetter(0))
            for rank, (_, order, run_id) in enumerate(members)
        ]

    async def claim(
        self,
        run_ids: Sequence[str],
        worker: str,
        lease: timedelta,
        now: datetime,
        token: str | None = None,
        admit: Admit | None = None,
    ) -> list[ClaimedRun]:
        """Claim those that no other worker claimed first. With a `token`, a caller can ask later what it claimed.

        What `admit` refuses is not claimed: it waits until then, which is no attempt, and its row says why.
        """
        found = await self.conn.execute(_takeable(self.dialect), {"ids": list(run_ids), "now": now})
        rows: Sequence[ClaimableRun] = [ClaimableRun._make(row) for row in found]
        rows = await self._let_through(rows, run_ids, now)
        if not rows:
            return []
        token = token or new_id("tok")
        await self.holding.load(rows)
        holding = self.holding
        claimed = {
            row.id: holding.claimed(row, Fence(row.id, row.epoch + 1, token), row.attempt + 1, now) for row in rows
        }
        if admit is not None:
            rows = await self._admitted(rows, run_ids, claimed, admit)
        if not rows:
            return []
        taken = {"ids": [row.id for row in rows], "b_token": token, "b_worker": worker, "b_now": now}
        taken |= self.leases.bound(lease, now)
        result = await self.conn.execute(_take(self.dialect, self.leases.own_clock), taken)
        if result.rowcount != len(rows):
            # A queue was paused between the two statements.
            ours = {one.fence.run_id for one in await self.held([row.id for row in rows], token)}
            rows = [row for row in rows if row.id in ours]
        return [claimed[row.id] for row in rows]

    async def _let_through(self, rows: Sequence[Any], run_ids: Sequence[str], now: datetime) -> Sequence[Any]:
        """Those within the limits of their tenants, the most urgent first."""
        await self.caps.refresh(self.conn, now)
        if not self.caps.capped({row.tenant_id for row in rows}):
            return rows
        rank = {run_id: at for at, run_id in enumerate(run_ids)}
        return await self.caps.within(self.conn, self.dialect, sorted(rows, key=lambda row: rank[row.id]))

    async def _admitted(
        self, rows: Sequence[Any], run_ids: Sequence[str], claimed: Mapping[str, ClaimedRun], admit: Admit
    ) -> Sequence[Any]:
        """Those that get a slot, the most urgent first; the others wait, by one statement if any is deferred."""
        turned = admit([claimed[run_id] for run_id in run_ids if run_id in claimed])
        if not turned:
            return rows
        if waits := [(row, wait) for row in rows if (wait := turned.get(row.id)) is not None]:
            await self._put_off(waits)
        return [row for row in rows if row.id not in turned]

    async def _put_off(self, waits: Sequence[tuple[Any, PostponedRun]]) -> None:
        """Not an attempt: only the time of its next offer changes, and the reason."""
        keys = {"id": [row.id for row, _ in waits], "epoch": [row.epoch for row, _ in waits]}
        values: dict[str, list[Any]] = {
            "ready_at": [wait.until for _, wait in waits],
            "order_key": [order_key(wait.until, row.priority, catchup=row.catchup) for row, wait in waits],
            "due_at": [row.due_at or row.ready_at for row, _ in waits],
            "waiting": [wait.as_dict() for _, wait in waits],
        }
        await self.dialect.update(self.conn, runs, keys, values)

    async def held(self, run_ids: Sequence[str], token: str) -> list[ClaimedRun]:
        """Which of these carry this token, when the acknowledgement of a claim was lost."""
        mine = (self.dialect.among(runs.c.id, run_ids), runs.c.token == token, runs.c.state == RunState.RUNNING)
        rows = (await self.conn.execute(select(*ROW).where(*mine))).all()
        await self.holding.load(rows)
        return [self.holding.claimed(row, Fence(row.id, row.epoch, token), row.attempt, row.attempt_at) for row in rows]

    async def extend(self, fences: Sequence[Fence], lease: timedelta, now: datetime) -> set[str]:
        """Renew leases; answers the ids that are still ours."""
        return await self.leases.extend(fences, lease, now, runs.c.state == RunState.RUNNING)

    async def cancels(self, run_ids: Sequence[str]) -> set[str]:
        # A run that is no longer running was taken from the worker that still performs it.
        stop = or_(runs.c.cancel_requested.is_(True), runs.c.state != RunState.RUNNING)
        query = select(runs.c.id).where(self.dialect.among(runs.c.id, run_ids), stop)
        return set((await self.conn.execute(query)).scalars())

    async def finish(self, endings: Sequence[AttemptEnding], now: datetime) -> EndingsResult:
        result = await ends.finish(self.conn, self.dialect, endings, now)
        return await self.tx.cache(ends.EndingHooks).after(self.tx, result, now)

    async def lock_expired(self, now: datetime, limit: int, longest: timedelta | None = None) -> list[ClaimedRun]:
        """Runs whose lease ran out, by our clock and the database's, locked, as their last holder had them.

        A lease that ends later than `longest` from now was given before a clock went back, and counts as run out.
        """
        query = select(*_EXPIRED).where(runs.c.lease_until.is_not(None), self.leases.expired(now, longest))
        query = query.order_by(runs.c.lease_until).limit(limit)
        rows = (await self.conn.execute(self.dialect.lock(query, skip=True))).all()
        await self.holding.load(rows)
        return [
            replace(
                self.holding.claimed(row, Fence(row.id, row.epoch, row.token), row.attempt, row.attempt_at),
                handle=row.handle,
                lost_looks=row.lost_looks,
            )
            for row in rows
        ]

    async def release(self, now: datetime, schedule_ids: Sequence[str] | None = None, limit: int = 1000) -> int:
        """Release buffered runs whose predecessor has ended."""
        return await ends.release(self.conn, self.dialect, now, schedule_ids, limit)
