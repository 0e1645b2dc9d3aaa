"""What test_store_parked.py and test_store_parked_reclaimed.py share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from foliot.db.database import Database
from foliot.engine.janitor import Janitor
from foliot.engine.model.run import DueParkedRuns, EventLine, EventType, Fence, ParkedUpdate
from foliot.engine.model.views import ClaimedRun
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.sql.endings import cancel_runs
from foliot.engine.sql.parked import SqlParked
from foliot.engine.sql.runs import SqlRuns
from foliot.wakeups.feed import MemoryFeed
from tests.givens import (
    LEASE,
    NOON,
    SECOND,
    ask,
    claim,
    events_of,
    request,
    stopped,
)

HANDLE = {"node": "n1", "job": "j1", "offset": 0}

SOON = NOON + 5 * SECOND


def line(message: str) -> EventLine:
    return EventLine(NOON, EventType.LOG, "info", message)


def parking(claimed: ClaimedRun, poll_at: datetime = SOON, **changes: Any) -> ParkedUpdate:
    return ParkedUpdate(**{"fence": claimed.fence, "handle": HANDLE, "poll_at": poll_at, "at": NOON, **changes})


async def park(store: Database, *parkings: ParkedUpdate, now: datetime = NOON) -> set[str]:
    async with store.begin() as tx:
        return await SqlParked(tx).park(parkings, now)


async def note(store: Database, fence: Fence, handle: Mapping[str, Any] = HANDLE) -> bool:
    async with store.begin() as tx:
        return await SqlParked(tx).note(fence, handle)


async def coming(store: Database, now: datetime, limit: int = 100, queues: set[str] | None = None) -> DueParkedRuns:
    async with store.glance() as tx:
        return await SqlParked(tx).coming("probe", queues, now, limit)


async def take(store: Database, now: datetime, *run_ids: str, token: str = "tok_look") -> list[ClaimedRun]:
    async with store.begin() as tx:
        return await SqlParked(tx).claim(run_ids, "watcher-1", LEASE, now, token)


async def terminate(store: Database, run_id: str, now: datetime = NOON) -> None:
    async with store.begin() as tx:
        await cancel_runs(tx.conn, SqlRuns(tx).dialect, [], now, "replaced", at_once=[run_id])


async def sweep(store: Database, now: datetime) -> None:
    await Janitor(
        clock=stopped(now), store=store, feed=MemoryFeed(), alarm=ReadyTimes(), period=1.0, retention=None
    ).run_once()


async def held(store: Database, **changes: Any) -> ClaimedRun:
    """A run in the hands of a worker."""
    (run_id,) = await ask(store, NOON, request(**changes))
    (claimed,) = await claim(store, NOON, run_id)
    return claimed


async def parked(store: Database, poll_at: datetime = SOON, **changes: Any) -> ClaimedRun:
    """A parked run, as whoever parked it held it."""
    claimed = await held(store, **changes)
    assert await park(store, parking(claimed, poll_at)) == {claimed.fence.run_id}
    return claimed


async def lines_of(store: Database, run_id: str) -> list[str]:
    return [event.message for event in await events_of(store, run_id) if event.type is EventType.LOG]
