"""Fires due schedules: a handful of statements for a whole batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import CompoundSelect, Select, Text, bindparam, func, literal_column, select, type_coerce, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.batch_statements import Change
from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.db.metadata import Moment
from foliot.engine.model.overlap import OpenRun
from foliot.engine.model.run import Origin
from foliot.engine.model.settle import DueSchedule, SchedulePlan
from foliot.engine.model.views import PlansRecorded
from foliot.engine.sql import settled_rows
from foliot.engine.sql.endings import cancel_runs
from foliot.engine.sql.tables import runs, schedules, tenants
from foliot.engine.sql.tenant_limits import CATCHUP, FRESH, wait_turns

_DUE = (
    schedules.c.id,
    schedules.c.tenant_id,
    schedules.c.user_id,
    schedules.c.version,
    schedules.c.spec,
    schedules.c.anchor,
    schedules.c.next_at,
    schedules.c.fired,
    schedules.c.gap_first,
    schedules.c.gap_reason,
    schedules.c.last_run_at,
    schedules.c.skip_at,
    schedules.c.skip_by,
    schedules.c.ahead_until,
)


# The condition is repeated, so that SQLite can use its partial index.
_NEXT_DUE = select(func.min(schedules.c.next_at)).where(schedules.c.next_at.is_not(None))


@cache
def _due(dialect: Dialect, bind_clock: bool, limit: int) -> Select[Any]:  # noqa: FBT001 -- part of the cache's key
    now = bindparam("now", type_=Moment())
    clock, begun = (None, None) if bind_clock else (dialect.now(), dialect.begun())
    later = schedules.alias("later")
    # What is not due yet, by the slower of the clocks: a ticker that sleeps until then misses nothing.
    following = select(func.min(later.c.next_at)).where(
        later.c.next_at > (now if begun is None else dialect.earlier(now, begun))
    )
    query = select(*_DUE, following.scalar_subquery()).where(schedules.c.next_at <= now)
    if clock is not None:
        # Our clock follows the database's, but only the database's decides.
        query = query.where(schedules.c.next_at <= clock)
    # A plan for any limit reads the whole table; the limit is part of the text so that it reads that many rows.
    return dialect.lock(query.order_by(schedules.c.next_at).limit(literal_column(str(limit))), skip=True)


@dataclass(frozen=True, slots=True)
class SqlFiring(Statements):
    """Statements of the ticker."""

    async def lock_due(
        self, now: datetime, limit: int, *, own_clock: bool = False
    ) -> tuple[list[DueSchedule], datetime | None]:
        """Locks due schedules; returns them, and when the next one is due; None also when nothing is due.

        The database's clock decides, unless the caller says that its own does.
        """
        query = _due(self.dialect, self.bind_clock or own_clock, limit)
        rows = (await self.conn.execute(query, {"now": now})).all()
        due = [DueSchedule(*row[:-1]) for row in rows]
        await self._load_ahead(due, now)
        return due, rows[0][-1] if rows else None

    async def lock_one(self, schedule_id: str) -> DueSchedule | None:
        """The same lock on one schedule, due or not, for edits; None when it has no cursor."""
        query = select(*_DUE).where(schedules.c.id == schedule_id)
        row = (await self.conn.execute(self.dialect.lock(query))).first()
        if row is None or row.next_at is None:
            return None
        due = DueSchedule(*row)
        await self._load_ahead([due], due.ahead_until or due.next_at)
        return due

    async def _load_ahead(self, found: Sequence[DueSchedule], until: datetime) -> None:
        """Instants up to there that have their run already; hardly any schedule ever has such."""
        led = {one.id: one for one in found if one.ahead_until is not None}
        if not led:
            return
        query = select(runs.c.schedule_id, runs.c.fills).where(
            self.dialect.among(runs.c.schedule_id, sorted(led)),
            runs.c.fills >= min(one.next_at for one in led.values()),
            runs.c.fills <= until,
            runs.c.origin == Origin.INSTANT,
        )
        for schedule_id, at in await self.conn.execute(query):
            led[schedule_id].ahead |= {at}

    async def open_runs(self, schedule_ids: Sequence[str]) -> dict[str, list[OpenRun]]:
        return await settled_rows.open_runs(self.conn, self.dialect, schedule_ids)

    async def record(self, plans: Sequence[SchedulePlan], now: datetime) -> PlansRecorded:
        """Write every plan: runs, ledger, cursors. The cursor is compared, so a plan made twice is written once."""
        if not plans:
            return PlansRecorded()
        owed = [(plan.due, plan.spec, run) for plan in plans if plan.spec for run in plan.runs]
        rates = self.tx.cache(CatchupRates)
        if self.tx.confined:
            # What is read here may be the rate of one tenant only, and must not be kept for all.
            rates = CatchupRates(rates.default)
        runs_made = await paced(self.conn, self.dialect, rates, owed, now)
        if runs_made:
            moved = await self.dialect.update_and_insert(
                self.conn, _advanced(plans), (runs, settled_rows.created(runs_made, now))
            )
        else:
            moved = await self.dialect.update(self.conn, *_advanced(plans)[:3])
        if moved != len(plans):
            # Impossible under the row lock; without it another process settled these instants first.
            raise RuntimeError(f"{len(plans) - moved} of {len(plans)} cursors moved while their rows were locked")
        await settled_rows.account(self.conn, self.dialect, plans)
        await settled_rows.complete(self.conn, self.dialect, plans)
        await self._replace(plans, now)
        lateness = [(now - run.scheduled_for).total_seconds() for _, _, run in runs_made]
        return PlansRecorded(len(runs_made), [run.ready_at for _, _, run in runs_made if run.ready_at > now], lateness)

    async def _replace(self, plans: Sequence[SchedulePlan], now: datetime) -> None:
        cancel = [run_id for plan in plans for run_id in plan.cancel]
        stop = [run_id for plan in plans for run_id in plan.terminate]
        if cancel or stop:
            await cancel_runs(self.conn, self.dialect, cancel, now, "replaced by a later instant", at_once=stop)

    async def next_due(self) -> datetime | None:
        next_at: datetime | None = await self.conn.scalar(_NEXT_DUE)
        return next_at


def _advanced(plans: Sequence[SchedulePlan]) -> Change:
    values: dict[str, list[Any]] = {
        "next_at": [plan.next_at for plan in plans],
        "fired": [plan.fired for plan in plans],
        "status": [plan.status.value for plan in plans],
        "gap_first": [plan.gap_first for plan in plans],
        "gap_reason": [plan.gap_reason for plan in plans],
        "last_run_at": [plan.last_run_at for plan in plans],
    }
    if any(plan.fault for plan in plans):
        values["fault"] = [plan.fault for plan in plans]
        values["fault_next_at"] = [plan.due.next_at if plan.fault else None for plan in plans]
    if any(plan.due.skip_at for plan in plans):
        values["skip_at"] = [plan.skip_at for plan in plans]
        values["skip_by"] = [None if plan.skip_at is None else plan.due.skip_by for plan in plans]
    if any(plan.due.ahead_until for plan in plans):
        values["ahead_until"] = [plan.ahead_until for plan in plans]
    keys = {"id": [plan.due.id for plan in plans], "next_at": [plan.due.next_at for plan in plans]}
    return Change(schedules, keys, values)


CATCHUP_LIMIT = "catchup_rate"
MINUTE = timedelta(minutes=1)

# Few tenants have a rate of their own; only their rows are read.
_OWN_RATES = select(tenants.c.tenant_id, tenants.c.limits).where(
    type_coerce(tenants.c.limits, Text()).contains(f'"{CATCHUP_LIMIT}"', autoescape=True)
)


@dataclass(slots=True)
class CatchupRates:
    """Runs per minute, by tenants' rows or else by the settings; cached per process."""

    default: int | None = None
    own: Mapping[str, int | None] = field(default_factory=dict)
    read_at: datetime | None = None

    async def refresh(self, conn: AsyncConnection, now: datetime) -> None:
        if self.read_at is None or not timedelta() <= now - self.read_at < FRESH:
            stated = [(tenant, limits.get(CATCHUP_LIMIT)) for tenant, limits in await conn.execute(_OWN_RATES)]
            self.own = {tenant: rate for tenant, rate in stated if rate is None or isinstance(rate, int)}
            self.read_at = now

    def of(self, tenant_id: str) -> int | None:
        return self.own.get(tenant_id, self.default)


