"""Rows of bulk actions and their items. An item is settled in the transaction of its effect, so each is done once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, delete, func, insert, literal, or_, select, update

from foliot.db.database import Statements
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.leases import Leases, longest, until
from foliot.engine.sql.tables import runs, schedules
from foliot.features.bulk.model import (
    ONE_BY_ONE,
    OVER,
    Bulk,
    BulkItem,
    BulkOperation,
    BulkOrder,
    BulkState,
    CanaryRun,
)
from foliot.features.bulk.tables import bulk_items, bulks
from foliot.features.filters.model import FilterQuery
from foliot.features.filters.sql import schedules as schedule_sieve
from foliot.features.filters.sql.runs import RunConditions

_ITEM = ("bulk_id", "position", "tenant_id", "thing_id", "state")
MESSAGE = 500


@dataclass(frozen=True, slots=True)
class SqlBulks(Statements):
    """Reads and writes bulk actions and their items."""

    async def add(self, bulk: Bulk, now: datetime) -> None:
        await self.conn.execute(
            insert(bulks).values(
                id=bulk.id,
                tenant_id=bulk.tenant_id,
                user_id=bulk.user_id,
                key_id=bulk.key_id,
                door=bulk.door,
                action=bulk.act.value,
                filter=bulk.filter,
                details=self._sealed(bulk.tenant_id, bulk.details),
                ids_given=bulk.ids_given,
                sequence=bulk.order.value,
                rate=bulk.rate,
                stop_after=bulk.stop_after,
                state=bulk.state.value,
                total=bulk.total,
                next_at=now if bulk.state is BulkState.RUNNING else None,
                created_at=bulk.created_at,
                updated_at=bulk.updated_at,
                finished_at=bulk.finished_at,
            )
        )

    def _sealed(self, tenant_id: str, details: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        if details is None or "patch" not in details or self.sealer is None:
            return details
        return {**details, "patch": self.sealer.seal(tenant_id, details["patch"], patch=True)}

    def _opened(self, tenant_id: str, details: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        if details is None or "patch" not in details or self.sealer is None:
            return details
        return {**details, "patch": self.sealer.open(tenant_id, details["patch"]).action}

    def _bulk(self, row: Any) -> Bulk:
        bulk = _bulk(row)
        return replace(bulk, details=self._opened(bulk.tenant_id, bulk.details))

    async def fix_runs(self, bulk: Bulk, query: FilterQuery, now: datetime) -> int:
        """Store these runs as its items, with one statement; returns how many."""
        sieve = await RunConditions.of(self.conn, self.dialect, bulk.tenant_id, query, now)
        return await self._fix(bulk, sieve.chosen())

    async def fix_schedules(self, bulk: Bulk, query: FilterQuery) -> int:
        matching = schedule_sieve.conditions(bulk.tenant_id, query)
        return await self._fix(bulk, select(schedules.c.id).where(*matching))

    async def fix_pages(self, bulk: Bulk, matching: Select[Any]) -> int:
        """Store the pages that this statement selects as its items; returns how many."""
        return await self._fix(bulk, matching)

    async def _fix(self, bulk: Bulk, matching: Select[Any]) -> int:
        column = matching.subquery().c.id
        order = column.desc() if bulk.order is BulkOrder.NEWEST else column.asc()
        chosen = select(
            literal(bulk.id),
            func.row_number().over(order_by=order),
            literal(bulk.tenant_id),
            column,
            literal("pending"),
        )
        await self.conn.execute(insert(bulk_items).from_select(list(_ITEM), chosen))
        total = select(func.count()).select_from(bulk_items).where(bulk_items.c.bulk_id == bulk.id)
        return (await self.conn.scalar(total)) or 0

    async def fix_ids(self, bulk: Bulk, ids: Sequence[str]) -> int:
        ordered, count = sorted(ids, reverse=bulk.order is BulkOrder.NEWEST), len(ids)
        made = ([bulk.id] * count, list(range(1, count + 1)), [bulk.tenant_id] * count, ordered, ["pending"] * count)
        await self.dialect.insert(self.conn, bulk_items, dict(zip(_ITEM, made, strict=True)))
        return count

    async def get(self, tenant_id: str, bulk_id: str, *, lock: bool = False) -> Bulk | None:
        query = select(bulks).where(bulks.c.id == bulk_id, bulks.c.tenant_id == tenant_id)
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return None if row is None else self._bulk(row)

    async def find(self, tenant_id: str, page: PageRequest) -> list[Bulk]:
        """Newest first."""
        query = select(bulks).where(bulks.c.tenant_id == tenant_id).order_by(bulks.c.id.desc()).limit(page.limit)
        if page.cursor is not None:
            query = query.where(bulks.c.id < page.cursor)
        return [self._bulk(row) for row in await self.conn.execute(query)]

    async def failures(self, bulk_ids: Sequence[str], limit: int) -> dict[str, list[tuple[str, str]]]:
        """(id, message) of the first failed items of each."""
        found: dict[str, list[tuple[str, str]]] = {}
        for bulk_id in bulk_ids:
            mine = (bulk_items.c.bulk_id == bulk_id, bulk_items.c.state == "failed")
            query = select(bulk_items.c.thing_id, bulk_items.c.message).where(*mine)
            rows = await self.conn.execute(query.order_by(bulk_items.c.position).limit(limit))
            found[bulk_id] = [(thing_id, message or "") for thing_id, message in rows]
        return found

    async def outcomes(self, bulk_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """The states of the runs that each has created so far."""
        query = (
            select(bulk_items.c.bulk_id, runs.c.state, func.count())
            .select_from(bulk_items.join(runs, runs.c.id == bulk_items.c.run_id))
            .where(self.dialect.among(bulk_items.c.bulk_id, bulk_ids), bulk_items.c.state == "ok")
            .group_by(bulk_items.c.bulk_id, runs.c.state)
        )
        found: dict[str, dict[str, int]] = {}
        for bulk_id, state, count in await self.conn.execute(query):
            found.setdefault(bulk_id, {})[state] = count
        return found

    async def canary(self, bulk: Bulk) -> list[CanaryRun]:
        """Its first items, with the runs that they became."""
        query = (
            select(bulk_items.c.thing_id, bulk_items.c.message, bulk_items.c.run_id, runs.c.state, runs.c.error)
            .select_from(bulk_items.outerjoin(runs, runs.c.id == bulk_items.c.run_id))
            .where(bulk_items.c.bulk_id == bulk.id, bulk_items.c.position <= bulk.canary)
            .order_by(bulk_items.c.position)
        )
        rows = await self.conn.execute(query)
        return [
            CanaryRun(
                row.thing_id, row.message, row.run_id, None if row.state is None else RunState(row.state), row.error
            )
            for row in rows
        ]

    async def turn(self, bulk_id: str, state: BulkState, reason: str, now: datetime) -> None:
        """Set its state; `reason` says why."""
        values: dict[str, Any] = {
            "state": state.value,
            "reason": reason[:MESSAGE],
            "updated_at": now,
            "next_at": now if state is BulkState.RUNNING else None,
            "finished_at": now if state in OVER else None,
            "lease_until": None,
            "holder": None,
        }
        await self.conn.execute(update(bulks).where(bulks.c.id == bulk_id).values(**values))

    async def next_at(self, of: Collection[BulkOperation] = ONE_BY_ONE) -> datetime | None:
        """When the next turn of any running one with such an operation is due."""
        query = select(bulks.c.next_at).where(bulks.c.next_at.is_not(None), bulks.c.action.in_(sorted(of)))
        query = query.order_by(bulks.c.next_at).limit(1)
        return await self.conn.scalar(query)

    async def claim(
        self,
        holder: str,
        now: datetime,
        lease: timedelta,
        limit: int,
        of: Collection[BulkOperation] = ONE_BY_ONE,
    ) -> list[Bulk]:
        """Claim running ones whose turn has come and whose lease is free or expired, for the length of the lease."""
        leases = Leases(self.tx, bulks)
        free = or_(bulks.c.lease_until.is_(None), leases.expired(now, longest(lease)), bulks.c.holder == holder)
        mine = (bulks.c.next_at <= now, free, bulks.c.action.in_(sorted(of)))
        query = select(bulks).where(*mine).order_by(bulks.c.next_at).limit(limit)
        found = [self._bulk(row) for row in await self.conn.execute(self.dialect.lock(query, skip=True))]
        if found:
            these = self.dialect.among(bulks.c.id, [bulk.id for bulk in found])
            held = update(bulks).where(these).values(holder=holder, lease_until=until(self.dialect, leases.own_clock))
            await self.conn.execute(held, leases.bound(lease, now))
        return found

    async def renew(self, bulk_id: str, holder: str, now: datetime, lease: timedelta) -> None:
        """Extend the lease of one that this process still holds."""
        leases = Leases(self.tx, bulks)
        ours = (bulks.c.id == bulk_id, bulks.c.holder == holder)
        held = update(bulks).where(*ours).values(lease_until=until(self.dialect, leases.own_clock))
        await self.conn.execute(held, leases.bound(lease, now))

    async def items(self, bulk_id: str, limit: int) -> list[BulkItem]:
        """The next pending items."""
        waiting = (bulk_items.c.bulk_id == bulk_id, bulk_items.c.state == "pending")
        query = select(bulk_items.c.position, bulk_items.c.thing_id).where(*waiting)
        rows = await self.conn.execute(query.order_by(bulk_items.c.position).limit(limit))
        return [BulkItem(position, thing_id) for position, thing_id in rows]

    async def settle(self, bulk: Bulk, holder: str, item: BulkItem, now: datetime, failure: str | None) -> bool:
        """Mark the item done or failed; False when the bulk action no longer runs, or another process holds it."""
        pending = (
            bulk_items.c.bulk_id == bulk.id,
            bulk_items.c.position == item.position,
            bulk_items.c.state == "pending",
        )
        state = "ok" if failure is None else "failed"
        message = None if failure is None else failure[:MESSAGE]
        flipped = await self.conn.execute(update(bulk_items).where(*pending).values(state=state, message=message))
        if flipped.rowcount != 1:
            # Another process has settled it.
            return False
        column = bulks.c.ok if failure is None else bulks.c.failed
        ours = (bulks.c.id == bulk.id, bulks.c.state == BulkState.RUNNING, bulks.c.holder == holder)
        counted = await self.conn.execute(update(bulks).where(*ours).values({column: column + 1, "updated_at": now}))
        return counted.rowcount == 1

    async def settle_many(
        self, bulk: Bulk, holder: str, failures: Mapping[int, str | None], now: datetime
    ) -> frozenset[int] | None:
        """Mark items, by position, done or failed with a message; those that another process has settled are left out.

        None when the bulk action no longer runs, or another process holds it.
        """
        ours = (bulks.c.id == bulk.id, bulks.c.state == BulkState.RUNNING, bulks.c.holder == holder)
        held = self.dialect.lock(select(bulks.c.id).where(*ours))
        if (await self.conn.execute(held)).first() is None:
            return None
        pending = (bulk_items.c.bulk_id == bulk.id, bulk_items.c.state == "pending")
        asked = bulk_items.c.position.in_(sorted(failures))
        open_ = frozenset((await self.conn.execute(select(bulk_items.c.position).where(*pending, asked))).scalars())
        if not open_:
            return open_
        settled = sorted(open_)
        keys = {"bulk_id": [bulk.id] * len(settled), "position": settled}
        messages = [failures[at] for at in settled]
        values = {
            "state": ["ok" if message is None else "failed" for message in messages],
            "message": [None if message is None else message[:MESSAGE] for message in messages],
        }
        await self.dialect.update(self.conn, bulk_items, keys, values)
        bad = sum(message is not None for message in messages)
        counted = {"ok": bulks.c.ok + len(settled) - bad, "failed": bulks.c.failed + bad, "updated_at": now}
        await self.conn.execute(update(bulks).where(*ours).values(counted))
        return open_

    async def made(self, bulk: Bulk, item: BulkItem, run_id: str) -> None:
        place = (bulk_items.c.bulk_id == bulk.id, bulk_items.c.position == item.position)
        await self.conn.execute(update(bulk_items).where(*place).values(run_id=run_id))

    async def rest(self, bulk_id: str, holder: str, until: datetime, reason: str = "") -> None:
        """Release it until its next turn; any process may then claim it. `reason` says what it waits for."""
        ours = (bulks.c.id == bulk_id, bulks.c.state == BulkState.RUNNING, bulks.c.holder == holder)
        await self.conn.execute(update(bulks).where(*ours).values(next_at=until, reason=reason[:MESSAGE]))

    async def prune(self, before: datetime, limit: int) -> int:
        """Delete up to `limit` that ended before this moment, with their items."""
        query = select(bulks.c.id).where(bulks.c.finished_at < before).order_by(bulks.c.id).limit(limit)
        old = list((await self.conn.execute(query)).scalars())
        if old:
            await self.conn.execute(delete(bulk_items).where(self.dialect.among(bulk_items.c.bulk_id, old)))
            await self.conn.execute(delete(bulks).where(self.dialect.among(bulks.c.id, old)))
        return len(old)


def _bulk(row: Any) -> Bulk:
    return Bulk(
        id=row.id,
        tenant_id=row.tenant_id,
        user_id=row.user_id,
        key_id=row.key_id,
        door=row.door,
        act=BulkOperation(row.action),
        filter=row.filter,
        details=row.details,
        ids_given=row.ids_given,
        order=BulkOrder(row.sequence),
        rate=row.rate,
        stop_after=row.stop_after,
        state=BulkState(row.state),
        total=row.total,
        ok=row.ok,
        failed=row.failed,
        reason=row.reason,
        created_at=row.created_at,
        updated_at=row.updated_at,
        finished_at=row.finished_at,
    )
