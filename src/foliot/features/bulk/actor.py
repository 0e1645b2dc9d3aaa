"""Carries out bulk actions at their rate: each item in a transaction that performs it and marks it done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from foliot.commands.envelope import CommandContext, unchecked_command
from foliot.core.errors import FoliotError, TooMany, Unavailable
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.loop import rest_until
from foliot.engine.model.run import FAILURES
from foliot.features.bulk.model import BULKS_TOPIC, Bulk, BulkItem, BulkState, bulk_topic, canary_fault, turn
from foliot.features.bulk.sql import SqlBulks
from foliot.features.bulk.usecases import BulkItemAction, BulkItemActions
from foliot.wakeups.feed import Feed

LEASE = timedelta(seconds=15)
AT_ONCE = 5
"""Bulk actions that one process works on at a time."""
JUDGED = timedelta(seconds=1)
"""How often the outcomes of the created runs are counted, when a bulk action has a canary or stops after failures."""

log = structlog.get_logger("foliot.engine")


class _LostBulk(Exception):
    """Raised when the bulk action was paused or stopped, or another process holds it: the item is rolled back."""


@dataclass(frozen=True, slots=True)
class ItemsProcessed:
    """The result of one round."""

    items: int
    rest: float


@dataclass(slots=True, kw_only=True)
class BulkRunner:
    """Safe on every node: one of them holds the lease of a bulk action, and a settled item is settled for all."""

    clock: Clock
    store: Database
    feed: Feed
    actions: BulkItemActions
    holder: str
    period: float = 1.0
    name: str = "hauler"
    topics: Sequence[str] = (BULKS_TOPIC,)
    _judged: dict[str, datetime] = field(default_factory=dict)

    async def run_once(self) -> ItemsProcessed:
        now = self.clock.now()
        async with self.store.glance() as look:
            due = await SqlBulks(look).next_at()
        if due is None:
            self._judged.clear()
            return ItemsProcessed(0, self.period)
        if due > now:
            return ItemsProcessed(0, rest_until(due, now, self.period))
        async with self.store.begin() as tx:
            held = await SqlBulks(tx).claim(self.holder, now, LEASE, AT_ONCE)
        if not held:
            # Another process holds it; if that one crashes, its lease expires.
            return ItemsProcessed(0, self.period)
        return ItemsProcessed(sum([await self._turn(bulk) for bulk in held]), 0)

    async def _turn(self, bulk: Bulk) -> int:
        """Process as many items as are due at its rate."""
        action = self.actions.take(bulk)
        count, seconds = turn(bulk.rate)
        began, done = self.clock.now(), 0
        if bulk.canary:
            if bulk.done == bulk.canary and await self._waits(bulk):
                self.feed.wake(bulk_topic(bulk.id))
                return 0
            count = min(count, bulk.canary - bulk.done) if bulk.done < bulk.canary else count
        async with self.store.glance() as look:
            items = await SqlBulks(look).items(bulk.id, count)
        try:
            for item in items:
                await self._act(action, bulk, item)
                done += 1
        except TooMany as refused:
            # The tenant's rate limit is reached for now: the item stays pending.
            seconds = max(seconds, refused.retry_after or 1.0)
        except _LostBulk:
            self.feed.wake(bulk_topic(bulk.id))
            return done
        await self._go_on(bulk, began + timedelta(seconds=seconds))
        self.feed.wake(bulk_topic(bulk.id))
        return done

    async def _waits(self, bulk: Bulk) -> bool:
        """Whether the others do not follow the canary: it is open, or has failed, which stops the bulk action."""
        async with self.store.glance() as look:
            canary = await SqlBulks(look).canary(bulk)
        fault = canary_fault(canary, bulk.total - bulk.done)
        waits = [run for run in canary if run.open]
        if fault is None and not waits:
            return False
        async with self.store.begin(bulk.tenant_id) as tx:
            now = self.clock.now()
            seen = await SqlBulks(tx).get(bulk.tenant_id, bulk.id, lock=True)
            if seen is None or seen.state is not BulkState.RUNNING:
                return True
            if fault is not None:
                await SqlBulks(tx).turn(bulk.id, BulkState.STOPPED, fault, now)
            else:
                reason = f"waiting for the canary: {waits[0].run_id} is {waits[0].state}"
                await SqlBulks(tx).rest(bulk.id, self.holder, now + JUDGED, reason)
        return True

    async def _act(self, action: BulkItemAction, bulk: Bulk, item: BulkItem) -> None:
        try:
            await self._do(action.caller, action, bulk, item)
        except (_LostBulk, TooMany, Unavailable):
            raise
        except FoliotError as error:
            failure = str(error)
        except Exception:
            # One item must not stop the others, nor be retried for ever.
            log.exception(
                "a bulk action failed at one item", action="bulk_item_failed", bulk=bulk.id, item=item.thing_id
            )
            failure = "an internal error occurred; Foliot's log has the details"
        else:
            return
        async with self.store.begin(bulk.tenant_id) as tx:
            await self._settle(tx, bulk, item, failure)

    @unchecked_command
    async def _do(self, ctx: CommandContext, action: BulkItemAction, bulk: Bulk, item: BulkItem) -> None:
        tx = await ctx.begin(action.limiter)
        await self._settle(tx, bulk, item, None)
        run_id = await action.do(ctx, item.thing_id)
        if run_id is not None:
            await SqlBulks(tx).made(bulk, item, run_id)

    async def _settle(self, tx: Transaction, bulk: Bulk, item: BulkItem, failure: str | None) -> None:
        if not await SqlBulks(tx).settle(bulk, self.holder, item, self.clock.now(), failure):
            raise _LostBulk

    async def _go_on(self, bulk: Bulk, until: datetime) -> None:
        """Schedule its next turn, or finish it."""
        failures = await self._failures(bulk)
        async with self.store.begin(bulk.tenant_id) as tx:
            now = self.clock.now()
            seen = await SqlBulks(tx).get(bulk.tenant_id, bulk.id, lock=True)
            if seen is None or seen.state is not BulkState.RUNNING:
                return
            if seen.done >= seen.total:
                await SqlBulks(tx).turn(bulk.id, BulkState.FINISHED, "", now)
            elif seen.stop_after is not None and seen.failed + failures >= seen.stop_after:
                said = f"stopped after {seen.failed + failures} failures, as requested"
                await SqlBulks(tx).turn(bulk.id, BulkState.STOPPED, said, now)
            else:
                await SqlBulks(tx).rest(bulk.id, self.holder, until)

    async def _failures(self, bulk: Bulk) -> int:
        """Failed runs that it created; failed items are counted with the bulk action itself."""
        now = self.clock.now()
        judged = self._judged.get(bulk.id)
        if bulk.stop_after is None or (judged is not None and now - judged < JUDGED):
            return 0
        self._judged[bulk.id] = now
        async with self.store.glance() as look:
            outcomes = (await SqlBulks(look).outcomes([bulk.id])).get(bulk.id, {})
        return sum(outcomes.get(state, 0) for state in FAILURES)
