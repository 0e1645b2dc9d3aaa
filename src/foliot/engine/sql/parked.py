"""Statements on parked runs: the handle is stored before the effect starts, one watcher at a time checks it.

A watcher holds a run by a lease, as a worker does. A run that was ended from outside has no lease any more: its
`poll_at` is moved on instead, so that it is due again if the watcher that releases its effect dies.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Select, Update, bindparam, literal_column, or_, select, update

from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.db.metadata import DamagedDocument, Moment
from foliot.engine.model.run import DueParkedRuns, Fence, ParkedUpdate, RunState
from foliot.engine.model.views import ClaimedRun
from foliot.engine.sql.claimed_row import ROW, SqlClaimedRows
from foliot.engine.sql.leases import Leases, fenced, until
from foliot.engine.sql.log_chunks import LogChunkWriter, position_columns
from foliot.engine.sql.run_items import write_items
from foliot.engine.sql.tables import log_chunks, runs

_ROW = (*ROW, runs.c.state, runs.c.handle, runs.c.lost_looks, runs.c.poll_at)

OVERDUE = timedelta(seconds=5)
"""How long runs whose watcher died, perhaps because of them, are checked after the others; not longer."""

_HELD = (
    runs.c.id,
    runs.c.tenant_id,
    runs.c.epoch,
    runs.c.token,
    runs.c.state,
    runs.c.attempt,
    runs.c.event_seq,
    runs.c.log_bytes,
    runs.c.log_dropped,
    runs.c.lease_until,
    runs.c.cancel_requested,
)


@cache
def _coming(limit: int, some_queues: bool) -> Select[Any]:  # noqa: FBT001 -- part of the cache's key
    """The limit is part of the text: a plan for any limit might read every parked run."""
    query = select(runs.c.id, runs.c.poll_at).where(runs.c.poll_at.is_not(None), runs.c.kind == bindparam("kind"))
    if some_queues:
        query = query.where(runs.c.queue.in_(bindparam("queues", expanding=True)))
    return query.order_by(runs.c.poll_at).limit(literal_column(str(limit)))


@cache
def _due(dialect: Dialect) -> Select[Any]:
    due = runs.c.poll_at <= bindparam("now", type_=Moment())
    return dialect.lock(select(*_ROW).where(dialect.listed(runs.c.id, "ids"), due), skip=True)


@cache
def _take(dialect: Dialect, own_clock: bool) -> Update:  # noqa: FBT001 -- part of the cache's key
    return (
        update(runs)
        .where(dialect.listed(runs.c.id, "ids"))
        .values(
            epoch=runs.c.epoch + 1,
            token=bindparam("b_token"),
            worker=bindparam("b_worker"),
            lease_until=until(dialect, own_clock),
            poll_at=None,
        )
    )


@cache
def _held(dialect: Dialect) -> Select[Any]:
    return dialect.lock(select(*_HELD).where(dialect.listed(runs.c.id, "ids")).order_by(runs.c.id))


@dataclass(frozen=True, slots=True)
class SqlParked(Statements):
    """Statements of the watchers."""

    @property
    def holding(self) -> SqlClaimedRows:
        return SqlClaimedRows(self.tx)

    @property
    def leases(self) -> Leases:
        return Leases(self.tx, runs)

    async def note(self, fence: Fence, handle: Mapping[str, Any]) -> bool:
        """Store a handle before the effect starts; False when the fence no longer holds."""
        ours = (runs.c.id == fence.run_id, runs.c.epoch == fence.epoch, runs.c.token == fence.token)
        noted = update(runs).where(*ours, runs.c.lease_until.is_not(None)).values(handle=dict(handle))
        return (await self.conn.execute(noted)).rowcount == 1

    async def coming(self, kind: str, queues: Collection[str] | None, now: datetime, limit: int) -> DueParkedRuns:
        parameters = {"kind": kind} if queues is None else {"kind": kind, "queues": sorted(queues)}
        rows = (await self.conn.execute(_coming(limit, queues is not None), parameters)).all()
        later = [row.poll_at for row in rows if row.poll_at > now]
        return DueParkedRuns([row.id for row in rows if row.poll_at <= now], later[0] if later else None)

    async def claim(
        self, run_ids: Sequence[str], worker: str, lease: timedelta, now: datetime, token: str
    ) -> list[ClaimedRun]:
        """Claim those that no other watcher claimed first. Their attempt goes on: no event is written, none is used up.

        A run whose last holder vanished is claimed alone: should it be the cause, no other run is affected.
        """
        due = (await self.conn.execute(_due(self.dialect), {"ids": list(run_ids), "now": now})).all()
        rows = _together(due, now)
        alive = [row.id for row in rows if row.state == RunState.RUNNING]
        ended = [row.id for row in rows if row.state != RunState.RUNNING]
        if alive:
            taken = {"ids": alive, "b_token": token, "b_worker": worker} | self.leases.bound(lease, now)
            await self.conn.execute(_take(self.dialect, self.leases.own_clock), taken)
        if ended:
            later = update(runs).where(self.dialect.among(runs.c.id, ended))
            await self.conn.execute(later.values(epoch=runs.c.epoch + 1, token=token, poll_at=now + lease))
        return await self._claimed(rows, token, 1)

    async def held(self, run_ids: Sequence[str], token: str) -> list[ClaimedRun]:
        """Which of these carry this token, when the acknowledgement of a claim was lost."""
        mine = (self.dialect.among(runs.c.id, run_ids), runs.c.token == token)
        in_hand = or_(runs.c.lease_until.is_not(None), runs.c.poll_at.is_not(None))
        rows = (await self.conn.execute(select(*_ROW).where(*mine, in_hand))).all()
        return await self._claimed(rows, token, 0)

    async def _claimed(self, rows: Sequence[Any], token: str, risen: int) -> list[ClaimedRun]:
        await self.holding.load(rows)
        return [self._one(row, Fence(row.id, row.epoch + risen, token)) for row in rows]

    def _one(self, row: Any, fence: Fence) -> ClaimedRun:
        claimed = self.holding.claimed(row, fence, row.attempt, row.attempt_at)
        fault = "its handle is not JSON" if isinstance(row.handle, DamagedDocument) else claimed.fault
        return replace(claimed, handle=row.handle, ended=row.state != RunState.RUNNING, fault=fault)

    async def park(self, parkings: Sequence[ParkedUpdate], now: datetime) -> set[str]:
        """Park them; returns the ids whose fence held. Idempotent."""
        by_id = {parking.fence.run_id: parking for parking in parkings}
        held, ended, accepted = [], [], set()
        for row in await self.conn.execute(_held(self.dialect), {"ids": list(by_id)}):
            parking = by_id[row.id]
            if not fenced(row, parking.fence):
                continue
            accepted.add(row.id)
            if row.state != RunState.RUNNING:
                ended.append((row, parking))
            elif row.lease_until is not None:
                held.append((row, parking))
            # Otherwise it was parked by us before, and the acknowledgement got lost.
        if held:
            await self._write(held, now)
        if ended:
            await self._move(ended, {"poll_at": [parking.poll_at for _, parking in ended]})
        return accepted

    async def _write(self, held: Sequence[tuple[Any, ParkedUpdate]], now: datetime) -> None:
        scribe = LogChunkWriter.new()
        tolds = await scribe.tell_each((row, parking.lines, None) for row, parking in held)
        if scribe.columns["run_id"]:
            await self.dialect.insert(self.conn, log_chunks, scribe.columns)
        brought = [(row.tenant_id, row.id, parking.items) for row, parking in held if parking.items]
        if brought:
            await write_items(self.conn, self.dialect, brought)
        nothing: list[Any] = [None] * len(held)
        values = {
            **(position_columns(tolds) if any(parking.lines for _, parking in held) else {}),
            # A cancellation that came during the check: check again at once.
            "poll_at": [
                now if row.cancel_requested and not parking.cancelling else parking.poll_at for row, parking in held
            ],
            "lease_until": nothing,
            "worker": nothing,
            "lost_looks": [0] * len(held),
        }
        await self._move(held, values)

    async def _move(self, parked: Sequence[tuple[Any, ParkedUpdate]], values: Mapping[str, list[Any]]) -> None:
        keys = {"id": [row.id for row, _ in parked], "epoch": [row.epoch for row, _ in parked]}
        handles = [dict(parking.handle) for _, parking in parked]
        await self.dialect.update(self.conn, runs, keys, {**values, "handle": handles})

    async def take_back(self, lost: Sequence[ClaimedRun], now: datetime) -> int:
        """Park runs again whose holder vanished, to be checked now; no attempt is used up."""
        ids = [claimed.fence.run_id for claimed in lost]
        expired = (self.dialect.among(runs.c.id, ids), runs.c.handle.is_not(None), runs.c.lease_until.is_not(None))
        anew = {"epoch": runs.c.epoch + 1, "token": None, "worker": None, "lease_until": None, "poll_at": now}
        anew["lost_looks"] = runs.c.lost_looks + 1
        return (await self.conn.execute(update(runs).where(*expired).values(anew))).rowcount

    async def let_go(self, fences: Sequence[Fence]) -> int:
        """The effects of these ended runs are released: they are checked no more. Returns how many fences held."""
        keys = {
            "id": [fence.run_id for fence in fences],
            "epoch": [fence.epoch for fence in fences],
            "token": [fence.token for fence in fences],
        }
        return await self.dialect.update(self.conn, runs, keys, {"poll_at": [None] * len(fences)})


def _together(rows: Sequence[Any], now: datetime) -> Sequence[Any]:
    """The runs that may be checked in one group: all whose watcher never died, or a single one whose watcher did."""
    waited = [row for row in rows if row.lost_looks and row.poll_at <= now - OVERDUE]
    safe = [row for row in rows if not row.lost_looks]
    return waited[:1] or safe or rows[:1]
