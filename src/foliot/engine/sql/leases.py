"""Leases on claimed rows, for every table with the work columns `id`, `epoch`, `token` and `lease_until`.

A claim raises `epoch`, writes a new `token`, and sets `lease_until` by the database's clock. Epoch and token are the
fence: a write that does not carry them changes nothing. What is picked, and what a claim writes besides, differs from
table to table; how a lease is given, renewed and found expired does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, bindparam, or_, select, update

from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.db.metadata import Moment
from foliot.engine.model.run import Fence

LONGEST, LEAST_LONGEST = 20, timedelta(minutes=1)
"""No process gives a lease this many times as long as ours: such a lease was given by a clock that was ahead."""


def until(dialect: Dialect, own_clock: bool) -> ColumnElement[datetime]:  # noqa: FBT001 -- part of a cache's key
    """The end of a lease that begins now."""
    return bindparam("b_until", type_=Moment()) if own_clock else dialect.later()


def fenced(row: Any, fence: Fence) -> bool:
    """Whether this fence is the one on the row."""
    return (row.epoch, row.token) == (fence.epoch, fence.token)


def longest(lease: timedelta) -> timedelta:
    """How far ahead the end of a lease from a correct clock can be."""
    return max(lease * LONGEST, LEAST_LONGEST)


@dataclass(frozen=True, slots=True)
class Leases(Statements):
    """The leases on the rows of one table."""

    table: Table

    @property
    def own_clock(self) -> bool:
        """Whether leases end by the caller's clock instead of the database's."""
        return self.bind_clock or self.dialect.now() is None

    def bound(self, lease: timedelta, now: datetime) -> dict[str, Any]:
        """The parameters of `until`."""
        if self.own_clock:
            return {"b_until": now + lease}
        return {"b_micros": int(lease.total_seconds() * 1_000_000)}

    async def extend(
        self, fences: Sequence[Fence], lease: timedelta, now: datetime, *also: ColumnElement[bool]
    ) -> set[str]:
        """Renew leases; answers the ids that are still ours."""
        row = self.table.c
        ids, tokens = [fence.run_id for fence in fences], sorted({fence.token for fence in fences})
        ours = (
            self.dialect.among(row.id, ids),
            self.dialect.among(row.token, tokens),
            *also,
            # What was parked or has ended in the meantime is held by no process.
            row.lease_until.is_not(None),
        )
        renewed = update(self.table).where(*ours).values(lease_until=until(self.dialect, self.own_clock))
        await self.conn.execute(renewed, self.bound(lease, now))
        held = {
            (row.id, row.epoch, row.token)
            for row in await self.conn.execute(select(row.id, row.epoch, row.token).where(*ours))
        }
        return {fence.run_id for fence in fences if (fence.run_id, fence.epoch, fence.token) in held}

    def expired(self, now: datetime, most: timedelta | None = None) -> ColumnElement[bool]:
        """A lease that expired by our clock and the database's: a step of one takes nothing from a living worker.

        One that ends later than `most` from now was given before a clock went back, and counts as expired.
        """
        ends = self.table.c.lease_until
        clock = None if self.bind_clock else self.dialect.now()
        over = and_(ends < now, *([] if clock is None else [ends < clock]))
        return over if most is None else or_(over, ends > now + most)