def _last_moments(dialect: Dialect, tenant_ids: Sequence[str]) -> CompoundSelect[Any]:
    """The last moment given out for each queue, by runs that wait in it and by buffered ones."""
    # A retry or a postponement moves `ready_at`; `due_at` keeps the moment that was given out.
    moment = func.max(func.coalesce(runs.c.due_at, runs.c.ready_at))
    query = select(runs.c.tenant_id, runs.c.queue, moment).group_by(runs.c.tenant_id, runs.c.queue)
    query = query.where(dialect.among(runs.c.tenant_id, tenant_ids), runs.c.catchup.is_(True))
    # Each half can use a partial index.
    return union_all(query.where(runs.c.lane.is_not(None)), query.where(runs.c.buffered_of.is_not(None)))


async def paced(
    conn: AsyncConnection, dialect: Dialect, rates: CatchupRates, made: Sequence[settled_rows.Made], now: datetime
) -> Sequence[settled_rows.Made]:
    """The same runs; those that catch up begin one after another, behind those that wait already.

    The tenants' turns are locked until the runs are committed, so that no two tickers give out the same moments.
    """
    if not any(run.catchup for _, _, run in made):
        return made
    await rates.refresh(conn, now)
    limited = sorted({due.tenant_id for due, _, run in made if run.catchup and rates.of(due.tenant_id)})
    if not limited:
        return made
    await wait_turns(conn, dialect, limited, CATCHUP)
    last: dict[tuple[str, str], datetime] = {}
    for tenant, queue, at in await conn.execute(_last_moments(dialect, limited)):
        last[tenant, queue] = max(at, last.get((tenant, queue), at))
    found = []
    for due, spec, run in made:
        rate = rates.of(due.tenant_id) if run.catchup else None
        if not rate:
            found.append((due, spec, run))
            continue
        key = due.tenant_id, spec.queue
        at = max(now, last[key] + MINUTE / rate) if key in last else now
        last[key] = at
        found.append((due, spec, replace(run, ready_at=max(run.ready_at, at))))
    return found
